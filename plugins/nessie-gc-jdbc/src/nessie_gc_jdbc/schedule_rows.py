"""Jobs and their runs as rows."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Row

from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_jdbc.problems import readable
from nessie_gc_jdbc.tables import (
    day_of,
    from_micros,
    key_of,
    optional_micros,
    optional_time,
    to_micros,
)

_LATEST = 2**63 - 1
_TIME_BYTES = 8


def time_key(schedule: str, time: datetime) -> bytes:
    """The beginning of the keys of the runs that started at a time; the later, the less."""
    return key_of(schedule) + (_LATEST - to_micros(time)).to_bytes(_TIME_BYTES)


def described(job: ScheduledJob) -> dict[str, str]:
    """The columns of a job that its definition decides."""
    return {"service": job.service, "timing": job.timing, "definition": job.definition, "digest": job.digest}


def job_row(schedule: str, job: ScheduledJob, run: str | None) -> dict[str, Any]:
    """The row of a new job, with the run of it that is not finished."""
    return {
        "job_key": key_of(schedule, job.name),
        "schedule": schedule,
        "name": job.name,
        **described(job),
        **next_of(job.next),
        "last": optional_micros(job.last),
        "outcome": job.outcome and job.outcome.value,
        "paused": int(job.paused),
        "run_id": run,
        "removed": 0,
    }


def next_of(occasion: Occasion | None) -> dict[str, int | None]:
    """The columns of an occasion."""
    if occasion is None:
        return {**dict.fromkeys(("due", "starts", "attempt", "by_hand")), "begun": 0, "lost": 0}
    return {
        "due": to_micros(occasion.due),
        "starts": to_micros(occasion.starts),
        "attempt": occasion.attempt,
        "by_hand": int(occasion.by_hand),
        "begun": int(occasion.begun),
        "lost": occasion.lost,
    }


def _occasion(row: Row[Any]) -> Occasion:
    return Occasion(
        due=from_micros(row.due),
        starts=from_micros(row.starts),
        attempt=row.attempt,
        by_hand=bool(row.by_hand),
        begun=bool(row.begun),
        lost=row.lost,
    )


def scheduled_job(row: Row[Any]) -> ScheduledJob:
    """The job of a row."""
    with readable(f"job {row.name}"):
        return ScheduledJob(
            name=row.name,
            service=row.service,
            timing=row.timing,
            definition=row.definition,
            digest=row.digest,
            next=None if row.due is None else _occasion(row),
            last=optional_time(row.last),
            outcome=None if row.outcome is None else RunStatus(row.outcome),
            paused=bool(row.paused),
            run=None if row.run_id is None else UUID(row.run_id),
        )


def run_row(schedule: str, run: JobRun) -> dict[str, Any]:
    """The row of a run."""
    return {
        "run_key": time_key(schedule, run.started) + run.id.hex.encode(),
        "run_id": str(run.id),
        "schedule": schedule,
        "job": run.job,
        "service": run.service,
        **next_of(run.occasion),
        "status": run.status.value,
        "started": to_micros(run.started),
        "ended": optional_micros(run.ended),
        "exit_code": run.exit_code,
        "error_message": run.error,
        "host": run.host,
        "process": run.process,
        "numbers": json.dumps(dict(run.numbers)),
        "report": run.report,
        "schedule_key": key_of(schedule),
        "job_digest": key_of(run.job),
        "day": day_of(run.started),
        "reclaimed": run.reclaimed,
    }


def job_run(row: Row[Any], report: str | None = None) -> JobRun:
    """The run of a row."""
    with readable(f"run {row.run_id} of job {row.job}"):
        return JobRun(
            id=UUID(row.run_id),
            job=row.job,
            service=row.service,
            occasion=_occasion(row),
            status=RunStatus(row.status),
            started=from_micros(row.started),
            ended=optional_time(row.ended),
            exit_code=row.exit_code,
            error=row.error_message,
            numbers=cast("dict[str, int]", parsed_json(row.numbers)),
            report=report,
            host=row.host,
            process=row.process,
        )
