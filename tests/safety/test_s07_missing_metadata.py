"""S7: missing metadata is unknown, but where the store proves that an earlier run deleted it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from collected_scenes import Merged
from collecting import Collector
from nessie_gc_memory import MemoryContentToFiles, MemoryLake, TableState, put

from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.errors import MissingFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import installed


def test_s07_missing_metadata_of_the_head_is_unknown(merged: Merged) -> None:
    result = merged.result("missing_metadata_of_the_head")
    assert set() == result.gone
    assert result.scene.path("db/gone/") in result.unknown


def test_s07_missing_metadata_of_an_older_version_is_unknown_where_nothing_says_that_we_deleted_it(
    merged: Merged,
) -> None:
    result = merged.result("missing_metadata_of_an_older_version")
    assert set() == result.gone
    assert result.scene.path("db/t/") in result.unknown


def versions(lake: MemoryLake) -> tuple[TableState, ...]:
    """Three, each committed and replaced by the next."""
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.overwrite("b.parquet")
    third = second.overwrite("c.parquet")
    for state in (first, second, third):
        lake.advance(timedelta(hours=1))
        lake.commit("main", put(state.version))
    lake.advance(timedelta(days=3))
    return first, second, third


def test_s07_what_an_earlier_run_deleted_is_tolerated(lake: MemoryLake, collector: Collector) -> None:
    first, second, third = versions(lake)
    collector.collect("1")
    assert not {first.metadata_location, second.metadata_location} & lake.paths()
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = collector.collect("NONE")
    assert (2, {}, 0) == (report.tolerated_missing, report.unknown, report.exit_code)
    assert dead not in lake.paths()
    assert third.needed == lake.paths()


def test_s07_another_repository_with_the_same_store_proves_nothing(lake: MemoryLake, collector: Collector) -> None:
    first, *_ = versions(lake)
    lake.objects.delete(first.metadata_location)
    collector.store.add_tombstones("another", [first.metadata_location], at=lake.time)
    before = lake.paths()
    report = collector.collect("NONE")
    assert before == lake.paths()
    assert (0, 1) == (report.tolerated_missing, report.exit_code)


def test_s07_the_newest_version_is_never_tolerated(lake: MemoryLake, collector: Collector) -> None:
    *_, third = versions(lake)
    lake.objects.delete(third.metadata_location)
    collector.store.add_tombstones(collector.repository.identity(), [third.metadata_location], at=lake.time)
    before = lake.paths()
    report = collector.collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


def test_s07_the_newest_version_is_never_tolerated_where_its_commit_is_outside_the_window(
    lake: MemoryLake, collector: Collector
) -> None:
    """The head of ``main`` shows the table; only ``old``, which shows an older one, has its commit in the window."""
    versions(lake)
    lake.branch("old", next(commit.commit_id for commit in lake.history.commits()))
    for name in "xy":
        other = lake.table(f"db.{name}", location=f"memory://wh/db/{name}")
        lake.commit("main", put(other.version))
    third = versions_at(lake, "main")
    lake.objects.delete(third)
    collector.store.add_tombstones(collector.repository.identity(), [third], at=lake.time)
    before = lake.paths()
    report = collector.collect("1", "old=NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


def versions_at(lake: MemoryLake, ref: str) -> str:
    version = lake.history.state_at(lake.history.reference(ref).commit_id)["db.t"]
    assert version.metadata_location is not None
    return version.metadata_location


def test_s07_metadata_that_cannot_be_read_for_another_reason_is_never_tolerated(
    lake: MemoryLake, collector: Collector
) -> None:
    first, *_ = versions(lake)
    lake.faults.reading[first.metadata_location] = TimeoutError("no answer")
    collector.store.add_tombstones(collector.repository.identity(), [first.metadata_location], at=lake.time)
    before = lake.paths()
    report = collector.collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code


class Respelling(MemoryContentToFiles):
    """A reader whose errors spell paths in its own way."""

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        try:
            yield from super().files(version)
        except MissingFileError as error:
            raise MissingFileError("mem" + error.path.removeprefix("memory"), error.reason) from error


def test_s07_the_newest_version_is_never_tolerated_however_a_reader_spells_its_path(
    lake: MemoryLake, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, third = versions(lake)
    lake.objects.delete(third.metadata_location)
    collector.store.add_tombstones(collector.repository.identity(), [third.metadata_location], at=lake.time)
    claims = installed()._claims
    claim = type(claims[ContentToFiles][0])(Respelling, "test")  # type: ignore[abstract]
    others = [each for each in claims[ContentToFiles] if each.connector.name != "memory"]
    monkeypatch.setitem(claims, ContentToFiles, [*others, claim])
    choice = replace(collector.choice, scheme_aliases={"mem": "memory"})
    before = lake.paths()
    report = replace(collector, choice=choice).collect("NONE")
    assert before == lake.paths()
    assert 1 == report.exit_code
