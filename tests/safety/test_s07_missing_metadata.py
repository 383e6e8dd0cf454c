"""S7: missing metadata is unknown, but where the store proves that an earlier run deleted it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices
from lakes_by_hand import commit_and_let_age
from nessie_gc_memory import (
    MemoryContentToFiles,
    MemoryFileDeleter,
    MemoryFileLister,
    MemoryLake,
    MemoryLiveSetStore,
    TableState,
    put,
)

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import ContentToFiles, FileDeleter, FileLister
from nessie_gc_core.errors import MissingFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import PluginRegistry


def test_s07_missing_metadata_of_the_head_is_unknown(collected: CollectedScenes) -> None:
    result = collected.result("missing_metadata_of_the_head")
    assert set() == result.gone
    assert result.scene.path("db/gone/") in result.unknown


def test_s07_missing_metadata_of_an_older_version_is_unknown_where_nothing_says_that_we_deleted_it(
    collected: CollectedScenes,
) -> None:
    result = collected.result("missing_metadata_of_an_older_version")
    assert set() == result.gone
    assert result.scene.path("db/t/") in result.unknown


def versions(lake: MemoryLake) -> tuple[TableState, ...]:
    """Three, each committed and replaced by the next."""
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.overwrite("b.parquet")
    third = second.overwrite("c.parquet")
    commit_and_let_age(lake, first, second, third)
    return first, second, third


def test_s07_what_an_earlier_run_deleted_is_tolerated(lake: MemoryLake, services: LakeServices) -> None:
    first, second, third = versions(lake)
    services.collect("1")
    assert not {first.metadata_location, second.metadata_location} & lake.paths()
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("NONE")
    assert (2, {}, 0) == (report.tolerated_missing, report.unknown, report.exit_code)
    assert dead not in lake.paths()
    assert third.needed == lake.paths()


def test_s07_another_repository_with_the_same_store_proves_nothing(lake: MemoryLake, services: LakeServices) -> None:
    first, *_ = versions(lake)
    lake.objects.delete(first.metadata_location)
    services.store.add_tombstones("another", [first.metadata_location], at=lake.time)
    before = lake.paths()
    report = services.collect("NONE")
    assert before == lake.paths()
    assert (0, 1) == (report.tolerated_missing, report.exit_code)


def test_s07_the_newest_version_is_never_tolerated(lake: MemoryLake, services: LakeServices) -> None:
    *_, third = versions(lake)
    lake.objects.delete(third.metadata_location)
    services.store.add_tombstones(services.repository.identity(), [third.metadata_location], at=lake.time)
    before = lake.paths()
    report = services.collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


def test_s07_the_newest_version_is_never_tolerated_where_its_commit_is_outside_the_window(
    lake: MemoryLake, services: LakeServices
) -> None:
    """The head of ``main`` shows the table; only ``old``, which shows an older one, has its commit in the window."""
    versions(lake)
    lake.branch("old", next(commit.commit_id for commit in lake.history.commits()))
    for name in "xy":
        other = lake.table(f"db.{name}", location=f"memory://wh/db/{name}")
        lake.commit("main", put(other.version))
    third = versions_at(lake, "main")
    lake.objects.delete(third)
    services.store.add_tombstones(services.repository.identity(), [third], at=lake.time)
    before = lake.paths()
    report = services.collect("1", "old=NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


def versions_at(lake: MemoryLake, ref: str) -> str:
    version = lake.history.state_at(lake.history.reference(ref).commit_id)["db.t"]
    assert version.metadata_location is not None
    return version.metadata_location


def test_s07_metadata_that_cannot_be_read_for_another_reason_is_never_tolerated(
    lake: MemoryLake, services: LakeServices
) -> None:
    first, *_ = versions(lake)
    lake.faults.reading[first.metadata_location] = TimeoutError("no answer")
    services.store.add_tombstones(services.repository.identity(), [first.metadata_location], at=lake.time)
    before = lake.paths()
    report = services.collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


class RespellingReader(MemoryContentToFiles):
    """A reader whose errors spell paths in its own way."""

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        try:
            yield from super().files(version)
        except MissingFileError as error:
            raise MissingFileError("mem" + error.path.removeprefix("memory"), error.reason) from error


class Respelling:
    """A plugin in place of ``memory``, with that reader."""

    @hookimpl
    def nessie_gc_register_content_to_files(self) -> type[ContentToFiles]:
        return RespellingReader

    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return MemoryFileLister

    @hookimpl
    def nessie_gc_register_file_deleter(self) -> type[FileDeleter]:
        return MemoryFileDeleter


def test_s07_the_newest_version_is_never_tolerated_however_a_reader_spells_its_path(
    lake: MemoryLake, services: LakeServices
) -> None:
    *_, third = versions(lake)
    lake.objects.delete(third.metadata_location)
    services.store.add_tombstones(services.repository.identity(), [third.metadata_location], at=lake.time)
    plugins = PluginRegistry.discover().without(["memory"])
    plugins.register(Respelling(), name="respelling")
    before = lake.paths()
    report = services.choosing(plugins=plugins, scheme_aliases={"mem": "memory"}).collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


def test_s07_what_a_store_says_nothing_of_is_not_tolerated(
    lake: MemoryLake, services: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a store that was written for one content id where many are asked for."""
    versions(lake)
    services.collect("1")
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    whole = MemoryLiveSetStore.content_versions

    def of_one(store: MemoryLiveSetStore, live_set_id: UUID, content_ids: object = None) -> Iterator[ContentVersion]:
        return (each for each in whole(store, live_set_id) if content_ids in (None, each.content_id))

    monkeypatch.setattr(MemoryLiveSetStore, "content_versions", of_one)
    report = services.collect("NONE")
    assert (0, 1) == (report.tolerated_missing, report.exit_code)
    assert "memory://wh/db/t/" in report.unknown
    assert dead in lake.paths()
