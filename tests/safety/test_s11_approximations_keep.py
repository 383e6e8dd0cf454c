"""S11: a Bloom filter errs towards keeping, however small it is made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model import Outcome
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters


def bloom(capacity: int, false_positive_rate: float) -> SweepParameters:
    return SweepParameters(membership=Membership.BLOOM, expected_file_count=capacity, fpp=false_positive_rate)


@pytest.mark.parametrize("capacity", [1, 1_000_000])
@pytest.mark.parametrize("false_positive_rate", [0.9, 1e-5])
def test_s11_no_live_file_goes_with_any_size_of_the_filter(
    lake: MemoryLake, services: LakeServices, capacity: int, false_positive_rate: float
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append(*(f"{n}.parquet" for n in range(300)))
    lake.commit("main", put(table.version))
    for number in range(300):
        lake.put(f"memory://wh/db/t/data/dead-{number}.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1", sweep=bloom(capacity, false_positive_rate))
    assert table.needed <= lake.paths()
    assert {} == report.unknown


def test_s11_a_filter_that_is_made_too_small_grows_and_skips_no_table(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append(*(f"{n}.parquet" for n in range(500)))
    lake.commit("main", put(table.version))
    for number in range(200):
        lake.put(f"memory://wh/db/t/data/dead-{number}.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1", sweep=bloom(1, 0.001))
    assert report.outcomes[Outcome.DELETED].files > 195
    assert table.needed <= lake.paths()


@pytest.mark.parametrize("bad", [{"false_positive_rate": 0.0}, {"false_positive_rate": 1.0}, {"capacity": 0}])
def test_s11_a_filter_that_makes_no_sense_is_refused(
    lake: MemoryLake, services: LakeServices, bad: dict[str, float]
) -> None:
    values = {"capacity": 10, "false_positive_rate": 0.01, **bad}
    with pytest.raises(ValueError, match=r"fpp|expected_file_count"):
        services.collect("1", sweep=bloom(int(values["capacity"]), values["false_positive_rate"]))
