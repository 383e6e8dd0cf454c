"""S33: a table that overlaps with the quarantine folder is left alone, and stops the collection of no other one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, held, restore, with_garbage
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters

PLACE = "memory://wh/held/"
HOLD = SweepParameters(quarantine=[PLACE])


def with_a_table_at(lake: MemoryLake, location: str) -> None:
    """Garbage in one table, and another one whose location somebody chose."""
    with_garbage(lake)
    other = lake.table("evil.x", location=location, content_id="x").append("a.parquet")
    lake.commit("main", put(other.version))
    lake.put(f"{location.rstrip('/')}/data/dead.parquet")
    lake.advance(timedelta(days=9))


@pytest.mark.parametrize("location", ["memory://wh/", "memory://wh", "memory://wh/held/mine/t", "memory://wh/held"])
def test_s33_a_table_around_or_in_the_quarantine_does_not_stop_the_others(
    lake: MemoryLake, services: LakeServices, location: str
) -> None:
    with_a_table_at(lake, location)
    report = services.collect(sweep=replace(HOLD, allow=["memory://wh/db/"]))
    assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.exit_code)
    assert DEAD == {file.location + file.path for file in held(services)}


@pytest.mark.parametrize("location", ["memory://wh/held/mine/t", "memory://wh/held"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_s33_a_table_in_the_quarantine_that_may_be_swept_is_left_alone(
    lake: MemoryLake, services: LakeServices, location: str, dry_run: bool
) -> None:
    with_a_table_at(lake, location)
    report = services.collect(sweep=replace(HOLD, min_depth=0, dry_run=dry_run))
    done = Outcome.WOULD_DELETE if dry_run else Outcome.QUARANTINED
    assert (3, 1) == (report.outcomes[done].files, report.exit_code)
    said = f"the quarantine {PLACE} overlaps with it; use a folder outside all table locations"
    assert {f"{location}/": said} == report.unknown
    assert f"{location}/data/dead.parquet" in lake.paths()


def test_s33_a_quarantine_in_a_table_is_used_for_the_others(lake: MemoryLake, services: LakeServices) -> None:
    with_a_table_at(lake, "memory://wh/db/x")
    report = services.collect(sweep=SweepParameters(quarantine=["memory://wh/db/x/held/"]))
    assert (3, ["memory://wh/db/x/"]) == (report.outcomes[Outcome.QUARANTINED].files, list(report.unknown))
    assert "memory://wh/db/x/data/dead.parquet" in lake.paths()
    assert 3 == restore(services).done.files


def test_s33_deferred_deletions_of_a_table_over_the_quarantine_are_left_alone(
    lake: MemoryLake, services: LakeServices
) -> None:
    with_a_table_at(lake, "memory://wh/held/mine")
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    report = services.delete_deferred(live_set, HOLD)
    assert (3, 2) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.SPARED].files)
    assert "memory://wh/held/mine/data/dead.parquet" in lake.paths()


def test_s33_what_is_left_alone_for_that_does_not_keep_its_files_in_quarantine_for_ever(
    lake: MemoryLake, services: LakeServices
) -> None:
    """It is known what the table needs."""
    with_garbage(lake)
    services.collect(sweep=HOLD)
    before = held(services)
    lake.advance(timedelta(days=3))
    services.collect(sweep=SweepParameters(quarantine=["memory://wh/db/t/held/"]))
    assert before == held(services)
