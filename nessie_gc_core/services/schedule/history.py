"""Jobs and their runs as plain values."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.closing import first_of
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.model.text import json_time
from nessie_gc_core.model.times import Clock
from nessie_gc_core.services.schedule.outcome import body_of
from nessie_gc_core.services.schedule.timing import WRONG_CLOCK


def state_of(job: ScheduledJob, now: datetime, lost: Collection[UUID] = ()) -> str:
    """What a job does now, in a word or three.

    Args:
        job: the job.
        now: the current time.
        lost: the runs whose leases have expired, so that the next scheduler begins them again.
    """
    if job.run in lost:
        return "lost, then paused" if job.paused else "lost"
    if job.run is not None:
        return "running, then paused" if job.paused else "running"
    if job.paused:
        return "paused"
    return "due" if job.next is not None and job.next.starts <= now else "waiting"


def started_since(now: datetime, ago: timedelta) -> datetime | None:
    """The earliest start of runs that are asked for; ``None``: any, because it would be before the calendar begins."""
    try:
        return now - ago
    except OverflowError:
        return None


def last_success(store: ScheduleStore, schedule: str, job: str, *, clock: Clock) -> datetime | None:
    """When the last run of a job ended that succeeded; ``None``: the store knows none.

    Runs by a clock that was ahead do not count, because what came after them would seem to be earlier.

    Raises:
        StoreError: the store cannot be used.
    """
    latest = clock() + WRONG_CLOCK
    last = first_of(store.runs(schedule, jobs=[job], statuses=[RunStatus.SUCCEEDED], until=latest, limit=1))
    return None if last is None or last.ended is None or last.ended > latest else last.ended


def log_fields(run: JobRun) -> dict[str, str | int]:
    """What a log line about a run has as fields; with ``run``, ``schedule history`` shows its report."""
    return {
        "job": run.job,
        "run": str(run.id),
        "attempt": run.occasion.attempt,
        "status": run.status.value,
    }


def plain_job(job: ScheduledJob) -> dict[str, Any]:
    """A job as JSON has it."""
    return {
        "job": job.name,
        "service": job.service,
        "timing": job.timing,
        "next": None if job.next is None else _plain_occasion(job.next),
        "last": json_time(job.last),
        "outcome": None if job.outcome is None else job.outcome.value,
        "paused": job.paused,
        "run": None if job.run is None else str(job.run),
    }


def plain_run(run: JobRun) -> dict[str, Any]:
    """A run as JSON has it, with its report if it was read."""
    plain: dict[str, Any] = {
        "run": str(run.id),
        "job": run.job,
        "service": run.service,
        "status": run.status.value,
        "occasion": _plain_occasion(run.occasion),
        "started": json_time(run.started),
        "ended": json_time(run.ended),
        "seconds": None if run.ended is None else (run.ended - run.started).total_seconds(),
        "exit_code": run.exit_code,
        "error": run.error,
        "numbers": dict(run.numbers),
        "host": run.host,
        "process": run.process,
    }
    return plain if run.report is None else {**plain, "report": dict(body_of(run.report))}


def _plain_occasion(occasion: Occasion) -> dict[str, Any]:
    return {
        "due": json_time(occasion.due),
        "starts": json_time(occasion.starts),
        "attempt": occasion.attempt,
        "by_hand": occasion.by_hand,
        "begun": occasion.begun,
        "lost": occasion.lost,
    }
