"""S21: the real run deletes exactly what the dry run named, less what became live. See tests/property as well."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collected_scenes import CollectedScenes, collect_scenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters


def test_s21_a_dry_run_names_what_the_real_run_deletes(
    collected: CollectedScenes, engine: Engine, tmp_path: Path
) -> None:
    dry = collect_scenes(engine, SweepParameters(dry_run=True), tmp_path)
    real = {(row["path"], row["outcome"].replace("deleted", "would_delete")) for row in collected.rows}
    assert real == {(row["path"], row["outcome"]) for row in dry.rows}
    wanted = {path for path in dry.before if (dry.folder / path.removeprefix("memory://")).is_file()}
    assert dry.before == wanted, "a dry run deletes nothing"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("membership", list(Membership))
def test_s21_a_dry_run_less_what_became_live(
    lake: MemoryLake, services: LakeServices, tmp_path: Path, membership: Membership
) -> None:
    old = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
    first = lake.commit("main", put(old.version))
    lake.commit("main", put(old.overwrite("new.parquet").version))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    named = tmp_path / "dry.jsonl"
    dry = SweepParameters(dry_run=True, membership=membership, outcomes_to=str(named))
    services.sweep(live_set, dry)
    assert LiveSetStatus.IDENTIFY_SUCCESS is services.store.get(live_set).status
    would = {row["location"] + row["path"] for row in rows(named)}
    before = lake.paths()
    lake.tag("tag", first)
    services.sweep(live_set, SweepParameters(membership=membership))
    assert would - old.needed == before - lake.paths()
    assert old.needed <= would


def test_s21_a_dry_run_leaves_no_trace_in_the_store(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet").overwrite("b.parquet")
    lake.commit("main", put(table.version))
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    for _ in range(2):
        services.sweep(live_set, SweepParameters(dry_run=True))
    assert [] == list(services.store.steps(live_set))
    assert set() == services.store.tombstones(services.repository.identity(), lake.paths())
    assert [] == list(services.store.file_deletions(live_set))
