"""S3: aliases of a scheme are one scheme; one that is not known stops its prefix and is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices, on_disk
from lakes_by_hand import respell
from nessie_gc_memory import MemoryFileDeleter, MemoryFileLister, MemoryLake, put
from scenes import START

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import FileDeleter, FileLister
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.files import DeleteOutcome, FileReference
from nessie_gc_core.plugins import PluginRegistry

_HOME = "memory://"


class BucketLister(MemoryFileLister):
    """Objects of the lake as ``bucket://``, which is also written ``bucketa://`` and ``BUCKETN://``."""

    name = "buckets"
    schemes = frozenset({"bucket", "bucketa", "bucketn"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        for file in super().list_files(_HOME + location.partition("://")[2]):
            yield replace(file, location=location)

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        return ["0/1"]


class BucketDeleter(MemoryFileDeleter):
    name = "buckets"
    schemes = BucketLister.schemes

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        yield from super().delete_files(_HOME + location.partition("://")[2], files)


class Buckets:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return BucketLister

    @hookimpl
    def nessie_gc_register_file_deleter(self) -> type[FileDeleter]:
        return BucketDeleter


@pytest.fixture
def buckets(lake: MemoryLake, services: LakeServices, plugins: PluginRegistry) -> LakeServices:
    plugins.register(Buckets(), name="buckets")
    own = {(kind, "buckets"): {"lake": lake.name} for kind in ("file-lister", "file-deleter")}
    aliases = {"bucketa": "memory", "bucketn": "memory", "bucket": "memory"}
    options = {**services.choice.options, **own}
    return services.choosing(plugins=plugins, options=options, scheme_aliases=aliases)


def with_scheme(scheme: str) -> Callable[[str], str]:
    return lambda path: path.replace("memory://", scheme)


def test_s03_a_location_in_one_spelling_keeps_files_that_are_named_in_others(
    lake: MemoryLake, buckets: LakeServices
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet").append("b.parquet").append("c.parquet")
    lake.commit("main", put(table.version))
    respell(lake, table.metadata_location, with_scheme("bucketa://"))
    for manifest, scheme in zip(table.manifests[3], ("bucket://", "BUCKETN://", "memory://"), strict=True):
        respell(lake, manifest, with_scheme(scheme))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = buckets.collect("1")
    assert table.needed <= lake.paths()
    assert dead not in lake.paths()
    assert ({}, 0) == (report.unknown, report.lost.files)


def test_s03_two_spellings_of_one_location_are_one_location(lake: MemoryLake, buckets: LakeServices) -> None:
    one = lake.table("db.one", location="memory://wh/db/t").append("a.parquet")
    two = lake.table("db.two", location="memory://wh/db/t").append("b.parquet")
    lake.commit("main", put(one.version), put(two.version))
    respell(lake, two.metadata_location, lambda path: path.replace("memory://", "bucketn://"))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = buckets.collect("1")
    assert one.needed | two.needed <= lake.paths()
    assert dead not in lake.paths()
    assert {} == report.unknown
    assert 0 == report.outcomes[Outcome.ALREADY_GONE].files


def test_s03_a_data_file_with_an_unknown_scheme_freezes_its_content_and_is_reported(collected: CollectedScenes) -> None:
    result = collected.result("unknown_scheme")
    assert not any("db/strange" in path for path in result.gone)
    assert result.scene.path("db/fine/data/nobody.parquet") in result.gone
    assert "cannot be read" in result.unknown[result.scene.path("db/strange/")]
    assert "`scheme_alias`" in collected.report.unreadable["warp://bucket/c.parquet"]


def test_s03_a_location_with_an_unknown_scheme_is_reported(lake: MemoryLake, services: LakeServices) -> None:
    strange = lake.table("db.s", location="memory://wh/db/s").append("a.parquet")
    fine = lake.table("db.t", location="memory://wh/db/t").append("b.parquet")
    lake.commit("main", put(strange.version), put(fine.version))
    respell(lake, strange.metadata_location, lambda path: path.replace("memory://", "warp://"))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    kept = lake.put("memory://wh/db/s/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert (False, True) == (dead in lake.paths(), kept in lake.paths())
    assert "warp://wh/db/s" in report.unknown
    assert 1 == report.exit_code


@pytest.mark.parametrize("spelling", ["file:", "file://", "file://localhost", "", "FILE:", "file:///"])
def test_s03_every_spelling_of_a_local_path_is_the_same_path(tmp_path: Path, spelling: str) -> None:
    lake = MemoryLake(f"s03-{spelling}")
    lake.now = START
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    folder = (tmp_path / "a" / "lake").resolve()
    with LocalEngine(workers=2) as engine:
        services = on_disk(lake, folder, engine)
        manifest = folder / table.manifests[1][0].removeprefix("memory://")
        manifest.write_text(manifest.read_text().replace("file:///", spelling + "/"))
        report = services.collect("1")
    stored = {f"memory://{path.relative_to(folder)}" for path in (folder / "wh").rglob("*") if path.is_file()}
    assert table.needed == stored
    assert ({}, 0) == (report.unknown, report.lost.files)
