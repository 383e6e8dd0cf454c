"""S14: a tag or branch inside the metadata protects its snapshot; an option gives this up."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

from collected_scenes import CollectedScenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.plugins import installed


def test_s14_a_snapshot_that_a_tag_of_the_table_holds_is_kept(collected: CollectedScenes) -> None:
    result = collected.result("snapshots_that_tags_hold")
    data = {path.rpartition("/")[2] for path in result.stored if "/data/" in path}
    assert {"a.parquet", "c.parquet"} == data


def test_s14_a_snapshot_that_nothing_holds_any_more_goes(lake: MemoryLake, services: LakeServices) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    held = first.overwrite("b.parquet").hold(1)
    lake.commit("main", put(held.version))
    lake.advance(timedelta(days=3))
    services.collect("1")
    assert "memory://wh/db/t/data/a.parquet" in lake.paths()
    lake.commit("main", put(held.hold().version))
    lake.advance(timedelta(days=3))
    services.collect("1")
    assert "memory://wh/db/t/data/a.parquet" not in lake.paths()


def test_s14_the_option_that_gives_this_up_has_a_name_and_is_off() -> None:
    reader = installed().reader_of("ICEBERG_TABLE")
    assert reader is not None
    given = reader.Options.from_mapping({"ignore_snapshot_refs": "true"})
    read = (asdict(options)["ignore_snapshot_refs"] for options in (reader.Options(), given))
    assert [False, True] == list(read)
