"""What a clock that was ahead has left behind in a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from nessie_gc_core.model.schedule import Occasion
from nessie_gc_core.services.schedule.conduct import LONGEST_PAUSE
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.quiet import quiet_until
from nessie_gc_core.services.schedule.timing import WRONG_CLOCK

_TOLERANCE = timedelta(hours=1)
"""Clocks of machines may differ by less; what waits for as long as it may is not begun too early for that."""


def mended(job: JobDefinition, next_: Occasion, *, last: datetime | None, now: datetime) -> Occasion:
    """The next occasion of a job as it would be if no clock had been ahead; the same if none was.

    After a clock that goes back by less than :data:`WRONG_CLOCK`, an occasion that was run does not come again.

    Args:
        job: the job.
        next_: its next occasion, as the store has it.
        last: the latest ``due`` of an occasion that was started.
        now: the current time.
    """
    if next_.by_hand and next_.due > now:
        return replace(next_, due=now, starts=now)
    soonest = now if next_.by_hand else quiet_until(job.quiet, now) or now
    if not next_.by_hand and next_.attempt == 1:
        expected = job.after(now if last is None or last - now >= WRONG_CLOCK else max(now, last))
        if next_.due > expected.due:
            return expected
        soonest = max(soonest, job.occasion(next_.due).starts)
    if next_.starts <= soonest + _longest_pause(job) + _TOLERANCE:
        return next_
    return replace(next_, due=min(next_.due, soonest), starts=soonest)


def _longest_pause(job: JobDefinition) -> timedelta:
    """For how long a run that ended may wait until it begins again."""
    return max(LONGEST_PAUSE, job.lease)
