"""The last run of each job and status, found by one look into an index for each of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ScalarSelect, Select, func, select

from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_jdbc.tables import DIGEST_BYTES, job_runs, jobs

_ENDS = [status for status in RunStatus if status is not RunStatus.RUNNING]
"""What becomes of runs."""


def last_run_keys(*, above: bytes, upto: bytes) -> Select[Any]:
    """Of each job its key, and for each status the key of its last run, ``NULL`` if there is none.

    Args:
        above: only runs whose keys are greater; the later a run, the less is its key.
        upto: only those whose keys are not greater than this.
    """
    last = (_last(status, above, upto).label(status.value) for status in _ENDS)
    return select(jobs.c.job_key, *last).where(jobs.c.removed == 0)


def _last(status: RunStatus, above: bytes, upto: bytes) -> ScalarSelect[bytes]:
    columns = job_runs.c
    mine = (
        columns.job_digest == func.substr(jobs.c.job_key, DIGEST_BYTES + 1),
        columns.status == status.value,
        columns.run_key > above,
        columns.run_key <= upto,
    )
    return select(columns.run_key).where(*mine).order_by(columns.run_key).limit(1).scalar_subquery()
