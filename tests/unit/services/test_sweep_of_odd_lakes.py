"""Sweeps of lakes in which something is odd: it keeps its own location, and stops nobody else's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, in_memory
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, TableState, put
from pyarrow import parquet

from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.services.parameters import SweepParameters

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        yield lake


@pytest.fixture
def services(lake: MemoryLake) -> Iterator[LakeServices]:
    with in_memory(lake) as services:
        yield services


def table(lake: MemoryLake, name: str) -> TableState:
    state = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append(f"{name}.parquet")
    lake.commit("main", put(state.version))
    return state


def rewrite(lake: MemoryLake, path: str, change: Change) -> str:
    stored = lake.objects.get(path)
    assert stored is not None
    assert stored.data is not None
    value = json.loads(stored.data)
    change(value)
    return lake.put(path, json.dumps(value).encode())


def manifest_of(state: TableState) -> str:
    (manifest,) = [path for path in state.needed if "-manifest" in path]
    return manifest


@pytest.mark.parametrize("text", ["memory://wh/db/bad/\ud800", "memory://wh/db/bad/\0"])
@pytest.mark.parametrize("where", ["location", "manifest list", "data file"])
def test_a_name_that_no_path_can_be_freezes_its_own_location_only(
    lake: MemoryLake, services: LakeServices, text: str, where: str
) -> None:
    table(lake, "good")
    bad = table(lake, "bad")
    if where == "location":
        rewrite(lake, bad.metadata_location, lambda found: found.update({"location": text}))
    elif where == "manifest list":
        rewrite(lake, bad.metadata_location, lambda found: found["snapshots"].update({"1": text}))
    else:
        rewrite(lake, manifest_of(bad), lambda found: found["files"].append(text))
    dead, kept = lake.put("memory://wh/db/good/dead.parquet"), lake.put("memory://wh/db/bad/dead.parquet")
    lake.advance(timedelta(days=3))
    report = services.read_before().collect("1")
    assert dead not in lake.paths()
    assert kept in lake.paths()
    assert bad.needed <= lake.paths()
    assert report.unreadable


@pytest.mark.parametrize("spelling", ["data//", "data/./", "/data/", "old/../data/"])
def test_a_file_that_is_needed_under_another_spelling_of_its_key_is_kept(
    lake: MemoryLake, services: LakeServices, spelling: str
) -> None:
    state = table(lake, "t")
    rewrite(
        lake,
        manifest_of(state),
        lambda found: found.update({"files": [path.replace("data/", spelling) for path in found["files"]]}),
    )
    lake.advance(timedelta(days=3))
    dead = lake.put("memory://wh/db/t/data/dead.parquet", modified=lake.time - timedelta(days=2))
    report = services.collect("1")
    assert state.needed <= lake.paths()
    assert dead not in lake.paths()
    assert ({}, 0, 0) == (report.unknown, report.lost.files, report.exit_code)


def killed_at(step: int) -> Callable[[str, int, int | None], None]:
    def kill(phase: str, done: int, total: int | None) -> None:
        if (phase, done) == ("delete", step):
            raise RuntimeError("killed")

    return kill


def test_a_resumed_sweep_adds_its_outcomes_to_those_of_the_first_attempt(
    lake: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    dead = {lake.put(f"{table(lake, name).location}/dead.parquet") for name in ("one", "two", "three")}
    lake.advance(timedelta(days=3))
    live_set, file = services.mark("1"), tmp_path / "outcomes.jsonl"
    settings = SweepParameters(files_per_step=1, outcomes_to=str(file))
    with pytest.raises(RuntimeError):
        services.sweep(live_set, settings, progress=killed_at(2))
    report = services.sweep(live_set, replace(settings, resume=True))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert report.outcomes[Outcome.DELETED].files == len(lines)
    assert dead <= {line["location"] + line["path"] for line in lines}


def test_a_resumed_sweep_leaves_the_first_attempts_parquet_file_alone(
    lake: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    table(lake, "one")
    lake.put("memory://wh/db/one/dead.parquet")
    lake.advance(timedelta(days=3))
    live_set, file = services.mark("1"), tmp_path / "outcomes.parquet"
    with pytest.raises(RuntimeError):
        services.sweep(live_set, SweepParameters(outcomes_to=str(file)), progress=killed_at(0))
    before = file.read_bytes()
    services.sweep(live_set, SweepParameters(outcomes_to=str(file), resume=True))
    assert before == file.read_bytes()
    assert "dead.parquet" in parquet.read_table(tmp_path / "outcomes.1.parquet").column("path").to_pylist()


def test_a_sweep_that_lost_its_lease_leaves_the_live_set_to_the_one_who_has_it(
    lake: MemoryLake, services: LakeServices
) -> None:
    for name in ("one", "two", "three"):
        table(lake, name)
        lake.put(f"memory://wh/db/{name}/dead.parquet")
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")

    def stand_still(phase: str, done: int, total: int | None) -> None:
        if (phase, done) == ("delete", 1):
            now = lake.advance(timedelta(minutes=5))
            repository, duration = services.repository.identity(), timedelta(minutes=5)
            services.store.acquire_lease(repository, "another", host="elsewhere", process=1, duration=duration)
            services.store.start_expire(live_set, at=now, resume=True)

    with pytest.raises(SafetyError, match="lease"):
        services.sweep(live_set, SweepParameters(files_per_step=1), progress=stand_still)
    assert LiveSetStatus.EXPIRY_IN_PROGRESS == services.store.get(live_set).status


def test_a_commit_of_the_year_1_is_older_than_every_cutoff(services: LakeServices, lake: MemoryLake) -> None:
    empty = lake.table("db.t", location="memory://wh/db/t")
    lake.objects.delete(empty.metadata_location)
    state = empty.append("a.parquet")
    lake.commit("main", put(state.version), time=datetime.min.replace(tzinfo=timezone(timedelta(hours=5))))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("P1D")
    assert (1, 1) == (report.content_versions, report.outcomes[Outcome.DELETED].files)
    assert state.needed == lake.paths()
