"""S15: a resumed sweep counts as deleted only what is gone, whatever keeps the other announced files now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from collecting import LakeServices, in_memory
from in_quarantine import Killed
from lakes_by_hand import commit_and_let_age
from nessie_gc_memory import MemoryLake

from nessie_gc_core.algorithms.count import count_old_enough
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.live_sets import SweepStepState
from nessie_gc_core.model.relations import VERDICTS
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

UNIT = "memory://wh/db/t/"
RESUMED = SweepParameters(resume=True)
KEPT = {
    "a longer min_age": replace(RESUMED, min_age=timedelta(days=30)),
    "max_file_modification": replace(RESUMED, max_file_modification=datetime(2020, 1, 1, tzinfo=UTC)),
}


@pytest.fixture
def services(lake: MemoryLake) -> Iterator[LakeServices]:
    """One worker, so that files go one after the other."""
    with in_memory(lake, LocalEngine(workers=1)) as services:
        yield services


@pytest.fixture
def dead(lake: MemoryLake) -> list[str]:
    """Files that nobody needs, of different sizes."""
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    for number in range(5):
        lake.put(f"memory://wh/db/t/data/dead{number}.parquet", 100 + number)
    commit_and_let_age(lake, table)
    return sorted(lake.paths() - table.needed)


def killed_at(services: LakeServices, lake: MemoryLake, path: str) -> UUID:
    """A live set whose sweep died at a file."""
    live_set = services.mark("1")
    lake.faults.deleting_dies[path] = Killed()
    with pytest.raises(Killed):
        services.sweep(live_set)
    lake.faults.deleting_dies.clear()
    return live_set


def counts(report: GcReport) -> tuple[int, int]:
    """How many files were deleted, and how many are too young."""
    deleted, young = (report.outcomes[each].files for each in (Outcome.DELETED, Outcome.TOO_YOUNG))
    return deleted, young


def doubts(report: GcReport) -> list[str]:
    return [warning for warning in report.warnings if "not counted" in warning]


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("at", range(6))
def test_s15_announced_files_that_are_kept_now_are_not_counted_as_deleted(
    services: LakeServices, lake: MemoryLake, dead: list[str], kept: str, at: int
) -> None:
    live_set = killed_at(services, lake, dead[at])
    left = lake.paths() & set(dead)
    report = services.sweep(live_set, KEPT[kept])
    assert left == lake.paths() & set(dead)
    assert (len(dead) - len(left), len(left)) == counts(report)
    assert [] == doubts(report)


def test_s15_what_was_deleted_before_the_kill_is_counted_beside_files_that_are_too_young_all_the_time(
    services: LakeServices, lake: MemoryLake, dead: list[str]
) -> None:
    young = lake.put("memory://wh/db/t/data/young.parquet", modified=lake.time - timedelta(hours=1))
    report = services.sweep(killed_at(services, lake, dead[3]), RESUMED)
    assert {young} == lake.paths() & {*dead, young}
    assert (len(dead), 1) == counts(report)
    assert [] == doubts(report)


def test_s15_announced_files_that_were_written_again_are_not_counted_as_deleted(
    services: LakeServices, lake: MemoryLake, dead: list[str]
) -> None:
    lake.faults.deleting_dies.update((path, Killed()) for path in dead)
    live_set = killed_at(services, lake, dead[0])
    for path in dead[:4]:
        lake.put(path)
    report = services.sweep(live_set, RESUMED)
    assert (len(dead) - 4, 4) == counts(report)
    assert [f"4 files in {UNIT}"] == [doubt.partition(" may ")[0] for doubt in doubts(report)]


def test_s15_a_step_of_an_earlier_release_counts_no_file_that_is_stored(
    services: LakeServices, lake: MemoryLake, dead: list[str]
) -> None:
    live_set = killed_at(services, lake, dead[2])
    left = lake.paths() & set(dead)
    services.store.start_expire(live_set, at=lake.time, resume=True)
    old = [
        replace(step, outcomes={name: counts for name, counts in step.outcomes.items() if name in set(Outcome)})
        for step in services.store.steps(live_set)
        if step.state is SweepStepState.STARTED
    ]
    assert old
    services.store.record_steps(live_set, old)
    report = services.sweep(live_set, KEPT["a longer min_age"])
    assert (len(dead) - len(left), len(left)) == counts(report)


def test_s15_both_engines_tell_announced_files_by_their_age(engine: Engine) -> None:
    rows = [
        ("u/", f"{number}", "u/", f"{number}", 10, number, None, 0, verdict, None, 0, False)
        for number, verdict in enumerate(("UNREFERENCED", "SPARED", "UNREFERENCED", "TOO_YOUNG"), start=1)
    ]
    verdicts = engine.dataset(to_batches(iter(rows), VERDICTS), VERDICTS)
    counts, newest = count_old_enough(verdicts)
    assert (3, (2, 20)) == (newest, counts["u/", "UNREFERENCED"])
    assert 3 == verdicts.matching(f"modified <= {newest}").count()
    assert 1 == verdicts.matching(f"modified > {newest} AND modified < {2**63 - 1}").count()
