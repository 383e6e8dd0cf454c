"""Runs that only start if ``health`` finds something to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.schedule.due import Trigger, WhenDue
from nessie_gc_core.services.schedule.outcome import Outcome

from .conftest import Bench, FakeWork

DONE = Outcome(exit_code=0, report='{"done": 1}')


def health(*findings: str, repository: Sequence[str] = (), reclaimable: int | None = None) -> dict[str, Any]:
    tables = [
        {"table": "db.t", "reclaimable_bytes": reclaimable, "findings": [{"name": name} for name in findings]},
        {"table": "db.u", "reclaimable_bytes": None, "findings": []},
    ]
    return {"tables": tables, "findings": [{"name": name} for name in repository]}


def run_of(
    report: dict[str, Any], *when: str, reclaimable: str | None = None, exit_code: int = 0
) -> tuple[Outcome, list[FakeWork]]:
    """How a run ends after such a report, and what was started after it."""
    trigger, started = Trigger.read(when, reclaimable), list[FakeWork]()
    assert trigger is not None

    def start(leased: float) -> FakeWork:
        assert 7.0 == leased
        started.append(FakeWork(DONE))
        return started[-1]

    work = WhenDue(trigger, FakeWork(Outcome(exit_code=exit_code, report=json.dumps(report))), start, 5.0)
    work.beat(7.0)
    while (outcome := work.wait(0.01)) is None:
        pass
    return outcome, started


@pytest.mark.parametrize(
    ("report", "when"),
    [
        (health("small-files"), ["delete-files", "small-files"]),
        (health(repository=["orphans"]), ["orphans"]),
        (health("snapshots", "manifests"), ["manifests"]),
    ],
)
def test_a_run_starts_if_one_of_the_findings_is_there(report: dict[str, Any], when: list[str]) -> None:
    outcome, started = run_of(report, *when)
    assert (DONE, 1) == (outcome, len(started))


def test_a_run_does_not_start_if_nothing_is_due_and_says_what_was_looked_for() -> None:
    outcome, started = run_of(health("snapshots"), "small-files", "delete-files", reclaimable="1GB")
    assert [] == started
    assert "health found no delete-files or small-files or 1.0 GB reclaimable" == outcome.not_due


@pytest.mark.parametrize(("bytes_", "starts"), [(None, False), (2**30 - 1, False), (2**30, True)])
def test_a_run_starts_if_enough_can_be_reclaimed(bytes_: int | None, starts: bool) -> None:
    _, started = run_of(health(reclaimable=bytes_), reclaimable="1GB")
    assert starts is bool(started)


def test_a_health_that_fails_is_a_failure_and_starts_nothing() -> None:
    outcome, started = run_of({"error": "no server"}, "orphans", exit_code=1)
    assert ([], 1, "no server") == (started, outcome.exit_code, outcome.body()["error"])


def test_a_table_that_cannot_be_read_is_a_failure_unless_something_else_is_due() -> None:
    outcome, started = run_of(health(), "snapshots", exit_code=1)
    assert ([], 1, None) == (started, outcome.exit_code, outcome.not_due)
    assert 1 == len(run_of(health("snapshots"), "snapshots", exit_code=1)[1])


def test_a_run_that_is_stopped_while_it_looks_does_not_begin() -> None:
    trigger = Trigger.read(["snapshots"], None)
    assert trigger is not None
    look = FakeWork(Outcome(exit_code=0, report=json.dumps(health("snapshots"))))
    work = WhenDue(trigger, look, lambda leased: pytest.fail("it begins"), 0.0)
    work.stop(kill=False)
    outcome = work.wait(0.01)
    assert outcome is not None
    assert "it was stopped before it began" == outcome.error


@pytest.mark.parametrize(
    ("when", "size", "said"),
    [
        (["small-file"], None, "`when` has an unknown finding 'small-file'; there are: delete-files, "),
        ([], "10", "`when-reclaimable` '10' has no unit"),
    ],
)
def test_what_cannot_be_found_is_refused(when: list[str], size: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Trigger.read(when, size)


def test_a_run_that_was_not_due_is_neither_a_success_nor_a_failure(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [Outcome(exit_code=0, not_due="health found no small-files")]
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "retries": 3}})
    scheduler.define()
    bench.clock.pass_(hours=1)
    (run,) = scheduler.run_due()
    assert ("NOT_DUE", "health found no small-files") == (run.status.value, run.error)
    assert [] == scheduler.run_due()
