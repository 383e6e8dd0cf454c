"""What the page of a schedule shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.quarantine import Quarantine
from nessie_gc_core.model.schedule import WENT_WRONG, JobRun, ScheduledJob

DAYS = 30
"""So many days are drawn."""
MOST_COUNTED = 100_000
"""So many of the latest runs are counted."""
MOST_RUNS = 50
"""So many of the latest runs are listed, and as many of those that went wrong."""
_RECLAIMED = ("deleted.bytes", "purged.bytes")
"""Numbers of reports that say how many bytes are gone for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The runs that started on one day, UTC."""

    day: date
    runs: int
    bad: int
    reclaimed: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFigures:
    """The jobs of a schedule, and the runs of the last :data:`DAYS`."""

    schedule: str
    now: datetime
    jobs: Sequence[ScheduledJob]
    """By name."""
    days: Sequence[Day]
    """The earliest first; today is the last."""
    latest: Sequence[JobRun]
    """The latest first."""
    bad: Sequence[JobRun]
    """Those that went wrong, the latest first."""
    quarantines: Sequence[Quarantine] = field(default=())
    """What is in quarantine, the next to end first."""

    @property
    def running(self) -> int:
        """How many jobs run now."""
        return sum(job.run is not None for job in self.jobs)

    @property
    def overdue(self) -> int:
        """How many jobs could have started for more than ten minutes."""
        late = self.now - timedelta(minutes=10)
        return sum(
            job.next is not None and not job.paused and job.run is None and job.next.starts < late for job in self.jobs
        )

    @property
    def most_reclaimed(self) -> int:
        """Bytes of the best day."""
        return max((day.reclaimed for day in self.days), default=0)

    @property
    def reclaimed(self) -> int:
        """Bytes of all days."""
        return sum(day.reclaimed for day in self.days)


def figures_of(
    store: ScheduleStore, schedule: str, *, now: datetime, quarantines: Iterable[Quarantine] = ()
) -> ScheduleFigures:
    """Reads the jobs and the runs of the last days, each once.

    Raises:
        StoreError: the store cannot be used.
    """
    today = now.date()
    counts = {today - timedelta(days=ago): [0, 0, 0] for ago in reversed(range(DAYS))}
    latest, bad = list[JobRun](), list[JobRun]()
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    for run in islice(store.runs(schedule, since=since), MOST_COUNTED):
        is_bad = run.status in WENT_WRONG
        if (count := counts.get(run.started.date())) is not None:
            count[0] += 1
            count[1] += is_bad
            count[2] += sum(run.numbers.get(name, 0) for name in _RECLAIMED)
        if len(latest) < MOST_RUNS:
            latest.append(run)
        if is_bad and len(bad) < MOST_RUNS:
            bad.append(run)
    days = [Day(day=day, runs=count[0], bad=count[1], reclaimed=count[2]) for day, count in counts.items()]
    return ScheduleFigures(
        schedule=schedule,
        now=now,
        jobs=sorted(store.jobs(schedule), key=lambda job: job.name),
        days=days,
        latest=latest,
        bad=bad,
        quarantines=sorted(quarantines, key=lambda each: (each.until, each.place)),
    )
