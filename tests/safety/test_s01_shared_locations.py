"""S1: contents that share a location, or whose locations nest, never cost each other a file."""

from __future__ import annotations

from datetime import timedelta

from collected_scenes import Merged
from collecting import Collector
from nessie_gc_memory import MemoryLake, put


def test_s01_contents_that_share_a_location_cost_each_other_no_file(merged: Merged) -> None:
    result = merged.result("shared_location")
    assert result.scene.kept <= result.stored
    assert result.scene.path("db/shared/data/nobody.parquet") in result.gone


def test_s01_a_location_within_another_ones_costs_it_no_file(merged: Merged) -> None:
    result = merged.result("nested_locations")
    assert result.scene.kept <= result.stored
    assert {
        result.scene.path("db/t/data/nobody.parquet"),
        result.scene.path("db/t/inner/data/nobody.parquet"),
    } <= result.gone


def test_s01_a_location_that_a_table_has_left_is_swept_and_keeps_what_is_needed(merged: Merged) -> None:
    result = merged.result("moved_table")
    assert result.scene.kept <= result.stored
    assert result.scene.path("db/before/data/nobody.parquet") in result.gone


def test_s01_files_in_the_location_of_another_content_are_kept(lake: MemoryLake, collector: Collector) -> None:
    host = lake.table("db.host", location="memory://wh/db/host").append("a.parquet")
    guest = lake.table("db.guest", location="memory://wh/db/guest").append("memory://wh/db/host/data/guest.parquet")
    lake.commit("main", put(host.version), put(guest.version))
    lake.advance(timedelta(days=3))
    collector.collect("1")
    assert guest.needed <= lake.paths()


def test_s01_a_table_within_a_location_that_is_not_allowed_is_swept_alone(
    lake: MemoryLake, collector: Collector
) -> None:
    from nessie_gc_core.services.parameters import SweepParameters

    outer = lake.table("db.outer", location="memory://wh/db").append("a.parquet")
    inner = lake.table("db.inner", location="memory://wh/db/x/inner").append("b.parquet")
    lake.commit("main", put(outer.version), put(inner.version))
    kept = lake.put("memory://wh/db/data/nobody.parquet")
    dead = lake.put("memory://wh/db/x/inner/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = collector.collect("1", sweep=SweepParameters(allow=("memory://wh/db/x/",)))
    assert (outer.needed | inner.needed | {kept}) <= lake.paths()
    assert dead not in lake.paths()
    assert ["memory://wh/db"] == list(report.refused)
