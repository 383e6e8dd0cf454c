"""S14: a tag or branch inside the metadata protects its snapshot; an option gives this up."""

from __future__ import annotations

from datetime import timedelta

from collected_scenes import Merged
from collecting import Collector
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.plugins import installed


def test_s14_a_snapshot_that_a_tag_of_the_table_holds_is_kept(merged: Merged) -> None:
    result = merged.result("snapshots_that_tags_hold")
    data = {path.rpartition("/")[2] for path in result.stored if "/data/" in path}
    assert {"a.parquet", "c.parquet"} == data


def test_s14_a_snapshot_that_nothing_holds_any_more_goes(lake: MemoryLake, collector: Collector) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    held = first.overwrite("b.parquet").hold(1)
    lake.commit("main", put(held.version))
    lake.advance(timedelta(days=3))
    collector.collect("1")
    assert "memory://wh/db/t/data/a.parquet" in lake.paths()
    lake.commit("main", put(held.hold().version))
    lake.advance(timedelta(days=3))
    collector.collect("1")
    assert "memory://wh/db/t/data/a.parquet" not in lake.paths()


def test_s14_the_option_that_gives_this_up_has_a_name_and_is_off() -> None:
    options = installed().reader_of("ICEBERG_TABLE").Options
    assert options().ignore_snapshot_refs is False
    assert options.from_mapping({"ignore_snapshot_refs": "true"}).ignore_snapshot_refs is True
