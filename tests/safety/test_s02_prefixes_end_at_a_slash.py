"""S2: ``t`` and ``t2`` are different tables."""

from __future__ import annotations

from datetime import timedelta

from collected_scenes import Merged
from collecting import Collector
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.services.parameters import SweepParameters


def test_s02_a_table_whose_name_begins_like_another_ones_keeps_its_files(merged: Merged) -> None:
    result = merged.result("names_that_begin_alike")
    spared = {path for path in result.stored if not path.startswith(result.scene.path("db/t/"))}
    assert 7 == len(spared), "the files of t2, a backup and t.txt"
    assert not spared & set(result.outcomes)


def test_s02_an_allowed_location_allows_no_other_whose_name_begins_alike(
    lake: MemoryLake, collector: Collector
) -> None:
    mine = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    other = lake.table("db.t2", location="memory://wh/db/t2").append("b.parquet")
    lake.commit("main", put(mine.version), put(other.version))
    kept = lake.put("memory://wh/db/t2/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    collector.collect("1", sweep=SweepParameters(allow=("memory://wh/db/t/",)))
    assert kept in lake.paths()
