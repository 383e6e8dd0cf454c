"""S6: a live head that cannot be read keeps its files, wherever they lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, TableState, content, put
from nessie_gc_memory.tables import MEMORY_TABLE

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.model.locations import LocationRules, home_of_metadata


@pytest.fixture
def host(lake: MemoryLake) -> TableState:
    """A table in whose location others keep files."""
    table = lake.table("db.host", location="memory://wh/db/host").append("a.parquet")
    lake.commit("main", put(table.version))
    return table


def future_table(lake: MemoryLake, **more: object) -> str:
    """A table of a format that nobody reads yet; its data lies in the host's location."""
    metadata = {"memory": "metadata of 2030", "location": "memory://wh/db/guest", **more}
    path = lake.put("memory://wh/db/guest/metadata/0.metadata.json", json.dumps(metadata).encode())
    lake.commit("main", put(content("db.guest", metadata_location=path, content_type=MEMORY_TABLE)))
    return lake.put("memory://wh/db/host/guests/live.parquet")


@pytest.mark.parametrize(
    "named",
    [
        {"properties": {"write.data.path": "memory://wh/db/host/guests"}},
        {"layers": [[{"root": "memory://wh//db/./host/guests/"}]]},
        {"files": ["memory://wh/db/host/guests/live.parquet"]},
        {"warehouse": "memory://wh/db"},
        {"memory://wh/db/host/guests": "data"},
        {"options": "mode=fast,root=memory://wh/db/host/guests,x=1"},
        {"parent": "memory://wh/db/host/guests/../.."},
    ],
)
def test_s06_metadata_that_is_not_understood_freezes_every_place_that_it_names(
    lake: MemoryLake, services: LakeServices, host: TableState, named: dict[str, object]
) -> None:
    live = future_table(lake, **named)
    other = lake.table("other.t", location="memory://wh/other/t").append("b.parquet")
    lake.commit("main", put(other.version))
    dead = lake.put("memory://wh/other/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.read_before().collect("1")
    assert {live} | host.needed <= lake.paths()
    assert dead not in lake.paths()
    assert "memory://wh/db/host/" in report.unknown
    assert ["memory://wh/db/guest/metadata/0.metadata.json"] == list(report.unreadable)
    assert 1 == report.exit_code


NO_TEXT: dict[str, Callable[[MemoryLake, str], object]] = {
    "no JSON": lambda lake, path: lake.put(path, b"\x00 no JSON"),
    "empty": lambda lake, path: lake.put(path, b""),
    "missing": lambda lake, path: lake.objects.delete(path),
}
BREAK: dict[str, Callable[[MemoryLake, str], object]] = {
    **NO_TEXT,
    "an empty object": lambda lake, path: lake.put(path, b"{}"),
    "no object": lambda lake, path: lake.put(path, b"5"),
    "relative places only": lambda lake, path: lake.put(path, b'{"location": "wh/db/guest"}'),
    "places of nobody": lambda lake, path: lake.put(path, b'{"documentation": "https://example.com/x"}'),
}


@pytest.mark.parametrize("happen", BREAK.values(), ids=list(BREAK))
def test_s06_where_nothing_tells_where_a_contents_files_are_nothing_is_deleted(
    lake: MemoryLake, services: LakeServices, host: TableState, happen: Callable[[MemoryLake, str], object]
) -> None:
    guest = lake.table("db.guest", location="memory://wh/db/guest").append("memory://wh/db/host/data/guest.parquet")
    lake.commit("main", put(guest.version))
    happen(lake, guest.metadata_location)
    lake.put("memory://wh/db/host/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1")
    assert before == lake.paths()
    assert "cannot be read and never could" in report.unknown["memory://wh/db/host/"]
    assert 1 == report.exit_code


@pytest.mark.parametrize("happen", NO_TEXT.values(), ids=list(NO_TEXT))
def test_s06_what_an_earlier_run_saw_tells_where_a_contents_files_are(
    lake: MemoryLake, services: LakeServices, host: TableState, happen: Callable[[MemoryLake, str], object]
) -> None:
    guest = lake.table("db.guest", location="memory://wh/db/guest").append("b.parquet")
    lake.commit("main", put(guest.version))
    services.collect("1")
    happen(lake, guest.metadata_location)
    dead, frozen = (lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("host", "guest"))
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert (False, True) == (dead in lake.paths(), frozen in lake.paths())
    assert 1 == report.exit_code


def test_s06_a_content_that_becomes_live_and_cannot_be_placed_stops_the_rest_of_the_run(
    lake: MemoryLake, services: LakeServices, host: TableState
) -> None:
    guest = lake.table("db.guest", location="memory://wh/db/guest").append("memory://wh/db/host/data/guest.parquet")
    lake.put(guest.metadata_location, b"\x00 no JSON")
    dead = lake.put("memory://wh/db/host/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1", between=lambda: lake.commit("main", put(guest.version)))
    assert {dead, "memory://wh/db/host/data/guest.parquet"} <= lake.paths()
    assert 1 == report.exit_code


@pytest.mark.parametrize(
    ("metadata_location", "home"),
    [
        ("s3://bucket/v1.metadata.json", "s3://bucket/"),
        ("s3://bucket/metadata/v1.metadata.json", "s3://bucket/"),
        ("s3://bucket/t/metadata/v1.metadata.json", "s3://bucket/t/"),
        ("abfss://c@a.dfs.core.windows.net/v1.metadata.json", "abfs://c/"),
        ("/v1.metadata.json", "file:///"),
        ("/t/v1.metadata.json", "file:///"),
        ("file:/v1.metadata.json", "file:///"),
        ("file:///v1.metadata.json", "file:///"),
        ("file:///wh/t/metadata/v1.metadata.json", "file:///wh/t/"),
    ],
)
def test_s06_the_home_of_metadata_in_a_root_is_the_root(metadata_location: str, home: str) -> None:
    assert home == LocationRules().canonical_prefix(home_of_metadata(metadata_location))


def test_s06_unreadable_metadata_in_a_buckets_root_freezes_the_bucket(lake: MemoryLake, services: LakeServices) -> None:
    tables = [lake.table(f"db.{bucket}", location=f"memory://{bucket}/db/t").append("a") for bucket in ("one", "two")]
    lake.commit("main", *(put(table.version) for table in tables))
    metadata = lake.put(
        "memory://one/v1.metadata.json", b'{"memory": "metadata of 2030", "location": "memory://one/odd"}'
    )
    lake.commit("main", put(content("db.odd", metadata_location=metadata, content_type=MEMORY_TABLE)))
    kept, dead = (lake.put(f"memory://{bucket}/db/t/data/nobody") for bucket in ("one", "two"))
    lake.advance(timedelta(days=3))
    services.read_before().collect("1")
    assert (True, False) == (kept in lake.paths(), dead in lake.paths())


def test_s06_the_units_around_a_place_are_those_that_hold_it_and_those_in_it() -> None:
    roots = [f"s3://b/wh/{name}/" for name in ("a", "a/x", "ab", "b")]
    index = UnitIndex([root for root in roots if root != "s3://b/wh/a/x/"], LocationRules())
    assert {"s3://b/wh/a/", "s3://b/wh/ab/", "s3://b/wh/b/"} == set(index.around("s3://b/wh/c/.."))
    assert {"s3://b/wh/a/"} == set(index.around("s3a://b/wh//a/data/x"))
    assert {"s3://b/wh/a/", "s3://b/wh/ab/", "s3://b/wh/b/"} == set(index.around("s3://b/wh"))
    assert set() == set(index.around("s3://b/wh/c"))
