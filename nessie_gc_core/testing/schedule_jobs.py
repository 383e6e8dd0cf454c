"""Tests of schedule stores: jobs, and for when they are due."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_core.testing.demands import demands, possible
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.schedule_samples import (
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


class JobTests(ScheduleFixtures):
    """What a store knows of jobs."""

    @demands("Jobs come back as they were defined, each once, and belong to one schedule.")
    def test_jobs_come_back_as_they_were_defined(self, schedules: ScheduleStore, schedule: str) -> None:
        odd = replace(
            job("naïve 表 'x' % \\" * 30, None),
            timing="*/5 * * * *" * 40,
            paused=True,
            last=NOON,
            outcome=RunStatus.FAILED,
        )
        zone = timezone(timedelta(hours=5, minutes=30))
        abroad = replace(occasion(3), due=NOON.astimezone(zone), starts=NOON.astimezone(zone))
        schedules.define_jobs(schedule, [job(), odd, replace(job("abroad"), next=abroad)])
        schedules.define_jobs(schedule + "2", [job("elsewhere")])
        assert {"nightly": job(), odd.name: odd, "abroad": replace(job("abroad"), next=abroad)} == {
            each.name: each for each in schedules.jobs(schedule)
        }
        assert [job("elsewhere")] == list(schedules.jobs(schedule + "2"))
        assert list(schedules.jobs(schedule + "3")) == []

    @demands("define_jobs: a job with the same definition keeps its next occasion, and takes the rest.")
    def test_a_job_that_did_not_change_keeps_its_next_occasion(self, schedules: ScheduleStore, schedule: str) -> None:
        schedules.define_jobs(schedule, [job()])
        schedules.define_jobs(schedule, [replace(job(hours=7), service="mark", timing="hourly", digest="e")])
        assert replace(job(), service="mark", timing="hourly", digest="e") == the_job(schedules, schedule)

    @demands("define_jobs: another definition brings another next occasion; paused, last and the run of a job stay.")
    def test_a_job_that_changed_takes_its_new_occasion_and_stays_paused(
        self, schedules: ScheduleStore, schedule: str
    ) -> None:
        run = started(schedules, schedule, job())
        schedules.set_paused(schedule, "nightly", paused=True)
        changed = job(hours=7, definition="4567")
        schedules.define_jobs(schedule, [changed])
        assert replace(changed, paused=True, last=NOON, run=run.id) == the_job(schedules, schedule)

    @demands("define_jobs: what waits stays, or it is lost: by hand, for another run, or due at the instant given.")
    def test_a_job_that_changed_keeps_an_occasion_that_waits(self, schedules: ScheduleStore, schedule: str) -> None:
        repeated = occasion(2, begun=True), occasion(2, attempt=2)
        waiting = {"by hand": occasion(2, by_hand=True), "begun": repeated[0], "again": repeated[1], "due": occasion()}
        known = [replace(job(name), next=next_) for name, next_ in waiting.items()]
        schedules.define_jobs(schedule, [*known, job("later", 2), job("never", None)])
        changed = [job(name, 7, definition="4567") for name in (*waiting, "later", "never")]
        schedules.define_jobs(schedule, changed, at=occasion().starts)
        assert {each.name: replace(each, next=waiting.get(each.name, each.next)) for each in changed} == {
            each.name: each for each in schedules.jobs(schedule)
        }

    @demands("define_jobs: jobs that are not given are removed, and their runs stay.")
    def test_jobs_that_are_not_given_go_and_their_runs_stay(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job())
        assert schedules.finish_run(schedule, done(run))
        schedules.define_jobs(schedule, [job("other")])
        assert [job("other")] == list(schedules.jobs(schedule))
        assert [run.id] == [each.id for each in schedules.runs(schedule)]

    @demands("define_jobs: a job that comes back while a run of it is going on has that run, or it runs twice.")
    def test_a_job_that_comes_back_while_it_runs_has_its_run(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job())
        schedules.define_jobs(schedule, [])
        schedules.define_jobs(schedule, [job()])
        assert run.id == the_job(schedules, schedule).run
        assert not schedules.start_run(schedule, run_of(job()), then=None, lease=timedelta(hours=1))
        assert schedules.finish_run(schedule, done(run))
        assert the_job(schedules, schedule).run is None

    @demands("define_jobs, add_job: a job that was removed while it was paused is paused if it comes back.")
    @pytest.mark.parametrize("adds", [False, True])
    def test_a_job_that_comes_back_is_still_paused(
        self, schedules: ScheduleStore, schedule: str, *, adds: bool
    ) -> None:
        def come_back() -> None:
            schedules.define_jobs(schedule, [job("other")])
            assert [job("other")] == list(schedules.jobs(schedule))
            assert not schedules.set_paused(schedule, "nightly", paused=False)
            assert not schedules.set_next(schedule, "nightly", seen=None, then=occasion())
            if adds:
                schedules.add_job(schedule, job(hours=5, definition="4567"))
            else:
                schedules.define_jobs(schedule, [job("other"), job(hours=5, definition="4567")])

        schedules.define_jobs(schedule, [job(), job("other")])
        schedules.set_paused(schedule, "nightly", paused=True)
        for paused in (True, False):
            come_back()
            assert job(hours=5, definition="4567") == replace(the_job(schedules, schedule), paused=False)
            assert paused is the_job(schedules, schedule).paused
            assert schedules.set_paused(schedule, "nightly", paused=False)

    @demands("add_job: adds a job if there is none of its name, with its run; changes and removes no other.")
    def test_a_job_is_added_beside_the_others(self, schedules: ScheduleStore, schedule: str) -> None:
        run = started(schedules, schedule, job())
        schedules.define_jobs(schedule, [job("other")])
        for hours in (3, 7):
            schedules.add_job(schedule, job(hours=hours, definition=str(hours)))
        assert {"other": job("other"), "nightly": replace(job(hours=3, definition="3"), run=run.id)} == {
            each.name: each for each in schedules.jobs(schedule)
        }

    @demands("due_jobs: those that may start, the longest waiting first; no paused, running or never due ones.")
    def test_due_jobs_are_those_that_may_start_the_longest_waiting_first(
        self, schedules: ScheduleStore, schedule: str
    ) -> None:
        many = [job(f"job {hours}", hours) for hours in (3, 1, 2, 5)]
        schedules.define_jobs(schedule, [*many, job("paused", 0), job("never", None), job("running", 0)])
        schedules.set_paused(schedule, "paused", paused=True)
        assert schedules.start_run(schedule, run_of(job("running", 0)), then=occasion(0), lease=timedelta(hours=1))
        due = schedules.due_jobs(schedule, at=occasion(3).starts, limit=10)
        assert [job("job 1", 1), job("job 2", 2), job("job 3", 3)] == due
        assert due[:2] == schedules.due_jobs(schedule, at=occasion(4).starts, limit=2)
        assert schedules.due_jobs(schedule, at=occasion(1).due, limit=10) == []

    @demands("set_paused: a paused job is not due, and resumes with the occasion that it had.")
    def test_a_job_that_is_resumed_has_the_occasion_that_it_had(self, schedules: ScheduleStore, schedule: str) -> None:
        schedules.define_jobs(schedule, [job()])
        assert schedules.set_paused(schedule, "nightly", paused=True)
        assert schedules.set_paused(schedule, "nightly", paused=True)
        assert replace(job(), paused=True) == the_job(schedules, schedule)
        assert schedules.set_paused(schedule, "nightly", paused=False)
        assert job() == the_job(schedules, schedule)
        assert not schedules.set_paused(schedule, "no such job", paused=True)

    @demands("set_next: compares with what the caller has seen, in one step; then the job is due for what is given.")
    def test_the_next_occasion_changes_only_if_it_was_seen(self, schedules: ScheduleStore, schedule: str) -> None:
        by_hand = occasion(2, attempt=3, by_hand=True, begun=True, lost=2)
        schedules.define_jobs(schedule, [job(), job("never", None)])
        others = (
            occasion(1),
            occasion(0, attempt=2),
            occasion(0, by_hand=True),
            occasion(0, begun=True),
            occasion(lost=1),
        )
        for seen in (None, *others):
            assert not schedules.set_next(schedule, "nightly", seen=seen, then=by_hand)
        assert schedules.set_next(schedule, "nightly", seen=occasion(), then=by_hand)
        assert replace(job(), next=by_hand) == the_job(schedules, schedule)
        assert schedules.set_next(schedule, "nightly", seen=by_hand, then=None)
        assert schedules.set_next(schedule, "never", seen=None, then=occasion(4))
        assert [None, occasion(4)] == [the_job(schedules, schedule, name).next for name in ("nightly", "never")]
        assert not schedules.set_next(schedule, "no such job", seen=None, then=None)

    @demands("S15: an unusable store never counts as empty. Raise StoreError or ConfigurationError, in one line.")
    def test_schedules_that_cannot_be_used_are_an_error_and_not_empty(
        self, schedules: ScheduleStore, unusable: Sequence[OpenSchedules] | NotPossible
    ) -> None:
        for open_unusable in possible(unusable, "unusable", schedules):
            for act in (
                lambda store: list(store.jobs("s")),
                lambda store: store.define_jobs("s", [job()]),
                lambda store: list(store.runs("s")),
                lambda store: list(store.last_runs("s", until=NOON)),
                lambda store: store.renew_run("s", uuid4(), lease=timedelta(hours=1)),
            ):
                with pytest.raises((StoreError, ConfigurationError)) as caught, open_unusable() as opened:
                    act(opened)
                assert len(str(caught.value).splitlines()) == 1
