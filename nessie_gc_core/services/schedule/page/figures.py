"""What the page of a schedule shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.quarantine import Quarantine
from nessie_gc_core.model.schedule import WENT_WRONG, DayOfRuns, JobRun, ScheduledJob
from nessie_gc_core.services.schedule.page import assets
from nessie_gc_core.services.schedule.page.assets import AssetSightings, sightings_of
from nessie_gc_core.services.schedule.page.multiples import MOST_TABLES, TableSeries, multiples

DAYS = 30
"""So many days are shown, unless another number is given."""
MOST_BARS = 62
"""More bars than this would be too narrow for a phone: then each stands for a week."""
MOST_RUNS = 50
"""So many of the latest runs are listed, and as many of those that went wrong."""
FIRST_RUNS = 10
"""So many of them are seen at once."""
MOST_JOBS = 30
"""So many jobs are listed at once; first of all those that run, are due or went wrong, if there are more."""
MOST_MORE_JOBS = 500
"""So many more can be unfolded."""
MOST_QUARANTINES = 50
"""So many quarantines are listed: those that end next. The others are one sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The runs that started on one day, UTC, or on the days of a week."""

    first: date
    last: date
    runs: int
    bad: int
    """How many of them went wrong."""
    reclaimed: int
    """Bytes."""

    @property
    def name(self) -> str:
        """The day, or the first and the last one."""
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFigures:
    """The jobs of a schedule, and the runs of the last days."""

    schedule: str
    now: datetime
    days: int
    """How many days are shown, today included."""
    jobs: Sequence[ScheduledJob]
    """By name."""
    periods: Sequence[Period]
    """The earliest first; the last one ends today."""
    lost: Collection[UUID]
    """Runs whose scheduler is gone."""
    latest: Sequence[JobRun]
    """The latest first."""
    bad: Sequence[JobRun]
    """Those that went wrong, the latest first."""
    tables: Sequence[TableSeries] = ()
    """Those with the most bytes first, and all others together last."""
    assets: Sequence[AssetSightings] = ()
    """Unreferenced assets, by job."""
    quarantines: Sequence[Quarantine] = field(default=())
    """What is in quarantine, the next to end first."""
    problem: str | None = None
    """Why the scheduler cannot use its file, so that no run starts; ``None``: it can, or nobody knows."""

    @property
    def is_weekly(self) -> bool:
        """Whether a period is a week."""
        return self.days > MOST_BARS

    @property
    def lacks_report(self) -> bool:
        """Whether there are unreferenced assets of which no job reports how often they were seen."""
        services = {job.service for job in self.jobs}
        return assets.SERVICE not in services and not services.isdisjoint(assets.COUNTED)

    @property
    def more_reports(self) -> int:
        """How many jobs report on unreferenced assets and are not shown with them."""
        return max(0, sum(job.service == assets.SERVICE for job in self.jobs) - assets.MOST_REPORTS)

    @property
    def listed_jobs(self) -> Sequence[ScheduledJob]:
        """Those that matter most, by name."""
        if len(self.jobs) <= MOST_JOBS:
            return self.jobs
        return sorted(self._ranked[:MOST_JOBS], key=lambda job: job.name)

    @property
    def more_jobs(self) -> Sequence[ScheduledJob]:
        """Those that can be unfolded, by name."""
        rest = self._ranked[MOST_JOBS:] if len(self.jobs) > MOST_JOBS else []
        return sorted(rest[:MOST_MORE_JOBS], key=lambda job: job.name)

    @property
    def _ranked(self) -> list[ScheduledJob]:
        """Those that went wrong, then those that run or are due, then all others."""

        def rank(job: ScheduledJob) -> tuple[bool, bool, str]:
            is_quiet = job.run is None and (job.paused or job.next is None or job.next.starts > self.now)
            return job.outcome not in WENT_WRONG, is_quiet, job.name

        return sorted(self.jobs, key=rank)

    @property
    def running(self) -> int:
        """How many jobs run now."""
        return sum(job.run is not None and job.run not in self.lost for job in self.jobs)

    @property
    def overdue(self) -> int:
        """How many jobs could have started for more than ten minutes."""
        late = self.now - timedelta(minutes=10)
        return sum(
            job.next is not None and not job.paused and job.run is None and job.next.starts < late for job in self.jobs
        )

    @property
    def most_reclaimed(self) -> int:
        """Bytes of the best period."""
        return max((period.reclaimed for period in self.periods), default=0)

    @property
    def reclaimed(self) -> int:
        """Bytes of all periods."""
        return sum(period.reclaimed for period in self.periods)

    @property
    def listed_quarantines(self) -> Sequence[Quarantine]:
        """Those that end next."""
        return self.quarantines[:MOST_QUARANTINES]

    @property
    def more_quarantines(self) -> Sequence[Quarantine]:
        """All others."""
        return self.quarantines[MOST_QUARANTINES:]


def figures_of(
    store: ScheduleStore,
    schedule: str,
    *,
    now: datetime,
    days: int = DAYS,
    quarantines: Iterable[Quarantine] = (),
    problem: str | None = None,
) -> ScheduleFigures:
    """Reads the jobs, what the store sums of the last days, and the latest runs.

    Args:
        store: the store.
        schedule: the name of the schedule.
        now: the time.
        days: how many days are shown.
        quarantines: what is in quarantine.
        problem: why the scheduler cannot use its file.

    Raises:
        StoreError: the store cannot be used.
    """
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=days - 1)
    since = datetime.combine(first, time(), UTC)
    periods = [*_periods(store.days(schedule, since=first), first, today, 1 if days <= MOST_BARS else 7)]
    tables = store.table_days(schedule, since=first, most=MOST_TABLES)
    jobs = sorted(store.jobs(schedule), key=lambda job: job.name)
    return ScheduleFigures(
        schedule=schedule,
        now=now,
        days=days,
        jobs=jobs,
        lost={run.id for run in store.lost_runs(schedule)},
        periods=periods,
        latest=[*store.runs(schedule, since=since, limit=MOST_RUNS)],
        bad=[*store.runs(schedule, statuses=WENT_WRONG, since=since, limit=MOST_RUNS)],
        tables=multiples(tables, [period.last for period in periods]),
        assets=[*sightings_of(store, schedule, jobs)],
        quarantines=sorted(quarantines, key=lambda each: (each.until, each.place)),
        problem=problem,
    )


def _periods(found: Iterable[DayOfRuns], first: date, today: date, length: int) -> Iterator[Period]:
    """Periods of so many days that end today; the first one may be shorter."""
    some = [each for each in found if each.day <= today]
    count = -(-((today - first).days + 1) // length)
    for last in (today - timedelta(days=length * ago) for ago in reversed(range(count))):
        begin = max(first, last - timedelta(days=length - 1))
        mine = [each for each in some if begin <= each.day <= last]
        yield Period(
            first=begin,
            last=last,
            runs=sum(each.runs for each in mine),
            bad=sum(each.runs for each in mine if each.status in WENT_WRONG),
            reclaimed=sum(each.reclaimed for each in mine),
        )
