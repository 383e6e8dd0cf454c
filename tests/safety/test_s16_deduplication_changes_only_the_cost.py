"""S16: with or without deduplication of visited commits the live set is the same (random histories: tests/property)."""

from __future__ import annotations

from datetime import timedelta

from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put


def test_s16_both_deduplicators_give_the_same_live_set(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t")
    for number in range(12):
        table = table.overwrite(f"{number}.parquet")
        lake.commit("main", put(table.version))
        lake.advance(timedelta(hours=1))
        if number % 3 == 0:
            lake.branch(f"b{number}", "main")
    cutoffs = ["b0=NONE", "b3=2", "b6=PT7H", "b9=0"]
    found = {}
    for name in ("exact", "none"):
        live_set = services.mark("PT3H", *cutoffs, visited=name)
        found[name] = {version.identity for version in services.store.content_versions(live_set)}
    assert found["none"] == found["exact"]
    assert 8 == len(found["exact"])


def test_s16_a_commit_that_hides_its_operations_costs_no_file(lake: MemoryLake, services: LakeServices) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.overwrite("b.parquet")
    lake.commit("main", put(first.version))
    lake.commit("main", put(second.version), hides_operations=True)
    lake.commit("main")
    lake.advance(timedelta(days=3))
    services.collect("NONE")
    assert first.needed | second.needed <= lake.paths()
