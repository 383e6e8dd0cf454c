"""``python -m benchmark schedules``: schedules of two sizes in a database, with a long history.

It tells how long it takes to define the jobs, to list them, to find those that are due, to look for lost runs, and to
read the newest runs and all of them. The exit code is 1 where a count is not exact.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import uuid4

from nessie_gc_jdbc import JdbcScheduleStore

from benchmark.live_sets import DATABASES, empty_database
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_LATEST = 20
_LEASE = timedelta(hours=1)


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark schedules", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000, help="of the larger schedule; default: 10000")
    parser.add_argument("--runs", type=int, default=2000, help="of each schedule; default: 2000")
    parser.add_argument("--database", action="append", choices=DATABASES, help="may be repeated; default: all")
    given = parser.parse_args(arguments)
    right = True
    for database in given.database or DATABASES:
        with empty_database(database, None) as url, _opened(url) as store:
            for jobs in (max(1, given.jobs // 10), given.jobs):
                right &= _measure(database, store, jobs, given.runs)
    return 0 if right else 1


def _opened(url: str) -> JdbcScheduleStore:
    return JdbcScheduleStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"})


def _measure(database: str, store: JdbcScheduleStore, jobs: int, runs: int) -> bool:
    schedule, found = f"{jobs} jobs", [_job(number) for number in range(jobs)]
    parts: list[str] = []

    def timed(what: str, call: Callable[[], int]) -> int:
        begun = time.perf_counter()
        count = call()
        parts.append(f"{what} {(time.perf_counter() - begun) * 1000:,.0f} ms")
        return count

    timed("defined in", lambda: _define(store, schedule, found))
    timed("a run recorded in", lambda: _record(store, schedule, runs))
    parts[-1] = f"{runs:,} {parts[-1].replace('a run recorded', 'runs recorded')}"
    at = _BEGIN + timedelta(days=3650)
    counts = [
        (jobs, timed("listed in", lambda: sum(1 for _ in store.jobs(schedule)))),
        (min(jobs - 1, 1000), timed("due ones found in", lambda: len(store.due_jobs(schedule, at=at, limit=1000)))),
        (0, timed("lost runs looked for in", lambda: len(store.lost_runs(schedule)))),
        (min(runs, _LATEST), timed("latest 20 runs in", lambda: sum(1 for _ in islice(store.runs(schedule), _LATEST)))),
        (runs, timed("all runs in", lambda: sum(1 for _ in store.runs(schedule)))),
    ]
    sys.stdout.write(f"{database}, {jobs:,} jobs: {', '.join(parts)}\n")
    sys.stdout.flush()
    return all(expected == count for expected, count in counts)


def _define(store: JdbcScheduleStore, schedule: str, jobs: Sequence[ScheduledJob]) -> int:
    store.define_jobs(schedule, jobs)
    return len(jobs)


def _record(store: JdbcScheduleStore, schedule: str, runs: int) -> int:
    """Runs of the first job, which is skipped every hour; it is paused in the end."""
    then = _occasion(0)
    for number in range(runs):
        occasion, then = then, _occasion(number + 1)
        run = JobRun(
            id=uuid4(),
            job="job 0",
            service="gc",
            occasion=occasion,
            status=RunStatus.SKIPPED,
            started=occasion.due,
            ended=occasion.due,
            numbers={"deleted.files": number},
            report='{"deleted": {"files": 1}}' * 40,
        )
        store.start_run(schedule, run, then=then, lease=_LEASE)
    store.set_paused(schedule, "job 0", paused=True)
    return runs


def _job(number: int) -> ScheduledJob:
    return ScheduledJob(name=f"job {number}", service="gc", timing="every PT1H", definition="", next=_occasion(0))


def _occasion(hours: int) -> Occasion:
    due = _BEGIN + hours * _HOUR
    return Occasion(due=due, starts=due)
