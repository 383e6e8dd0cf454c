"""The last run of each job and status, found by one look into an index for each of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, Select, func, select, tuple_

from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_jdbc.tables import DIGEST_BYTES, job_runs, jobs

_ENDS = [status for status in RunStatus if status is not RunStatus.RUNNING]
"""What becomes of runs."""


def last_run_keys(*, above: bytes, upto: bytes, by_rows: bool) -> Select[Any]:
    """Of each job its key, and for each status the key of its last run, ``NULL`` if there is none.

    Args:
        above: only runs whose keys are greater; the later a run, the less is its key.
        upto: only those whose keys are not greater than this.
        by_rows: compares rows instead of columns. PostgreSQL then takes the index of jobs, whatever its statistics
            say; by columns, it may walk through all runs of a status for each job.
    """
    last = (_last(status, above, upto, by_rows=by_rows).label(status.value) for status in _ENDS)
    return select(jobs.c.job_key, *last).where(jobs.c.removed == 0)


def _last(status: RunStatus, above: bytes, upto: bytes, *, by_rows: bool) -> ScalarSelect[bytes]:
    columns, job = job_runs.c, func.substr(jobs.c.job_key, DIGEST_BYTES + 1)
    mine: tuple[ColumnElement[bool], ...] = (
        columns.job_digest == job,
        columns.status == status.value,
        columns.run_key > above,
        columns.run_key <= upto,
    )
    order = [columns.job_digest, columns.status, columns.run_key]
    if by_rows:
        mine = (
            tuple_(*order) > tuple_(job, status.value, above),
            tuple_(*order) <= tuple_(job, status.value, upto),
        )
    return select(columns.run_key).where(*mine).order_by(*order).limit(1).scalar_subquery()
