"""Tests of schedule stores: who has a job, and what became of its runs."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.schedule_samples import (
    HOUR,
    LONG,
    MOMENT,
    NOON,
    OpenSchedules,
    ScheduleFixtures,
    done,
    job,
    occasion,
    run_of,
    started,
    the_job,
)


class RunTests(ScheduleFixtures):
    """What a store knows of runs."""

    # ---- start ----------------------------------------------------------------------------------------
    @demands("start_run: the run is recorded, the job is its, is due for what comes then, and its last is set.")
    def test_a_run_that_starts_has_its_job(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job())
        assert run == schedules.run(schedule, run.id)
        assert replace(job(), next=occasion(24), last=NOON, run=run.id) == the_job(schedules, schedule)
        assert schedules.due_jobs(schedule, at=NOON + 999 * HOUR, limit=9) == []

    @demands("start_run: false, and nothing is changed, unless the job is there, free, and due for this occasion.")
    @pytest.mark.parametrize(
        "other",
        [
            occasion(1),
            occasion(0, attempt=2),
            occasion(0, by_hand=True),
            occasion(0, begun=True),
            occasion(0, lost=1),
            replace(occasion(), starts=NOON),
        ],
        ids=str,
    )
    def test_a_run_for_another_occasion_does_not_start(
        self, schedules: ScheduleStore, schedule: str, other: Occasion
    ) -> None:
        schedules.define_jobs(schedule, [job()])
        assert not schedules.start_run(schedule, replace(run_of(job()), occasion=other), then=None, lease=LONG)
        assert not schedules.start_run(schedule, replace(run_of(job()), job="other"), then=None, lease=LONG)
        assert not schedules.start_run(schedule + "2", run_of(job()), then=None, lease=LONG)
        schedules.set_paused(schedule, "nightly", paused=True)
        assert not schedules.start_run(schedule, run_of(job()), then=None, lease=LONG)
        assert replace(job(), paused=True) == the_job(schedules, schedule)
        assert list(schedules.runs(schedule)) == []

    @demands("start_run: of several that want a job at once, one gets it. Compare and set in one step.")
    def test_of_many_schedulers_one_starts_a_job(self, open_schedules: OpenSchedules, schedule: str) -> None:
        with open_schedules() as one, open_schedules() as other, ThreadPoolExecutor(4) as pool:

            def start(store: ScheduleStore, run: JobRun) -> bool:
                return store.start_run(schedule, run, then=None, lease=LONG)

            for number in range(5):
                found = job(hours=number, definition=str(number))
                one.define_jobs(schedule, [found])
                taken = pool.map(start, (one, other, one, other), [run_of(found) for _ in range(4)])
                assert sum(taken) == 1
                (running,) = one.runs(schedule, statuses=[RunStatus.RUNNING])
                assert one.finish_run(schedule, done(running))

    @demands("start_run: a run that has ended already is only recorded: the job stays free, and moves on.")
    def test_a_skipped_run_is_recorded_and_leaves_the_job_free(self, schedules: ScheduleStore, schedule: str) -> None:
        schedules.define_jobs(schedule, [job()])
        skipped = replace(run_of(job()), status=RunStatus.SKIPPED, ended=NOON, error="too late")
        assert schedules.start_run(schedule, skipped, then=occasion(1), lease=LONG)
        expected = replace(job(), next=occasion(1), last=NOON, outcome=RunStatus.SKIPPED)
        assert expected == the_job(schedules, schedule)
        assert [skipped] == list(schedules.runs(schedule))
        assert not schedules.renew_run(schedule, skipped.id, lease=LONG)
        assert schedules.lost_runs(schedule) == []

    @demands("start_run: last is the latest due of all runs; an earlier one leaves it.")
    def test_the_last_occasion_is_the_latest(self, schedules: ScheduleStore, schedule: str) -> None:
        later = replace(job(), last=NOON + HOUR)
        started(schedules, schedule, later)
        assert the_job(schedules, schedule).last == NOON + HOUR

    # ---- lease ----------------------------------------------------------------------------------------
    @demands("renew_run: a run keeps its job as long as it renews its lease in time; an expired lease is lost.")
    def test_a_lease_is_renewed_until_it_expires(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job(), lease=HOUR)
        assert schedules.renew_run(schedule, run.id, lease=LONG)
        assert schedules.lost_runs(schedule) == []
        assert schedules.renew_run(schedule, run.id, lease=MOMENT)
        time.sleep(2 * MOMENT.total_seconds())
        assert not schedules.renew_run(schedule, run.id, lease=LONG)
        assert [run.id] == [each.id for each in schedules.lost_runs(schedule)]
        assert run.id == the_job(schedules, schedule).run
        assert not schedules.renew_run(schedule, uuid4(), lease=LONG)

    @demands("finish_run with lost: only a run whose lease has expired; somebody else's work is never taken away.")
    def test_only_a_lost_run_is_finished_by_somebody_else(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job(), lease=LONG)
        interrupted = done(run, RunStatus.INTERRUPTED)
        assert not schedules.finish_run(schedule, interrupted, lost=True)
        assert run == schedules.run(schedule, run.id)
        assert schedules.renew_run(schedule, run.id, lease=MOMENT)
        time.sleep(2 * MOMENT.total_seconds())
        again = occasion(2, attempt=2)
        assert schedules.finish_run(schedule, interrupted, lost=True, retry=again)
        assert not schedules.finish_run(schedule, interrupted, lost=True)
        assert interrupted == schedules.run(schedule, run.id)
        expected = replace(job(), next=again, last=NOON, outcome=RunStatus.INTERRUPTED)
        assert expected == the_job(schedules, schedule)
        assert schedules.lost_runs(schedule) == []

    @demands("finish_run with lost: of several that find a lost run at once, one takes it over.")
    def test_of_many_schedulers_one_takes_over_a_lost_run(self, open_schedules: OpenSchedules, schedule: str) -> None:
        with open_schedules() as one, open_schedules() as other, ThreadPoolExecutor(4) as pool:

            def take_over(store: ScheduleStore, run: JobRun) -> bool:
                again = replace(run.occasion, attempt=2)
                return store.finish_run(schedule, done(run, RunStatus.INTERRUPTED), lost=True, retry=again)

            for number in range(3):
                run = started(one, schedule, job(f"job {number}", number), lease=MOMENT)
                time.sleep(2 * MOMENT.total_seconds())
                assert sum(pool.map(take_over, (one, other, one, other), [run] * 4)) == 1
                (after,) = one.jobs(schedule)
                assert (after.outcome, after.next and after.next.attempt) == (RunStatus.INTERRUPTED, 2)

    # ---- end ------------------------------------------------------------------------------------------
    @demands("finish_run: the outcome comes back complete, whatever its text, and the job is free again.")
    @pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT])
    def test_an_outcome_comes_back_as_it_was(self, schedules: ScheduleStore, schedule: str, status: RunStatus) -> None:
        run = started(schedules, schedule, job())
        assert schedules.finish_run(schedule, done(run, status))
        assert done(run, status) == schedules.run(schedule, run.id)
        assert replace(job(), next=occasion(24), last=NOON, outcome=status) == the_job(schedules, schedule)
        assert not schedules.finish_run(schedule, done(run, RunStatus.INTERRUPTED))
        assert not schedules.renew_run(schedule, run.id, lease=LONG)
        assert done(run, status) == schedules.run(schedule, run.id)
        assert schedules.run(schedule, uuid4()) is None
        assert schedules.run(schedule + "2", run.id) is None

    @demands("finish_run with retry: another attempt is due then, unless the job starts no later anyway.")
    def test_another_attempt_is_due_unless_the_job_is_sooner(self, schedules: ScheduleStore, schedule: str) -> None:
        for retry, expected in (
            (occasion(23, attempt=2), occasion(23, attempt=2)),
            (occasion(25, attempt=2), occasion(24)),
        ):
            schedules.define_jobs(schedule, [])
            run = started(schedules, schedule, job())
            assert schedules.finish_run(schedule, done(run, RunStatus.FAILED), retry=retry)
            assert expected == the_job(schedules, schedule).next
        schedules.define_jobs(schedule, [job("once")])
        run = run_of(job("once"))
        assert schedules.start_run(schedule, run, then=None, lease=LONG)
        assert schedules.finish_run(schedule, done(run, RunStatus.FAILED), retry=occasion(99))
        assert occasion(99) == the_job(schedules, schedule, "once").next

    # ---- history --------------------------------------------------------------------------------------
    @demands("runs: those of one schedule that were asked for, each once, latest first, without reports.")
    def test_history_has_what_was_asked_for_latest_first(self, schedules: ScheduleStore, schedule: str) -> None:
        many = [self._finished(schedules, schedule, hours) for hours in (2, 0, 3, 1)]
        latest = sorted((replace(run, report=None) for run in many), key=lambda run: run.started, reverse=True)
        assert latest == list(schedules.runs(schedule))
        assert list(schedules.runs(schedule + "2")) == []
        assert latest[1:3] == list(schedules.runs(schedule, since=NOON + HOUR, until=NOON + 3 * HOUR))
        assert latest[:1] == list(schedules.runs(schedule, jobs=["job 3", "no such job"]))
        failed = [run for run in latest if run.status is RunStatus.FAILED]
        assert failed == list(schedules.runs(schedule, statuses=[RunStatus.FAILED, RunStatus.TIMED_OUT]))
        assert latest[:2] == list(schedules.runs(schedule, limit=2))
        both = [RunStatus.FAILED, RunStatus.SUCCEEDED]
        assert latest[1:3] == list(schedules.runs(schedule, statuses=both, until=NOON + 3 * HOUR, limit=2))
        some = ["job 0", "job 1", "job 2"]
        assert failed[1:] == list(schedules.runs(schedule, jobs=some, statuses=[RunStatus.FAILED], limit=2))

    @demands("runs: there may be many, also at the same instant. Page by a key that is unique.")
    def test_history_may_be_long_and_at_one_instant(self, schedules: ScheduleStore, schedule: str) -> None:
        ids = set()
        for number in range(40):
            skipped = replace(run_of(job(hours=number)), status=RunStatus.SKIPPED, ended=NOON)
            schedules.define_jobs(schedule, [job(hours=number, definition=str(number))])
            assert schedules.start_run(schedule, skipped, then=None, lease=LONG)
            ids.add(skipped.id)
        assert sorted(ids) == sorted(run.id for run in schedules.runs(schedule))

    @demands(
        "last_runs: of each job of this schedule, and of each status, the run that started last, each once, without "
        "reports; no run that is going on."
    )
    def test_the_last_runs_are_those_of_each_job_and_status(self, schedules: ScheduleStore, schedule: str) -> None:
        hours, others = ("a", "a", "a", "a", "b"), (schedule + "2", "removed")
        mine = [self._finished(schedules, schedule, hour, name) for hour, name in enumerate(hours)]
        self._finished(schedules, others[0], 8, "a")
        self._finished(schedules, schedule, 8, others[1])
        assert schedules.set_paused(schedule, others[1], paused=True)
        going_on = job("going on")
        schedules.define_jobs(schedule, [job("a"), job("b"), going_on])
        assert schedules.start_run(schedule, run_of(going_on), then=None, lease=LONG)

        def last(until: int) -> list[JobRun]:
            found = schedules.last_runs(schedule, until=NOON + until * HOUR)
            return sorted(found, key=lambda run: run.started)

        assert [replace(run, report=None) for run in mine[2:]] == last(9)
        assert [replace(run, report=None) for run in mine[1:3]] == last(3)
        assert list(schedules.last_runs(schedule + "3", until=NOON + 9 * HOUR)) == []

    @demands("now: the clock by which leases expire; it goes on, and is in UTC.")
    def test_the_time_is_that_by_which_leases_expire(self, schedules: ScheduleStore, schedule: str) -> None:
        before = schedules.now()
        run = started(schedules, schedule, job(), lease=MOMENT)
        time.sleep(2 * MOMENT.total_seconds())
        assert [run.id] == [lost.id for lost in schedules.lost_runs(schedule)]
        assert schedules.now() >= before + MOMENT
        assert before.utcoffset() == timedelta(0)

    @demands("forget_runs: removes old runs of this schedule and no others; those that are going on stay.")
    def test_old_runs_are_forgotten_but_those_that_are_going_on(self, schedules: ScheduleStore, schedule: str) -> None:
        for hours in (0, 1):
            self._finished(schedules, schedule, hours, "finished")
        old = self._finished(schedules, schedule, 2, "finished")
        stays = self._finished(schedules, schedule, 3, "finished")
        going_on = started(schedules, schedule, job())
        assert schedules.forget_runs(schedule + "2", before=stays.started) == 0
        assert schedules.forget_runs(schedule, before=stays.started) == 2
        assert {old.id, stays.id, going_on.id} == {run.id for run in schedules.runs(schedule)}
        assert schedules.forget_runs(schedule, before=stays.started) == 0

    @demands("forget_runs: of the old runs of each job, the newest stays, and the newest that succeeded.")
    def test_what_became_of_each_job_last_is_not_forgotten(self, schedules: ScheduleStore, schedule: str) -> None:
        went_well, went_wrong = RunStatus.SUCCEEDED, RunStatus.FAILED
        runs = [
            self._finished(schedules, schedule, hours, name, status)
            for hours, (name, status) in enumerate(
                [
                    ("a", went_well),
                    ("a", went_well),
                    ("a", went_wrong),
                    ("b", went_wrong),
                    ("c", went_wrong),
                    ("a", went_wrong),
                    ("c", went_well),
                ]
            )
        ]
        assert schedules.forget_runs(schedule, before=NOON + LONG) == 3
        assert {runs[each].id for each in (1, 3, 5, 6)} == {run.id for run in schedules.runs(schedule)}

    @staticmethod
    def _finished(
        schedules: ScheduleStore,
        schedule: str,
        hours: int,
        name: str | None = None,
        status: RunStatus | None = None,
    ) -> JobRun:
        found = job(name or f"job {hours}", hours, definition=str(hours))
        schedules.define_jobs(schedule, [found])
        run = run_of(found, started=NOON + timedelta(hours=hours))
        assert schedules.start_run(schedule, run, then=None, lease=LONG)
        finished = done(run, status or (RunStatus.FAILED if hours % 2 else RunStatus.SUCCEEDED))
        assert schedules.finish_run(schedule, finished)
        return finished
