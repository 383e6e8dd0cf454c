"""Clocks that are ahead: no job waits for the times that they wrote."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from nessie_gc_core.model.schedule import Occasion
from nessie_gc_core.services.schedule.asking import trigger
from nessie_gc_core.services.schedule.clocks import mended
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.history import last_success
from nessie_gc_core.services.schedule.scheduler import Scheduler

from .conftest import FAILED, HOUR, MIDNIGHT, Bench

HOURLY = {"every": "PT1H", "retries": 2}
QUIET = ["08:00-18:00"]
YEAR = timedelta(days=365)
MINUTE = timedelta(minutes=1)


def triggers(bench: Bench, scheduler: Scheduler) -> None:
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())


def fails(bench: Bench, scheduler: Scheduler) -> None:
    bench.runner.outcomes["nightly"] = [FAILED]
    scheduler.run_due()


def triggers_what_fails(bench: Bench, scheduler: Scheduler) -> None:
    triggers(bench, scheduler)
    fails(bench, scheduler)


def looks_in_quiet_hours(bench: Bench, scheduler: Scheduler) -> None:
    bench.clock.pass_(hours=10)
    scheduler.run_due()


@pytest.mark.parametrize("ahead", [YEAR, 12 * HOUR], ids=["a year", "half a day"])
@pytest.mark.parametrize("does", [triggers, fails, triggers_what_fails, looks_in_quiet_hours])
def test_whatever_a_machine_does_whose_clock_is_ahead_an_hourly_job_goes_on(
    bench: Bench, does: Callable[[Bench, Scheduler], None], ahead: timedelta
) -> None:
    scheduler = bench.scheduler({"nightly": HOURLY}, quiet=QUIET)
    scheduler.elapsed = lambda: bench.clock().timestamp()  # so that it looks after clocks in each hour
    scheduler.define()
    bench.clock.now += ahead
    does(bench, scheduler)
    begun = len(bench.runs())
    bench.clock.now, scheduler._tended = MIDNIGHT, None
    for _ in range(48):
        bench.clock.pass_(hours=1)
        scheduler.run_due()
    free_hours = 2 * 14  # one of them may have been run by the wrong clock, and another attempt may be made
    assert free_hours - 1 <= len(bench.runs()) - begun <= free_hours + 1


def test_what_a_clock_that_was_ahead_triggered_runs_at_once(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": HOURLY})
    scheduler.define()
    trigger(bench.store, scheduler.definition, "nightly", at=MIDNIGHT + 10 * MINUTE)
    assert [(True, MIDNIGHT)] == [(run.occasion.by_hand, run.started) for run in scheduler.run_due()]


def nightly(bench: Bench, **job: Any) -> JobDefinition:
    return bench.scheduler({"nightly": job}, quiet=QUIET, lease="PT7H").definition.jobs["nightly"]


NOON = MIDNIGHT + 12 * HOUR


@pytest.mark.parametrize(
    ("job", "waits", "last"),
    [
        ({"every": "PT1H"}, Occasion(due=MIDNIGHT + HOUR, starts=MIDNIGHT + HOUR), MIDNIGHT),
        ({"every": "PT1H"}, Occasion(due=NOON + HOUR, starts=MIDNIGHT + 18 * HOUR), NOON),
        ({"every": "PT1H"}, Occasion(due=MIDNIGHT + 9 * HOUR, starts=MIDNIGHT + 18 * HOUR), None),
        ({"every": "PT1H"}, Occasion(due=NOON, starts=NOON + 6 * HOUR, attempt=3), NOON),
        ({"every": "PT1H"}, Occasion(due=NOON, starts=NOON + 6 * HOUR, attempt=2, by_hand=True), NOON),
        ({"every": "PT1H"}, Occasion(due=NOON, starts=NOON, by_hand=True), None),
        ({"every": "PT1H"}, Occasion(due=NOON - HOUR, starts=NOON + 7 * HOUR), NOON),  # after the lease of another run
        ({"every": "PT1H", "quiet": []}, Occasion(due=NOON, starts=NOON + 7 * HOUR + MINUTE, attempt=8), NOON),
    ],
)
def test_what_waits_with_good_reason_goes_on_waiting(
    bench: Bench, job: dict[str, Any], waits: Occasion, last: Any
) -> None:
    assert waits == mended(nightly(bench, **job), waits, last=last, now=NOON)


def test_what_waits_because_of_its_jitter_goes_on_waiting(bench: Bench) -> None:
    job = nightly(bench, every="PT48H", jitter="PT47H", quiet=[])
    waits = job.after(NOON)
    assert waits.starts - waits.due > 9 * HOUR
    assert waits == mended(job, waits, last=None, now=waits.due)


# ---- outcomes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("by", "kept"), [(timedelta(days=800), True), (timedelta(days=-800), True), (HOUR, False)])
def test_outcomes_are_forgotten_only_by_a_clock_that_agrees_with_the_one_of_the_store(
    bench: Bench, by: timedelta, kept: bool
) -> None:
    scheduler = bench.scheduler({"nightly": HOURLY}, keep="PT2H")
    scheduler.define()
    for _ in range(5):
        bench.clock.pass_(hours=1)
        scheduler.run_due()
    known, now = bench.runs(), bench.clock()
    bench.store.clock = lambda: now
    bench.clock.now += by
    bench.scheduler({"nightly": HOURLY}, keep="PT2H")._tend()
    assert kept is (known == bench.runs())


@pytest.mark.parametrize("keep", ["PT0S", "P7D"])
def test_the_last_success_of_a_job_is_known_however_long_outcomes_are_kept(bench: Bench, keep: str) -> None:
    bench.store.clock = bench.clock
    scheduler = bench.scheduler({"nightly": {"every": "P10D"}}, keep=keep)
    scheduler.define()
    bench.clock.pass_(days=10)
    (succeeded,) = scheduler.run_due()
    bench.clock.pass_(days=10)
    bench.runner.outcomes["nightly"] = [FAILED]
    scheduler.run_due()
    bench.clock.pass_(days=9)
    scheduler._tended = None
    scheduler._tend()
    assert succeeded.ended == last_success(bench.store, "default", "nightly", clock=bench.clock)
