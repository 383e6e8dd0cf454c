"""S8: young files are kept, by the store's clock; what has no known age is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters


def test_s08_files_younger_than_a_day_are_kept_by_default(collected: CollectedScenes) -> None:
    result = collected.result("ages")
    outcomes = {path.rpartition("/")[2]: outcome for path, outcome in result.outcomes.items() if "/data/" in path}
    assert {
        "25-hours.parquet": "deleted",
        "23-hours.parquet": "too_young",
        "1-minute.parquet": "too_young",
        "next-year.parquet": "too_young",
    } == outcomes


def one_table(lake: MemoryLake, *, hours: float) -> str:
    """A table, and a file of that age that nobody needs."""
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    lake.advance(timedelta(days=3))
    return lake.put("memory://wh/db/t/data/nobody.parquet", modified=lake.time - timedelta(hours=hours))


def test_s08_age_counts_back_from_when_the_references_were_listed(lake: MemoryLake, services: LakeServices) -> None:
    kept = one_table(lake, hours=23)
    live_set = services.mark("1")
    lake.advance(timedelta(days=2))
    services.sweep(live_set)
    assert kept in lake.paths()


def test_s08_an_unknown_modification_time_means_keep(lake: MemoryLake, services: LakeServices) -> None:
    kept = one_table(lake, hours=50)
    lake.faults.unknown_modified.add(kept)
    report = services.collect("1")
    assert kept in lake.paths()
    assert 1 == report.outcomes[Outcome.TOO_YOUNG].files


def test_s08_the_newest_allowed_modification_only_keeps_more(lake: MemoryLake, services: LakeServices) -> None:
    kept = one_table(lake, hours=50)
    earlier = lake.time - timedelta(hours=60)
    services.collect("1", sweep=SweepParameters(max_file_modification=earlier))
    assert kept in lake.paths()
    later = lake.time + timedelta(hours=60)
    services.collect("1", sweep=SweepParameters(max_file_modification=later))
    assert kept not in lake.paths()


def test_s08_a_least_age_below_an_hour_needs_an_explicit_word(lake: MemoryLake, services: LakeServices) -> None:
    dead = one_table(lake, hours=0.5)
    short = timedelta(minutes=10)
    with pytest.raises(ConfigurationError, match="`no_age_floor`"):
        services.collect("1", sweep=SweepParameters(min_age=short))
    assert dead in lake.paths()
    services.collect("1", sweep=SweepParameters(min_age=short, no_age_floor=True))
    assert dead not in lake.paths()


def test_s08_the_clock_is_that_of_the_store(lake: MemoryLake, services: LakeServices) -> None:
    """The store's clock is five days behind ours: what it calls 23 hours old is young, whatever ours says."""
    from dataclasses import replace

    kept = one_table(lake, hours=23)
    dead = lake.put("memory://wh/db/t/data/old.parquet", modified=lake.time - timedelta(hours=25))
    ahead = replace(services, clock=lambda: lake.time + timedelta(days=5))
    ahead.collect("1")
    assert (True, False) == (kept in lake.paths(), dead in lake.paths())
