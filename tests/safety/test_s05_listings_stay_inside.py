"""S5: a listing that returns anything outside the base that was asked for stops that base."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import FileReference

HERE = "memory://wh/db/bad/"


@pytest.fixture
def dead(lake: MemoryLake) -> dict[str, str]:
    """Two tables, each with a file that nobody needs."""
    found = {}
    for name in ("bad", "good"):
        table = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet")
        lake.commit("main", put(table.version))
        found[name] = lake.put(f"memory://wh/db/{name}/data/nobody.parquet")
    lake.put("memory://wh/db/other/precious.parquet")
    lake.advance(timedelta(days=3))
    return found


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("memory://wh/db/other/", "precious.parquet"),
        ("memory://wh/db/", "other/precious.parquet"),
        ("memory://wh/db/bad", "x.parquet"),
        (HERE, ""),
        ("", "memory://wh/db/other/precious.parquet"),
    ],
)
def test_s05_a_file_outside_the_base_stops_the_base_and_nothing_else(
    lake: MemoryLake, services: LakeServices, dead: dict[str, str], location: str, path: str
) -> None:
    lake.faults.listed_besides[HERE] = [FileReference(location=location, path=path, size=1, modified=lake.time)]
    before = lake.paths()
    report = services.collect("1")
    assert {dead["good"]} < before - lake.paths()
    assert not any(gone.startswith(("memory://wh/db/bad", "memory://wh/db/other")) for gone in before - lake.paths())
    assert [HERE] == list(report.unknown)
    assert 1 == report.exit_code


def test_s05_a_listing_that_breaks_off_stops_its_base(
    lake: MemoryLake, services: LakeServices, dead: dict[str, str]
) -> None:
    lake.faults.listing[HERE] = ListingError("the connection broke")
    report = services.collect("1")
    assert dead["bad"] in lake.paths()
    assert dead["good"] not in lake.paths()
    assert "the connection broke" in report.unknown[HERE]


def test_s05_a_lister_with_a_defect_of_its_own_stops_its_base(
    lake: MemoryLake, services: LakeServices, dead: dict[str, str]
) -> None:
    lake.faults.listing[HERE] = ZeroDivisionError("oops")
    report = services.collect("1")
    assert dead["bad"] in lake.paths()
    assert dead["good"] not in lake.paths()
    assert {HERE: "ZeroDivisionError: oops"} == report.unknown


def test_s05_a_listing_that_shows_nothing_of_what_is_needed_stops_its_base(
    lake: MemoryLake, services: LakeServices, dead: dict[str, str]
) -> None:
    lake.faults.unlisted |= {path for path in lake.paths() if path.startswith(HERE)} - {dead["bad"]}
    report = services.collect("1")
    assert dead["bad"] in lake.paths()
    assert dead["good"] not in lake.paths()
    assert [HERE] == list(report.unknown)
