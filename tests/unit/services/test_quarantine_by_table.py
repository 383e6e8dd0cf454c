"""What a purge says of each table is what a sweep would have said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from collecting import LakeServices
from in_quarantine import held, purge, restore, with_garbage
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, put

from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.schedule.tables import tables_of
from nessie_gc_core.services.schedule.telling.changed_tables import Changes
from nessie_gc_core.services.tally import Tally

PLACE = "memory://wh/.quarantine/"
HOLD = SweepParameters(quarantine=[PLACE], by_table=True, quarantine_for=timedelta(0))


def swept(lake: MemoryLake, services: LakeServices, **more: Any) -> GcReport:
    """A sweep that puts the garbage of a lake in quarantine, whose time is over afterwards."""
    report = services.sweep(services.mark(), replace(HOLD, **more))
    lake.advance(timedelta(minutes=1))
    return report


def said(report: GcReport | ReleaseReport) -> list[tuple[str | None, int, int]]:
    return [(each.table, each.garbage, each.reclaimed) for each in tables_of(json.dumps(report.to_dict()))]


def places(report: GcReport | ReleaseReport) -> list[tuple[str, tuple[str, ...]]]:
    return [(row.location, row.tables) for row in report.tables or ()]


def test_bytes_of_a_table_are_reclaimed_by_the_purge(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    found = swept(lake, services)
    bytes_ = found.outcomes[Outcome.QUARANTINED].bytes
    assert [("db.t", bytes_, 0)] == said(found)
    assert [("db.t", bytes_, bytes_)] == said(purge(services, by_table=True))


def test_lineage_has_the_same_table_of_both(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    (found,) = Changes.of(swept(lake, services).to_dict()).tables
    assert (replace(found, catalog=""),) == Changes.of(purge(services, by_table=True).to_dict()).tables


def test_rows_have_the_names_and_locations_of_the_sweep(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    inner = lake.table("db.inner", location="memory://wh/db/t/inner", content_id="inner")
    lake.commit("main", put(inner.version))
    lake.put("memory://wh/db/t/inner/data/dead.parquet", b"dead")
    gone = lake.table("db.gone", location="memory://wh/db/gone", content_id="gone")
    lake.commit("main", put(gone.version))
    lake.put("memory://wh/db/gone/data/dead.parquet", b"dead")
    lake.advance(timedelta(days=40))
    found = swept(lake, services)
    assert [("memory://wh/db/t/", ("db.inner", "db.t")), ("memory://wh/db/gone/", ("db.gone",))] == places(found)
    assert places(found) == places(purge(services, by_table=True))


def test_what_waits_is_no_garbage_and_what_failed_is(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    swept(lake, services)
    first, second, _ = held(services)
    assert isinstance(services.store, MemoryLiveSetStore)
    services.store.put_held_files([replace(first, until=first.until + timedelta(days=1))])
    lake.faults.deleting[second.place + second.held_path] = "locked"
    (row,) = purge(services, by_table=True).tables or []
    assert (3, {Outcome.DELETED: 1, Outcome.FAILED: 1}) == (
        row.listed.files,
        {outcome: tally.files for outcome, tally in row.outcomes.items()},
    )


@pytest.mark.parametrize("dry_run", [True, False])
def test_rows_sum_up_to_the_report(lake: MemoryLake, services: LakeServices, dry_run: bool) -> None:
    with_garbage(lake)
    swept(lake, services)
    report = purge(services, by_table=True, dry_run=dry_run)
    (row,) = report.tables or []
    assert {Outcome.WOULD_DELETE if dry_run else Outcome.DELETED: report.done} == row.outcomes
    assert Tally(3, report.done.bytes) == row.listed


def test_nobody_who_did_not_ask_gets_rows(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    swept(lake, services)
    assert (None, None) == (restore(services, everything=True, dry_run=True).tables, purge(services).tables)
