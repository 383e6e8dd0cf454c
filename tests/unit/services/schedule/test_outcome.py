"""Whatever a report holds, and of whatever service it is: a scheduler can take it."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.services.health.report import HealthReport, TableHealth
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.tables import tables_of
from nessie_gc_core.services.schedule.telling.changed_tables import Changes

from .conftest import MIDNIGHT, Bench

RUN = JobRun(
    id=UUID(int=1),
    job="nightly",
    service="health",
    occasion=Occasion(due=MIDNIGHT, starts=MIDNIGHT),
    status=RunStatus.RUNNING,
    started=MIDNIGHT,
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
NAMES = st.sampled_from(
    ["unknown", "unreadable", "failed", "files", "bytes", "collection", "tables", "error", "outcome", "location"]
)
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def ended(bench: Bench, outcome: Outcome) -> JobRun:
    """A run of a schedule that ended so."""
    bench.runner.outcomes["nightly"] = [outcome]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "service": "health"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    (run,) = scheduler.run_due()
    return run


def test_health_with_a_table_that_cannot_be_read_says_how_many(bench: Bench) -> None:
    broken = TableHealth(table="db.t", reference="main", problem="no such file")
    report = HealthReport(repository="r", checked=MIDNIGHT, last_sweep=None, findings=(), tables=[broken])
    run = ended(bench, Outcome(exit_code=report.exit_code, report=json.dumps(report.to_dict())))
    assert (RunStatus.FAILED, "exit code 1: 1 unreadable") == (run.status, run.error)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"unknown": {"s3://b/": "x"}, "failed": {"files": 2, "bytes": 9}}, "1 unknown, 2 failed"),
        ({"collection": {"unknown": {"s3://b/": "x", "s3://c/": "y"}}}, "2 unknown"),
        ({"failed": 3, "unreadable": ["a", "b"]}, "2 unreadable, 3 failed"),
        ({"failed": True, "unreadable": None, "unknown": -1}, "see its report"),
        ({}, "see its log"),
    ],
)
def test_the_reason_of_a_failure_is_counted_in_whatever_form_it_is(report: dict[str, object], said: str) -> None:
    run = Outcome(exit_code=1, report=json.dumps(report)).finished(RUN, MIDNIGHT)
    assert f"exit code 1: {said}" == run.error


@given(ANYTHING)
def test_any_report_of_a_failed_run_is_recorded_and_told(report: object) -> None:
    text = json.dumps(report)
    outcome = Outcome(exit_code=1, report=text)
    run = outcome.finished(RUN, MIDNIGHT)
    tables_of(text)
    changes = Changes.of(outcome.body())
    assert (changes, 1) == (Changes.read(changes.text()), run.exit_code)
    assert run.error
