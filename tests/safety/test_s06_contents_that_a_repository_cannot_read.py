"""S6: what a repository lists and cannot read itself is unknown, not of a type that nobody reads."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryContentToFiles, MemoryLake, content, put

from nessie_gc_core.algorithms.unread import types_read_by
from nessie_gc_core.model import UNKNOWN_CONTENT, ContentVersion
from nessie_gc_core.services.parameters import SweepParameters


def dead_beside_unknown(lake: MemoryLake, location: str | None = "memory://wh/db/busy") -> tuple[str, str]:
    """Two tables, one of which the repository could not read as well: a file that nobody needs of each."""
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
    busy = lake.table("db.busy", location="memory://wh/db/busy").append("b.parquet")
    unknown = content("unreadable:db.busy", metadata_location=None, content_type=UNKNOWN_CONTENT, location=location)
    lake.commit("main", put(fine.version), put(busy.version))
    lake.commit("main", put(unknown))
    dead = tuple(lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("busy", "fine"))
    lake.advance(timedelta(days=3))
    return dead[0], dead[1]


def test_s06_its_location_is_unknown_though_its_metadata_can_be_read_later(
    lake: MemoryLake, services: LakeServices
) -> None:
    frozen, dead = dead_beside_unknown(lake)
    report = services.collect("1")
    assert (True, False) == (frozen in lake.paths(), dead in lake.paths())
    assert (1, {}) == (report.exit_code, report.unread)
    assert ["memory://wh/db/busy/"] == list(report.unknown)
    assert "could not read" in report.unknown["memory://wh/db/busy/"]


def test_s06_without_a_location_nothing_is_deleted(lake: MemoryLake, services: LakeServices) -> None:
    dead_beside_unknown(lake, location=None)
    before = lake.paths()
    report = services.collect("1")
    assert (before, 1) == (lake.paths(), report.exit_code)


def test_s06_a_reader_that_claims_it_does_not_make_it_known() -> None:
    class Reader(MemoryContentToFiles):
        content_types = frozenset({"MEMORY", UNKNOWN_CONTENT})

    assert {"MEMORY"} == types_read_by([Reader])


@pytest.mark.parametrize("location", ["memory://wh/db/elsewhere", None])
def test_s06_the_home_of_its_metadata_is_unknown_too(
    lake: MemoryLake, services: LakeServices, location: str | None
) -> None:
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
    table = lake.table("db.t", location="memory://wh/db/t").append("b.parquet")
    metadata = lake.put("memory://wh/db/t/busy/metadata/0.json")
    busy = content("db.busy", metadata_location=metadata, content_type=UNKNOWN_CONTENT, location=location)
    lake.commit("main", put(fine.version), put(table.version), put(busy))
    frozen, dead = (lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("t", "fine"))
    lake.advance(timedelta(days=3))
    report = services.read_before().collect("1")
    assert (True, True, False) == (metadata in lake.paths(), frozen in lake.paths(), dead in lake.paths())
    assert 1 == report.exit_code


def test_s06_with_strict_unknown_nothing_is_deleted(lake: MemoryLake, services: LakeServices) -> None:
    dead_beside_unknown(lake)
    before = lake.paths()
    report = services.collect("1", sweep=SweepParameters(strict_unknown=True))
    assert (before, 1) == (lake.paths(), report.exit_code)


@pytest.mark.parametrize("strict", [False, True])
def test_s06_one_that_becomes_unknown_before_the_deletion_keeps_its_files(
    lake: MemoryLake, services: LakeServices, *, strict: bool
) -> None:
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
    busy = lake.table("db.busy", location="memory://wh/db/busy").append("b.parquet")
    lake.commit("main", put(fine.version), put(busy.version))
    frozen, dead = (lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("busy", "fine"))
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    location = "memory://wh/db/busy"
    lake.commit("main", put(content("u", metadata_location=None, content_type=UNKNOWN_CONTENT, location=location)))
    report = services.sweep(live_set, SweepParameters(strict_unknown=strict))
    assert (True, strict) == (frozen in lake.paths(), dead in lake.paths())
    assert 1 == report.exit_code


def test_s06_the_place_where_a_reader_finds_it_is_unknown_too(lake: MemoryLake, services: LakeServices) -> None:
    """The repository knows where its metadata is, no more."""
    busy = lake.table("db.busy", location="memory://wh/db/busy").append("b.parquet")
    unknown = unknown_beside(busy.version, "memory://wh/db/guessed")
    lake.commit("main", put(busy.version))
    lake.commit("main", put(unknown))
    dead = lake.put("memory://wh/db/busy/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert (True, 1) == (dead in lake.paths(), report.exit_code)
    assert {"memory://wh/db/busy/", "memory://wh/db/guessed"} <= set(report.unknown)


def test_s06_the_place_where_a_reader_finds_it_just_before_the_deletion_is_unknown_too(
    lake: MemoryLake, services: LakeServices
) -> None:
    other = lake.table("db.other", location="memory://wh/db/all").append("a.parquet")
    busy = lake.table("db.busy", location="memory://wh/db/all/busy").append("b.parquet")
    lake.commit("main", put(other.version))
    dead = lake.put("memory://wh/db/all/busy/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    lake.commit("main", put(busy.version))
    lake.commit("main", put(unknown_beside(busy.version, "memory://wh/db/guessed")))
    report = services.sweep(live_set)
    assert (True, 1) == (dead in lake.paths(), report.exit_code)


def unknown_beside(version: ContentVersion, location: str) -> ContentVersion:
    """The same content as its repository shows it, which could not read it and guesses its place."""
    return content(
        "db.unknown",
        content_id=version.content_id,
        metadata_location=None,
        content_type=UNKNOWN_CONTENT,
        location=location,
    )
