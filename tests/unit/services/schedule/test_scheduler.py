"""The scheduler: what is due runs once, whatever happens to clocks, schedulers and runs."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.services.schedule.asking import pause, trigger
from nessie_gc_core.services.schedule.conduct import MOST_LOST
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.pool import Pool

from .conftest import FAILED, HOUR, MIDNIGHT, Bench, Clock

HOURLY = {"nightly": {"every": "PT1H"}}


def lost(bench: Bench, *, attempt: int = 1, times: int = 0) -> JobRun:
    """A run of the job whose scheduler is gone."""
    next_ = bench.job().next
    assert next_ is not None
    run = JobRun(
        id=uuid4(),
        job="nightly",
        service="gc",
        occasion=replace(next_, attempt=attempt, lost=times),
        status=RunStatus.RUNNING,
        started=bench.clock(),
        host="elsewhere",
        process=7,
    )
    bench.store.set_next("default", "nightly", seen=next_, then=run.occasion)
    then = replace(next_, due=next_.due + 24 * HOUR, starts=next_.starts + 24 * HOUR)
    assert bench.store.start_run("default", run, then=then, lease=timedelta(0))
    return run


# ---- what is due --------------------------------------------------------------------------------------
def test_a_job_runs_when_it_is_due_and_not_before(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    assert [] == scheduler.run_due()
    bench.clock.pass_(hours=1)
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, MIDNIGHT + HOUR, 1) == (run.status, run.occasion.due, run.occasion.attempt)
    assert [] == scheduler.run_due()
    assert [run] == bench.heard(1)
    assert [MIDNIGHT + HOUR] == bench.runner.dues()


def test_a_month_of_hours_runs_each_hour_once(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    for _ in range(60):
        bench.clock.pass_(minutes=30)
        scheduler.run_due()
    assert [MIDNIGHT + n * HOUR for n in range(1, 31)] == bench.runner.dues()


def test_a_job_that_was_due_often_while_nobody_was_there_runs_once(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.clock.pass_(hours=9.5)
    assert 1 == len(scheduler.run_due())
    assert [MIDNIGHT + HOUR] == bench.runner.dues()
    assert bench.job().next == scheduler.definition.jobs["nightly"].after(bench.clock())


def test_a_job_that_is_too_late_is_skipped_and_said_to_be(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "max-lateness": "PT10M"}})
    scheduler.define()
    bench.clock.pass_(hours=1.5)
    (run,) = scheduler.run_due()
    assert (RunStatus.SKIPPED, [run], [run]) == (run.status, bench.runs(), bench.heard(1))
    assert "could not start for 30 min" in (run.error or "")
    bench.clock.pass_(minutes=35)
    assert [MIDNIGHT + 2 * HOUR] == [run.occasion.due for run in scheduler.run_due()]


@pytest.mark.parametrize(("minutes", "status"), [(30, RunStatus.SUCCEEDED), (31, RunStatus.SKIPPED)])
@pytest.mark.parametrize("ends", ["failed", "stopped"])
def test_a_run_that_is_to_begin_again_is_skipped_when_it_is_too_late(
    bench: Bench, ends: str, minutes: int, status: RunStatus
) -> None:
    job = {"nightly": {"cron": "@daily", "retries": 1, "retry-after": "PT1H", "max-lateness": "PT30M"}}
    scheduler = bench.scheduler(job)
    scheduler.define()
    bench.clock.pass_(days=1)
    if ends == "failed":
        bench.runner.outcomes["nightly"] = [FAILED]
        scheduler.run_due()
        bench.clock.pass_(hours=1)
    else:
        bench.runner.outcomes["nightly"] = [None]
        bench.runner.on_start = scheduler.stopping.set
        scheduler.run_due()
    bench.clock.pass_(minutes=minutes)
    bench.scheduler(job).run_due()
    last = bench.runs()[-1]
    assert (2, status) == (len(bench.runs()), last.status)
    assert (status is RunStatus.SKIPPED) is ("could not begin again for 31 min" in (last.error or ""))


def test_what_was_triggered_is_never_too_late(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT24H", "max-lateness": "PT30M"}})
    scheduler.define()
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    bench.clock.pass_(hours=1)
    assert [True] == [run.occasion.by_hand for run in scheduler.run_due()]


def test_jobs_run_one_after_the_other_the_longest_waiting_first(bench: Bench) -> None:
    scheduler = bench.scheduler({name: {"every": f"PT{n}H"} for n, name in enumerate("cab", 1)})
    scheduler.define()
    bench.clock.pass_(hours=3)
    scheduler.run_due()
    assert ["c", "a", "b"] == [name for name, _ in bench.runner.started]


def test_no_run_starts_in_quiet_hours_but_by_hand(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY, quiet=["01:30-03:15"])
    bench.clock.pass_(minutes=45)
    scheduler.define()  # due at one o'clock
    bench.clock.pass_(hours=1)
    assert [] == scheduler.run_due()
    next_ = bench.job().next
    assert next_ is not None
    assert (MIDNIGHT + HOUR, MIDNIGHT + timedelta(hours=3, minutes=15)) == (next_.due, next_.starts)
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    assert [True] == [run.occasion.by_hand for run in scheduler.run_due()]


# ---- failures -----------------------------------------------------------------------------------------
def test_a_failure_is_tried_again_after_pauses_that_double(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [FAILED] * 3
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "retries": 2, "retry-after": "PT10M"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    began = bench.clock()
    for minutes in (10, 20, 500):
        scheduler.run_due()
        bench.clock.pass_(minutes=minutes)
    assert [] == scheduler.run_due()
    assert [(1, began), (2, began + timedelta(minutes=10)), (3, began + timedelta(minutes=30))] == [
        (run.occasion.attempt, run.started) for run in bench.runs()
    ]
    assert {"it failed"} == {run.error for run in bench.runs()}


def test_a_run_that_cannot_be_started_is_a_failure_with_its_reason(bench: Bench) -> None:
    def refuse() -> None:
        raise OSError(12, "Cannot allocate memory")

    bench.runner.on_start = refuse
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.clock.pass_(hours=1)
    (run,) = scheduler.run_due()
    assert (RunStatus.FAILED, None) == (run.status, run.exit_code)
    assert "Cannot allocate memory" in (run.error or "")


# ---- several schedulers, and those that are lost --------------------------------------------------------
def test_two_schedulers_run_a_job_once(bench: Bench) -> None:
    first, second = bench.scheduler(HOURLY), bench.scheduler(HOURLY)
    first.define()
    bench.clock.pass_(hours=1)

    def meanwhile() -> None:
        bench.runner.on_start = lambda: None
        second.run_due()

    bench.runner.on_start = meanwhile
    first.run_due()
    second.run_due()
    assert [MIDNIGHT + HOUR] == bench.runner.dues()


def test_the_run_of_a_scheduler_that_was_lost_begins_again(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    gone = lost(bench)
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, replace(gone.occasion, starts=bench.clock(), begun=True, lost=1)) == (
        run.status,
        run.occasion,
    )
    kept = bench.store.run("default", gone.id)
    assert kept is not None
    assert (RunStatus.INTERRUPTED, "its scheduler (elsewhere, process 7) was lost") == (kept.status, kept.error)


def test_a_run_that_loses_its_scheduler_again_and_again_waits_until_it_is_due(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    lost(bench, times=MOST_LOST)
    (run,) = scheduler.run_due()
    assert "does not begin again before it is due again" in (run.error or "")
    assert (RunStatus.INTERRUPTED, [run]) == (run.status, bench.runs())


def test_a_run_that_was_lost_has_all_its_retries(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "retries": 1, "retry-after": "PT1M"}})
    scheduler.define()
    lost(bench)
    bench.runner.outcomes["nightly"] = [FAILED]
    assert [RunStatus.FAILED] == [run.status for run in scheduler.run_due()]
    bench.clock.pass_(minutes=1)
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, 2, 1) == (run.status, run.occasion.attempt, run.occasion.lost)


def test_a_run_that_is_lost_after_failures_begins_again(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "retries": 2}})
    scheduler.define()
    lost(bench, attempt=3)
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, 3, 1) == (run.status, run.occasion.attempt, run.occasion.lost)


def test_a_run_that_was_lost_begins_again_in_the_same_look_by_a_clock_that_runs(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    lost(bench)
    scheduler.clock = Ticking(bench.clock)
    assert [RunStatus.SUCCEEDED] == [run.status for run in scheduler.run_due()]


class Ticking:
    """A clock that is later each time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def __call__(self) -> datetime:
        self.clock.pass_(seconds=1)
        return self.clock()


