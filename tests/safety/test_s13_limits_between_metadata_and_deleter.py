"""S13: an allow-list, a least depth and caps stand between what committers write and the deleter."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters


def write(lake: MemoryLake, *locations: str, dead: int = 4) -> dict[str, set[str]]:
    """A table at each location, with files that nobody needs (and 1 data, 2 table files, 2 metadata files)."""
    found = {}
    for location in locations:
        table = lake.table(f"db.{location}", location=location).append("a.parquet")
        lake.commit("main", put(table.version))
        first = next(path for path, _ in lake.objects.below(f"{location}/metadata/"))
        extra = {lake.put(f"{location}/data/dead-{number}.parquet") for number in range(dead - 1)}
        found[location] = extra | {first}
    return found


@pytest.mark.parametrize("location", ["memory://wh/", "memory://wh/db", "memory://wh"])
def test_s13_a_location_near_the_root_of_a_bucket_is_not_swept(
    lake: MemoryLake, services: LakeServices, location: str
) -> None:
    write(lake, location.rstrip("/"))
    lake.put("memory://wh/precious/of/others.parquet")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1")
    assert before == lake.paths()
    assert [location.rstrip("/")] == list(report.refused)
    assert 0 == report.outcomes[Outcome.DELETED].files


def test_s13_only_allowed_locations_are_swept(lake: MemoryLake, services: LakeServices) -> None:
    dead = write(lake, "memory://wh/mine/t", "memory://wh/theirs/t", "memory://other/mine/t")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1", sweep=SweepParameters(allow=["memory://wh/mine/"]))
    assert dead["memory://wh/mine/t"] == before - lake.paths()
    assert {"memory://wh/theirs/t", "memory://other/mine/t"} == set(report.refused)


def test_s13_a_least_depth_can_be_set(lake: MemoryLake, services: LakeServices) -> None:
    dead = write(lake, "memory://wh/a/t", "memory://wh/a/b/t")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    services.collect("1", sweep=SweepParameters(min_depth=3))
    assert dead["memory://wh/a/b/t"] == before - lake.paths()


def test_s13_a_run_without_an_allow_list_says_so(lake: MemoryLake, services: LakeServices) -> None:
    write(lake, "memory://wh/a/t")
    assert any("`allow`" in warning for warning in services.collect("1").warnings)


CAPS = [
    ({"max_deletes": 9}, set()),
    ({"max_deletes": 10}, {"small", "large"}),
    ({"max_deletes_per_location": 5}, {"small"}),
    ({"max_deletes_per_location": 6}, {"small", "large"}),
    ({"max_delete_percent": 55.0}, {"small"}),
    ({"max_delete_percent": 60.0}, {"small", "large"}),
    ({"max_delete_percent": 0.0}, set()),
    ({"max_deletes": 100, "max_deletes_per_location": 5}, {"small"}),
]


@pytest.mark.parametrize(("caps", "swept"), CAPS)
def test_s13_more_deletions_than_a_cap_allows_are_not_begun(
    lake: MemoryLake, services: LakeServices, caps: dict[str, Any], swept: set[str]
) -> None:
    """``small``: 4 of 8 files are dead; ``large``: 6 of 10."""
    dead = write(lake, "memory://wh/db/small") | write(lake, "memory://wh/db/large", dead=6)
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1", sweep=SweepParameters(**caps))
    assert {p for name in swept for p in dead[f"memory://wh/db/{name}"]} == before - lake.paths()
    assert (
        10
        == report.outcomes[Outcome.DELETED].files + report.outcomes[Outcome.SPARED].files
        == report.unreferenced.files
    )
    assert (swept == {"small", "large"}) == (not any("more than" in warning for warning in report.warnings))
