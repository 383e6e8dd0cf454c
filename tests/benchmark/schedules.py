"""``python -m benchmark schedules``: schedules of two sizes in a database, with a long history.

It tells how long it takes to define the jobs, to list them, to find those that are due, to look for lost runs, and to
read the newest runs, all of them, and the last ones of each job; then how long the page of a year of hourly runs takes,
among as many other runs as wanted, half of them of the same schedule, with a full quarantine in the same database. The
exit code is 1 where a count is not exact.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from uuid import UUID, uuid4

from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.schedule_days import add_tables
from nessie_gc_jdbc.schedule_rows import run_row
from nessie_gc_jdbc.tables import job_runs
from sqlalchemy import insert

from benchmark.live_sets import DATABASES, empty_database
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob, TableBytes
from nessie_gc_core.services.schedule.page.figures import ScheduleFigures, figures_of
from nessie_gc_core.services.schedule.page.render import render_schedule
from nessie_gc_core.testing.schedule_samples import run_of

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
_LATEST = 20
_LEASE = timedelta(hours=1)
_YEAR = 365 * 24
"""Runs of a job that runs each hour."""
_DAYS = 366
_TIMES = 5
_SWEEPS, _BUCKETS = 30, 3
"""Of which files are in quarantine."""
_TABLES = 60
"""Of which runs say something on each day."""


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark schedules", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000, help="of the larger schedule; default: 10000")
    parser.add_argument("--runs", type=int, default=2000, help="of each schedule; default: 2000")
    parser.add_argument("--rows", type=int, default=200_000, help="runs among which a year is shown; default: 200000")
    parser.add_argument("--held", type=int, default=500_000, help="files in quarantine; default: 500000")
    parser.add_argument("--database", action="append", choices=DATABASES, help="may be repeated; default: all")
    given = parser.parse_args(arguments)
    right = True
    for database in given.database or DATABASES:
        with empty_database(database, None) as url, _opened(url) as store:
            for jobs in (max(1, given.jobs // 10), given.jobs):
                right &= _measure(database, store, jobs, given.runs)
            right &= _measure_page(database, store, given.rows, url, given.held)
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
        (min(runs, 1), timed("last runs in", lambda: sum(1 for _ in store.last_runs(schedule, until=at)))),
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


# ---- the page -----------------------------------------------------------------------------------------
def _measure_page(database: str, store: JdbcScheduleStore, rows: int, url: str, held: int) -> bool:
    """The page of the hourly runs of a year, the newest of them alone, and what is in quarantine."""
    now, others = _BEGIN + _YEAR * _HOUR, max(0, rows - _YEAR)
    _insert(store, "a year", "hourly", now, _HOUR, _YEAR)
    _insert(store, "a year", "earlier", now - _YEAR * _HOUR, _HOUR / 10, others // 2)
    _insert(store, "another", "hourly", now, _HOUR / 10, others - others // 2)
    store.define_jobs("a year", [_job(number) for number in range(20)])
    _insert_tables(store, now)
    with JdbcLiveSetStore.from_options({"url": url}) as live_sets:
        live_sets.put_held_files(map(_held_file, range(held)))

        def figures() -> ScheduleFigures:
            return figures_of(store, "a year", now=now, days=_DAYS, quarantines=live_sets.quarantines())

        found = figures()
        times = {
            "figures": _fastest(figures),
            "page": _fastest(lambda: render_schedule(figures())),
            f"{held:,} files in quarantine counted": _fastest(lambda: [*live_sets.quarantines()]),
            "20 runs of one job": _fastest(lambda: [*store.runs("a year", jobs=["hourly"], limit=_LATEST)]),
            "20 failed runs": _fastest(lambda: [*store.runs("a year", statuses=[RunStatus.FAILED], limit=_LATEST)]),
        }
    said = ", ".join(f"{what} in {seconds * 1000:,.0f} ms" for what, seconds in times.items())
    sys.stdout.write(f"{database}, {_YEAR:,} runs of a year among {rows:,}: {said}\n")
    sys.stdout.flush()
    counts = sum(period.runs for period in found.periods), sum(each.files for each in found.quarantines)
    return (_YEAR, held) == counts


def _held_file(number: int) -> HeldFile:
    """One of a sweep on each of the last thirty days, which hold files in three buckets."""
    sweep, bucket = number % _SWEEPS, number % _BUCKETS
    path = f"db/table-{number % _TABLES}/data/{number:08}-0-{number:032x}-00001.parquet"
    return HeldFile(
        repository="00000000-0000-0000-0000-000000000000",
        live_set_id=UUID(int=sweep),
        place=f"s3://bucket-{bucket}/.quarantine/",
        held_path=f"{UUID(int=sweep)}/1767225600000000/bucket-{bucket}/{path}",
        location=f"s3://bucket-{bucket}/db/table-{number % _TABLES}/",
        path=path,
        size=number,
        modified=_BEGIN,
        table=f"db.table-{number % _TABLES}",
        held=_BEGIN,
        until=_BEGIN + timedelta(days=sweep),
        state=HeldState.HELD,
    )


def _insert_tables(store: JdbcScheduleStore, now: datetime) -> None:
    """What runs said of tables on each day."""
    tables = [TableBytes(table=f"sales.orders_{number}", garbage=number, reclaimed=number) for number in range(_TABLES)]
    run = run_of(_job(0))
    for ago in range(_DAYS):
        day = replace(run, started=now - timedelta(days=ago))
        store.database.write(partial(add_tables, database=store.database, schedule="a year", run=day, tables=tables))


def _fastest(call: Callable[[], object]) -> float:
    def timed() -> float:
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun

    return min(timed() for _ in range(_TIMES))


def _insert(store: JdbcScheduleStore, schedule: str, job: str, end: datetime, apart: timedelta, count: int) -> None:
    """Runs that ended before, one in fifty failed; past the verbs, which would take an hour."""
    runs = (
        JobRun(
            id=uuid4(),
            job=job,
            service="gc",
            occasion=Occasion(due=started, starts=started),
            status=RunStatus.SUCCEEDED if number % 50 else RunStatus.FAILED,
            started=started,
            ended=started + timedelta(minutes=3),
            exit_code=0 if number % 50 else 1,
            error=None if number % 50 else "exit code 1: 3 unknown, 1 unreadable",
            numbers={f"{outcome}.bytes": number for outcome in ("deleted", "failed", "spared", "too_young", "lost")},
            report='{"deleted": {"files": 1}}' * 80,
        )
        for number in range(1, count + 1)
        for started in [end - number * apart]
    )
    for batch in batches(runs):
        if batch:
            store.database.execute(insert(job_runs), [run_row(schedule, run) for run in batch])