def test_a_scheduler_does_not_take_its_own_runs_for_lost(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    gone = lost(bench)
    for mine, expected in (([gone.id], RunStatus.RUNNING), ([], RunStatus.INTERRUPTED)):
        scheduler._take_over_lost(SimpleNamespace(runs=frozenset(mine)))  # type: ignore[arg-type]
        assert [expected] == [run.status for run in bench.runs()]


def test_a_scheduler_leaves_lost_runs_alone_that_another_file_began(bench: Bench) -> None:
    new = bench.scheduler({"nightly": {"every": "PT1H", "retries": 5}})
    new.define()
    lost(bench)
    old = bench.scheduler(HOURLY)
    old._take_over_lost(SimpleNamespace(runs=frozenset()))  # type: ignore[arg-type]
    assert [RunStatus.RUNNING] == [run.status for run in bench.runs()]
    new._take_over_lost(SimpleNamespace(runs=frozenset()))  # type: ignore[arg-type]
    assert [RunStatus.INTERRUPTED] == [run.status for run in bench.runs()]


def test_after_a_store_was_away_nobody_is_lost_for_as_long_as_a_lease(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks, seconds, at = bench.store.due_jobs, [], [0.0], list[float]()
    scheduler = bench.scheduler(HOURLY, lease="PT2M")
    scheduler.elapsed = lambda: seconds[0]

    def away_first(*arguments: object, **named: object) -> object:
        looks.append(arguments)
        if len(looks) == 1:
            raise StoreError("the database is away")
        seconds[0] += 50
        return look(*arguments, **named)  # type: ignore[arg-type]

    def lost_runs(schedule: str) -> list[JobRun]:
        at.append(seconds[0])
        if seconds[0] > 200:
            scheduler.stopping.set()
        return []

    monkeypatch.setattr(bench.store, "due_jobs", away_first)
    monkeypatch.setattr(bench.store, "lost_runs", lost_runs)
    monkeypatch.setattr("nessie_gc_core.services.schedule.scheduler.LOOK_SECONDS", 0.01)
    scheduler.run_forever()
    assert [0, 150, 200, 250] == at


def test_a_scheduler_leaves_a_job_alone_whose_options_changed(bench: Bench) -> None:
    old = bench.scheduler({"nightly": {"every": "PT1H", "options": {"default-cutoff": "P7D"}}})
    old.define()
    new = bench.scheduler({"nightly": {"every": "PT1H", "options": {"default-cutoff": "P30D"}}})
    new.define()
    bench.clock.pass_(hours=1)
    with Pool(1) as pool:
        old._start_due(pool, bench.clock())
        assert 0 == pool.running
    assert [MIDNIGHT + HOUR] == [run.occasion.due for run in new.run_due()]


def test_s27_a_scheduler_leaves_a_job_alone_if_the_top_of_its_file_is_another_one(bench: Bench) -> None:
    old = bench.scheduler(HOURLY, top={"allow": ["s3://lake/"]})
    old.define()
    new = bench.scheduler(HOURLY, top={"allow": ["s3://lake/warehouse/"]})
    new.define()
    bench.clock.pass_(hours=1)
    with Pool(1) as pool:
        old._start_due(pool, bench.clock())
        assert 0 == pool.running
    assert [MIDNIGHT + HOUR] == [run.occasion.due for run in new.run_due()]


def test_a_scheduler_adds_its_jobs_again_if_the_store_was_emptied(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.store.define_jobs("default", [])
    scheduler._tend()
    assert "nightly" == bench.job().name


def test_s27_a_job_that_a_newer_file_only_removed_does_not_run_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    old = bench.scheduler({"kept": {"every": "PT1H"}, "removed": {"every": "PT1H"}})
    old.define()
    bench.scheduler({"kept": {"every": "PT1H"}}).define()
    old._tend()
    bench.clock.pass_(hours=1)
    with Pool(2) as pool:
        old._start_due(pool, bench.clock())
    assert ["kept"] == [name for name, _ in bench.runner.started]
    assert "(such as removed): is another file, or an older one, used" in caplog.text


def test_a_scheduler_leaves_jobs_alone_that_another_file_defines(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    old = bench.scheduler({"nightly": {"every": "PT1H"}})
    old.define()
    new = bench.scheduler({"nightly": {"every": "PT24H"}})
    new.define()
    bench.clock.pass_(hours=24)
    old._tend()
    with Pool(1) as pool:
        old._start_due(pool, bench.clock())
        assert 0 == pool.running
    assert "is another file, or an older one, used for the same schedule?" in caplog.text
    assert 1 == len(new.run_due())


def test_s27_a_start_that_replaces_jobs_of_another_file_says_which(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.scheduler({"changed": {"every": "PT1H"}, "gone": {"every": "PT1H"}, "same": {"every": "PT1H"}}).define()
    bench.scheduler({"changed": {"every": "PT2H"}, "new": {"every": "PT1H"}, "same": {"every": "PT1H"}}).define()
    (said,) = caplog.messages
    assert "this start replaces the jobs of the schedule 'default' in the store" in said
    assert "(other: changed, gone; added: new)" in said


def test_a_start_with_the_same_file_replaces_nothing_also_after_a_job_was_triggered(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H"}, "other": {"every": "PT1H"}})
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    scheduler.define()
    bench.scheduler({"nightly": {"every": "PT1H"}, "other": {"every": "PT1H"}}).define()
    assert [] == caplog.messages


def test_a_job_is_paused_without_touching_those_of_another_file(bench: Bench) -> None:
    bench.scheduler(HOURLY).define()
    other = bench.scheduler({"other": {"every": "PT1H"}})
    pause(bench.store, other.definition, "other", paused=True, now=bench.clock())
    assert {"nightly": False, "other": True} == {job.name: job.paused for job in bench.store.jobs("default")}


# ---- people ---------------------------------------------------------------------------------------------
def test_a_paused_job_does_not_run_and_runs_once_when_it_is_resumed(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    pause(bench.store, scheduler.definition, "nightly", paused=True, now=bench.clock())
    bench.clock.pass_(hours=5)
    assert [] == scheduler.run_due()
    with pytest.raises(ConfigurationError, match="is paused; resume it first"):
        trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    pause(bench.store, scheduler.definition, "nightly", paused=False, now=bench.clock())
    assert 1 == len(scheduler.run_due())


def test_s27_a_job_that_an_older_file_removed_is_still_paused_when_the_right_one_comes_back(bench: Bench) -> None:
    jobs = {"nightly": {"cron": "@daily"}, "other": {"cron": "@daily"}}
    scheduler = bench.scheduler(jobs)
    scheduler.define()
    pause(bench.store, scheduler.definition, "nightly", paused=True, now=bench.clock())
    bench.scheduler({"other": jobs["other"]}).run_due()
    scheduler.define()
    bench.clock.pass_(days=1)
    assert ["other"] == [run.job for run in scheduler.run_due()]
    assert bench.job().paused


def test_a_job_that_is_triggered_runs_now_and_again_when_it_is_due(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    bench.clock.pass_(minutes=30)
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    assert [True] == [run.occasion.by_hand for run in scheduler.run_due()]
    bench.clock.pass_(minutes=30)
    assert [False] == [run.occasion.by_hand for run in scheduler.run_due()]


def test_a_call_begins_with_its_definition_and_not_with_one_that_an_earlier_call_did_not_come_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = bench.scheduler({"newest": {"cron": "@daily"}})
    between = bench.scheduler({"between": {"cron": "@daily"}}).definition

    def look() -> ScheduleDefinition:
        scheduler.stopping.set()
        return between

    def away(*_: object) -> None:
        raise StoreError("the database is away")

    with monkeypatch.context() as patch:
        scheduler.define()
        patch.setattr(scheduler, "define", lambda: None)
        patch.setattr(scheduler.source, "look", look)
        patch.setattr(bench.store, "jobs", away)
        scheduler.run_forever()
    scheduler.stopping.clear()
    threading.Timer(0.2, scheduler.stopping.set).start()
    scheduler.run_forever()
    assert ["newest"] == [job.name for job in bench.store.jobs("default")]


# ---- clocks ---------------------------------------------------------------------------------------------
def test_a_job_that_is_triggered_goes_on_with_what_an_earlier_run_has_begun(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [FAILED]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "retries": 1, "retry-after": "PT5H"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    (run,) = scheduler.run_due()
    assert (True, True, 1) == (run.occasion.by_hand, run.occasion.begun, run.occasion.attempt)


def test_a_clock_that_goes_back_runs_nothing_twice(bench: Bench) -> None:
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.clock.pass_(hours=1)
    scheduler.run_due()
    bench.clock.pass_(minutes=-10)
    again = bench.scheduler(HOURLY)
    assert [] == again.run_due()
    bench.clock.pass_(minutes=10)
    assert [] == again.run_due()
    bench.clock.pass_(hours=1)
    again.run_due()
    assert [MIDNIGHT + HOUR, MIDNIGHT + 2 * HOUR] == bench.runner.dues()


def test_a_clock_that_was_a_year_ahead_makes_no_job_wait_for_a_year(bench: Bench) -> None:
    bench.clock.pass_(days=365)
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.clock.pass_(hours=1)
    scheduler.run_due()
    bench.clock.now = MIDNIGHT
    right = bench.scheduler(HOURLY)
    right.run_due()
    bench.clock.pass_(hours=1)
    assert [MIDNIGHT + HOUR] == [run.occasion.due for run in right.run_due()]


@pytest.mark.parametrize(
    ("cron", "zone", "evening"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-10-24 20:00"),
        ("30 1 * * *", "America/New_York", "2026-11-01 00:00"),
        ("45 23 * * *", "Africa/Cairo", "2026-10-29 14:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-28 20:00"),
    ],
)
def test_in_the_night_in_which_clocks_change_a_nightly_job_runs_once(
    bench: Bench, cron: str, zone: str, evening: str
) -> None:
    bench.clock.now = datetime.fromisoformat(evening).replace(tzinfo=UTC)
    bench.runner.on_start = lambda: bench.clock.pass_(minutes=2)
    scheduler = bench.scheduler({"nightly": {"cron": cron}}, time_zone=zone)
    scheduler.elapsed = lambda: bench.clock().timestamp()  # so that it looks after clocks, too
    scheduler.define()
    for _ in range(12 * 60 // 5):
        bench.clock.pass_(minutes=5)
        scheduler.run_due()
    assert 1 == len(bench.runs())


def test_a_job_whose_timing_changed_is_due_as_it_says_now(bench: Bench) -> None:
    bench.scheduler({"nightly": {"every": "PT24H"}}).define()
    scheduler = bench.scheduler(HOURLY)
    scheduler.define()
    bench.clock.pass_(hours=1)
    assert 1 == len(scheduler.run_due())


# ---- outcomes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["stopped", "failed", "triggered", "overdue"])
def test_what_waits_still_comes_when_the_timing_of_its_job_changes(bench: Bench, how: str) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "retries": 1, "retry-after": "PT1H"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    if how in {"stopped", "failed"}:
        bench.runner.outcomes["nightly"] = [None if how == "stopped" else FAILED]
        bench.runner.on_start = scheduler.stopping.set if how == "stopped" else lambda: None
        scheduler.run_due()
    elif how == "triggered":
        trigger(bench.store, scheduler.definition, "nightly", at=bench.clock())
    bench.clock.pass_(hours=1)
    (run,) = bench.scheduler({"nightly": {"cron": "0 5 * * *"}}).run_due()
    assert (RunStatus.SUCCEEDED, MIDNIGHT + timedelta(days=1)) == (run.status, run.occasion.due)
    next_ = bench.job().next
    assert next_ is not None
    assert MIDNIGHT + timedelta(days=1, hours=5) == next_.starts


def test_old_outcomes_are_forgotten_but_the_newest_of_them(bench: Bench) -> None:
    bench.store.clock = bench.clock
    bench.scheduler(HOURLY, keep="P2D").define()
    for _ in range(5):
        bench.clock.pass_(days=1)
        bench.scheduler(HOURLY, keep="P2D").run_due()
    assert [MIDNIGHT + timedelta(days=day) for day in (2, 3, 4, 5)] == [run.started for run in bench.runs()]
