"""The schedule store ``memory``."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import ClassVar
from uuid import UUID

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import (
    DayOfRuns,
    JobRun,
    Occasion,
    RunStatus,
    ScheduledJob,
    TableBytes,
    TableDay,
)
from nessie_gc_memory.registers import utc, utc_now


@dataclass(slots=True)
class _Schedule:
    jobs: dict[str, ScheduledJob] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    """The jobs that were removed while they were paused."""
    runs: dict[UUID, JobRun] = field(default_factory=dict)
    leases: dict[UUID, datetime] = field(default_factory=dict)
    """Until when each run that is not finished has its job."""
    tables: dict[tuple[date, str | None], TableDay] = field(default_factory=dict)


@dataclass(slots=True)
class _Data:
    lock: threading.RLock = field(default_factory=threading.RLock)
    schedules: dict[str, _Schedule] = field(default_factory=dict)


@options
class MemoryScheduleOptions(ConnectorOptions):
    """Which store."""

    store: str = option("", help="name of a store that this process shares (default: a new store)")


class MemoryScheduleStore(ScheduleStore):
    """Keeps schedules in this process, and nothing beyond it."""

    name = "memory"
    Options = MemoryScheduleOptions
    executor_safe = False
    _shared: ClassVar[dict[str, _Data]] = {}

    def __init__(self, options: MemoryScheduleOptions) -> None:
        super().__init__(options)
        self.clock = utc_now
        self._data = self._shared.setdefault(options.store, _Data()) if options.store else _Data()

    # ---- jobs -----------------------------------------------------------------------------------------
    def define_jobs(self, schedule: str, jobs: Collection[ScheduledJob], *, at: datetime | None = None) -> None:
        """Makes these the jobs."""
        with self._data.lock:
            found = self._data.schedules.setdefault(schedule, _Schedule())
            wanted = {job.name for job in jobs}
            found.paused |= {name for name, known in found.jobs.items() if known.paused and name not in wanted}
            found.jobs = {job.name: _defined(found, job, at) for job in jobs}
            found.paused -= wanted

    def add_job(self, schedule: str, job: ScheduledJob) -> None:
        """Adds a job."""
        with self._data.lock:
            found = self._data.schedules.setdefault(schedule, _Schedule())
            if job.name not in found.jobs:
                found.jobs[job.name] = _defined(found, job)
                found.paused.discard(job.name)

    def jobs(self, schedule: str) -> Iterator[ScheduledJob]:
        """All jobs."""
        with self._data.lock:
            return iter([*self._of(schedule).jobs.values()])

    def due_jobs(self, schedule: str, *, at: datetime, limit: int) -> list[ScheduledJob]:
        """Those that may start."""
        waiting = [
            (job.next.starts, job.name, job)
            for job in self.jobs(schedule)
            if job.next is not None and job.next.starts <= at and not job.paused and job.run is None
        ]
        return [job for _, _, job in sorted(waiting)[:limit]]

    def set_paused(self, schedule: str, name: str, *, paused: bool) -> bool:
        """Pauses or resumes."""
        with self._data.lock:
            jobs = self._of(schedule).jobs
            if name in jobs:
                jobs[name] = replace(jobs[name], paused=paused)
            return name in jobs

    def set_next(self, schedule: str, name: str, *, seen: Occasion | None, then: Occasion | None) -> bool:
        """Changes the next occasion."""
        with self._data.lock:
            jobs = self._of(schedule).jobs
            if name not in jobs or jobs[name].next != seen:
                return False
            jobs[name] = replace(jobs[name], next=_in_utc(then))
            return True

    # ---- runs -----------------------------------------------------------------------------------------
    def start_run(self, schedule: str, run: JobRun, *, then: Occasion | None, lease: timedelta) -> bool:
        """Records a run."""
        with self._data.lock:
            found = self._of(schedule)
            job = found.jobs.get(run.job)
            if job is None or job.paused or job.run is not None or job.next != run.occasion:
                return False
            holder = run.id if run.status is RunStatus.RUNNING else None
            last = max(filter(None, (job.last, utc(run.occasion.due))))
            outcome = job.outcome if holder is not None else run.status
            found.jobs[job.name] = replace(job, next=_in_utc(then), last=last, outcome=outcome, run=holder)
            found.runs[run.id] = _run_in_utc(run)
            if holder is not None:
                found.leases[run.id] = self.clock() + lease
            return True

    def renew_run(self, schedule: str, run: UUID, *, lease: timedelta) -> bool:
        """Renews the lease."""
        with self._data.lock:
            leases, now = self._of(schedule).leases, self.clock()
            if run not in leases or leases[run] <= now:
                return False
            leases[run] = now + lease
            return True

    def finish_run(
        self,
        schedule: str,
        run: JobRun,
        *,
        retry: Occasion | None = None,
        lost: bool = False,
        tables: Collection[TableBytes] = (),
    ) -> bool:
        """Records the outcome."""
        with self._data.lock:
            found = self._of(schedule)
            if run.id not in found.leases or (lost and found.leases[run.id] > self.clock()):
                return False
            del found.leases[run.id]
            found.runs[run.id] = _run_in_utc(run)
            job = found.jobs.get(run.job)
            if job is not None and job.run == run.id:
                again = retry is not None and (job.next is None or retry.starts < job.next.starts)
                next_ = _in_utc(retry) if again else job.next
                found.jobs[job.name] = replace(job, run=None, outcome=run.status, next=next_)
            for each in tables:
                key = utc(run.started).date(), each.table
                known = found.tables.get(key) or TableDay(day=key[0], table=each.table, garbage=0, reclaimed=0)
                most, sum_ = max(known.garbage, each.garbage), known.reclaimed + each.reclaimed
                found.tables[key] = replace(known, garbage=most, reclaimed=sum_)
            return True

    def lost_runs(self, schedule: str) -> list[JobRun]:
        """Those whose lease has expired."""
        with self._data.lock:
            found, now = self._of(schedule), self.clock()
            return [replace(found.runs[run], report=None) for run, ends in found.leases.items() if ends <= now]

    def run(self, schedule: str, run: UUID) -> JobRun | None:
        """One run."""
        with self._data.lock:
            return self._of(schedule).runs.get(run)

    def runs(
        self,
        schedule: str,
        *,
        jobs: Collection[str] = (),
        statuses: Collection[RunStatus] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[JobRun]:
        """Runs, latest first."""
        with self._data.lock:
            runs = sorted(self._of(schedule).runs.values(), key=lambda run: (run.started, run.id), reverse=True)
        wanted = (
            replace(run, report=None)
            for run in runs
            if (not jobs or run.job in jobs)
            and (not statuses or run.status in statuses)
            and (since is None or run.started >= since)
            and (until is None or run.started < until)
        )
        return islice(wanted, limit)

    def last_runs(self, schedule: str, *, until: datetime) -> Iterator[JobRun]:
        """The first ones of the history."""
        with self._data.lock:
            jobs = {*self._of(schedule).jobs}
        found: dict[tuple[str, RunStatus], JobRun] = {}
        for run in self.runs(schedule, until=until):
            if run.job in jobs and run.status is not RunStatus.RUNNING:
                found.setdefault((run.job, run.status), run)
        return iter(found.values())

    def days(self, schedule: str, *, since: date) -> list[DayOfRuns]:
        """Counts the runs."""
        counts: dict[tuple[date, RunStatus], list[int]] = {}
        with self._data.lock:
            for run in self._of(schedule).runs.values():
                count = counts.setdefault((run.started.date(), run.status), [0, 0])
                count[0] += 1
                count[1] += run.reclaimed
        return [
            DayOfRuns(day=day, status=status, runs=runs, reclaimed=reclaimed)
            for (day, status), (runs, reclaimed) in sorted(counts.items())
            if day >= since
        ]

    def table_days(self, schedule: str, *, since: date, most: int) -> list[TableDay]:
        """Ranks the tables."""
        with self._data.lock:
            days = [each for each in self._of(schedule).tables.values() if each.day >= since]
        sizes: dict[str, tuple[int, int]] = {}
        for each in days:
            if each.table is not None:
                reclaimed, garbage = sizes.get(each.table, (0, 0))
                sizes[each.table] = reclaimed + each.reclaimed, max(garbage, each.garbage)
        named = set(sorted(sizes, key=lambda name: (-sum(sizes[name]), name))[:most])
        sums: dict[tuple[date, bool, str], TableDay] = {}
        for each in days:
            table = each.table if each.table in named else None
            key = each.day, table is None, table or ""
            known = sums.get(key) or TableDay(day=each.day, table=table, garbage=0, reclaimed=0)
            garbage, reclaimed = known.garbage + each.garbage, known.reclaimed + each.reclaimed
            sums[key] = replace(known, garbage=garbage, reclaimed=reclaimed)
        return [found for _, found in sorted(sums.items())]

    def now(self) -> datetime:
        """That of this process."""
        return self.clock()

    def forget_runs(self, schedule: str, *, before: datetime) -> int:
        """Removes runs."""
        with self._data.lock:
            found = self._of(schedule)
            old = [run for id_, run in found.runs.items() if run.started < before and id_ not in found.leases]
            newest_first = sorted(old, key=lambda run: (run.started, run.id), reverse=True)
            gone = [*_but_the_newest(newest_first)]
            for run in gone:
                del found.runs[run]
            for key in [key for key in found.tables if key[0] < utc(before).date()]:
                del found.tables[key]
            return len(gone)

    def _of(self, schedule: str) -> _Schedule:
        return self._data.schedules.get(schedule) or _Schedule()


def _defined(found: _Schedule, job: ScheduledJob, at: datetime | None = None) -> ScheduledJob:
    """A job with what is known of it already."""
    known = found.jobs.get(job.name)
    if known is None:
        going_on = next((run.id for run in found.runs.values() if run.job == job.name and run.id in found.leases), None)
        paused = job.paused or job.name in found.paused
        return replace(job, next=_in_utc(job.next), paused=paused, run=going_on)
    if known.definition == job.definition:
        return replace(known, service=job.service, timing=job.timing, digest=job.digest)
    described = replace(known, service=job.service, timing=job.timing, digest=job.digest)
    waits = known.next is not None and known.next.waits(at)
    return replace(described, definition=job.definition, next=known.next if waits else _in_utc(job.next))


def _but_the_newest(newest_first: Iterable[JobRun]) -> Iterator[UUID]:
    """All but the newest run of each job, and its newest that succeeded."""
    seen = set[tuple[str, bool]]()
    for run in newest_first:
        first_of = {(run.job, False), (run.job, run.status is RunStatus.SUCCEEDED)} - seen
        seen |= first_of
        if not first_of:
            yield run.id


def _in_utc(occasion: Occasion | None) -> Occasion | None:
    if occasion is None:
        return None
    return replace(occasion, due=utc(occasion.due), starts=utc(occasion.starts))


def _run_in_utc(run: JobRun) -> JobRun:
    ended = None if run.ended is None else utc(run.ended)
    occasion = _in_utc(run.occasion)
    assert occasion is not None
    return replace(run, occasion=occasion, started=utc(run.started), ended=ended)
