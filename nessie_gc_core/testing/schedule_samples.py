"""Jobs, occasions and runs for tests of schedule stores, and their fixtures."""

# ruff: noqa: D102 - the name of a fixture says what it gives
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.testing.demands import not_defined
from nessie_gc_core.testing.not_possible import NotPossible

OpenSchedules = Callable[[], ScheduleStore]
"""Opens a store."""
NOON = datetime(2026, 3, 1, 12, 0, 0, 123_457, tzinfo=UTC)
HOUR = timedelta(hours=1)
MOMENT = timedelta(milliseconds=200)
LONG = timedelta(hours=10)


def occasion(
    hours: int = 0, *, attempt: int = 1, by_hand: bool = False, begun: bool = False, lost: int = 0
) -> Occasion:
    """One that is due some hours after noon, and starts a minute later."""
    due = NOON + hours * HOUR
    return Occasion(
        due=due, starts=due + timedelta(minutes=1), attempt=attempt, by_hand=by_hand, begun=begun, lost=lost
    )


def job(name: str = "nightly", hours: int | None = 0, *, definition: str = "0123") -> ScheduledJob:
    """A job that is due some hours after noon."""
    found = None if hours is None else occasion(hours)
    return ScheduledJob(name=name, service="gc", timing="every hour", definition=definition, digest="d", next=found)


def run_of(found: ScheduledJob, *, started: datetime = NOON) -> JobRun:
    """A new run of a job, for its next occasion."""
    assert found.next is not None
    return JobRun(
        id=uuid4(),
        job=found.name,
        service=found.service,
        occasion=found.next,
        status=RunStatus.RUNNING,
        started=started,
        host="here",
        process=2**40,
    )


def done(run: JobRun, status: RunStatus = RunStatus.SUCCEEDED) -> JobRun:
    """The same when it is finished."""
    return replace(
        run,
        status=status,
        ended=run.started + HOUR,
        exit_code=0 if status is RunStatus.SUCCEEDED else 1,
        error=None if status is RunStatus.SUCCEEDED else "naïve 表 'x' % \\",
        numbers={"deleted.files": 3, "deleted.bytes": 2**50},
        report='{"deleted": "' + "表" * 70_000 + '"}',
    )


class ScheduleFixtures:
    """What all tests of schedule stores work with."""

    @pytest.fixture
    def open_schedules(self) -> OpenSchedules:
        raise not_defined("open_schedules")

    @pytest.fixture
    def unusable(self) -> Sequence[OpenSchedules] | NotPossible:
        raise not_defined("unusable", situation=True)

    @pytest.fixture
    def schedules(self, open_schedules: OpenSchedules) -> Iterator[ScheduleStore]:
        with open_schedules() as opened:
            yield opened

    @pytest.fixture
    def schedule(self) -> str:
        return f"schedule 表 {uuid4()}"


def the_job(schedules: ScheduleStore, schedule: str, name: str = "nightly") -> ScheduledJob:
    """A job as the store has it."""
    (found,) = (each for each in schedules.jobs(schedule) if each.name == name)
    return found


def started(schedules: ScheduleStore, schedule: str, found: ScheduledJob, *, lease: timedelta = LONG) -> JobRun:
    """Defines a job as the only one, and starts a run of it."""
    schedules.define_jobs(schedule, [found])
    run = run_of(found)
    assert schedules.start_run(schedule, run, then=occasion(24), lease=lease)
    return run
