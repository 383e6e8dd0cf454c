"""The schedule store ``jdbc``."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    and_,
    case,
    delete,
    insert,
    or_,
    select,
    true,
    update,
)

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
from nessie_gc_jdbc.limited import LimitedDatabase
from nessie_gc_jdbc.options import JdbcOptions
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.schedule_days import SUMMED, add_tables, days_of_runs, days_of_tables, forget_tables, sum_late_runs
from nessie_gc_jdbc.schedule_last import last_run_keys
from nessie_gc_jdbc.schedule_rows import described, job_row, job_run, next_of, run_row, scheduled_job, time_key
from nessie_gc_jdbc.tables import AFTER_ALL, day_of, from_micros, job_runs, jobs, key_of, run_leases, to_micros

_MICROSECOND = timedelta(microseconds=1)
_WITHOUT_REPORT = [column for column in job_runs.c if column.name not in ("report", *SUMMED)]


class JdbcScheduleStore(ScheduleStore):
    """Keeps schedules in a database, beside the live sets of the store ``jdbc`` with the same options."""

    name = "jdbc"
    Options = JdbcOptions

    def __init__(self, options: JdbcOptions) -> None:
        super().__init__(options)
        self.database = LimitedDatabase(options)

    def close(self) -> None:
        """Closes all connections."""
        self.database.close()

    # ---- jobs -----------------------------------------------------------------------------------------
    def define_jobs(self, schedule: str, jobs: Collection[ScheduledJob], *, at: datetime | None = None) -> None:
        """Makes these the jobs, in one transaction."""
        wanted = {job.name: job for job in jobs}
        self.database.write(lambda connection: self._define(connection, schedule, wanted, at))

    def _define(
        self, connection: Connection, schedule: str, wanted: dict[str, ScheduledJob], at: datetime | None
    ) -> None:
        """Locks leases, and then jobs, as the end of a run does."""
        running = _running(connection, schedule)
        mine = select(jobs).where(*_below(jobs.c.job_key, schedule)).order_by(jobs.c.job_key)
        known = {row.name: row for row in connection.execute(mine.with_for_update())}
        _remove(connection, [key_of(schedule, name) for name in known if name not in wanted])
        new = (job for name, job in sorted(wanted.items()) if name not in known or known[name].removed)
        self._insert(connection, [job_row(schedule, job, running.get(job.name)) for job in new])
        for name, row in known.items():
            job = wanted.get(name)
            if job is None or row.removed or described(job) == {key: getattr(row, key) for key in described(job)}:
                continue
            next_ = scheduled_job(row).next
            stays = job.definition == row.definition or (next_ is not None and next_.waits(at))
            moved = {} if stays else next_of(job.next)
            connection.execute(_job(schedule, name).values(**described(job), **moved))

    def add_job(self, schedule: str, job: ScheduledJob) -> None:
        """Adds a job, in one transaction."""

        def add(connection: Connection) -> None:
            self._insert(connection, [job_row(schedule, job, _running(connection, schedule).get(job.name))])

        self.database.write(add)

    def _insert(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Adds jobs that are not there; one that was removed while it was paused comes back paused."""
        if not rows:
            return
        connection.execute(self.database.insert_new(jobs), rows)
        schedule = rows[0]["schedule"]
        removed = select(jobs.c.job_key).where(*_below(jobs.c.job_key, schedule), jobs.c.removed == 1)
        were_removed = set(connection.execute(removed).scalars())
        for row in rows:
            if row["job_key"] in were_removed:
                again = update(jobs).where(jobs.c.job_key == row["job_key"])
                connection.execute(again.values(**{**row, "paused": 1}))

    def jobs(self, schedule: str) -> Iterator[ScheduledJob]:
        """All jobs, in pages."""
        there = select(jobs).where(jobs.c.removed == 0)
        for row in self.database.pages_below(there, jobs.c.job_key, [key_of(schedule)]):
            yield scheduled_job(row)

    def due_jobs(self, schedule: str, *, at: datetime, limit: int) -> list[ScheduledJob]:
        """Those that may start."""
        free = (jobs.c.paused == 0, jobs.c.run_id.is_(None), jobs.c.starts <= to_micros(at))
        query = (
            select(jobs)
            .where(*_below(jobs.c.job_key, schedule), *free)
            .order_by(jobs.c.starts, jobs.c.name)
            .limit(limit)
        )
        return [scheduled_job(row) for row in self.database.rows(query)]

    def set_paused(self, schedule: str, name: str, *, paused: bool) -> bool:
        """Pauses or resumes."""
        return self._changes(_job(schedule, name).values(paused=int(paused)))

    def set_next(self, schedule: str, name: str, *, seen: Occasion | None, then: Occasion | None) -> bool:
        """Changes the next occasion."""
        return self._changes(_job(schedule, name, *_due_for(seen)).values(**next_of(then)))

    def _changes(self, statement: Update) -> bool:
        return self.database.write(lambda connection: connection.execute(statement).rowcount) == 1

    # ---- runs -----------------------------------------------------------------------------------------
    def start_run(self, schedule: str, run: JobRun, *, then: Occasion | None, lease: timedelta) -> bool:
        """Takes the job and records the run, in one transaction."""
        is_running = run.status is RunStatus.RUNNING
        due = to_micros(run.occasion.due)
        free = (jobs.c.paused == 0, jobs.c.run_id.is_(None), *_due_for(run.occasion))
        taken = _job(schedule, run.job, *free).values(
            **next_of(then),
            last=case((jobs.c.last > due, jobs.c.last), else_=due),
            **({"run_id": str(run.id)} if is_running else {"outcome": run.status.value}),
        )

        def start(connection: Connection) -> bool:
            if connection.execute(taken).rowcount != 1:
                return False
            row = run_row(schedule, run)
            connection.execute(insert(job_runs).values(**row))
            if is_running:
                ends = self.database.now(connection) + lease // _MICROSECOND
                held = {"lease_key": key_of(schedule, str(run.id)), "run_id": str(run.id), "job": run.job}
                connection.execute(insert(run_leases).values(**held, run_key=row["run_key"], ends=ends))
            return True

        return self.database.write(start)

    def renew_run(self, schedule: str, run: UUID, *, lease: timedelta) -> bool:
        """Renews the lease."""

        def renew(connection: Connection) -> bool:
            now = self.database.now(connection)
            mine = update(run_leases).where(_lease(schedule, run), run_leases.c.ends > now)
            return connection.execute(mine.values(ends=now + lease // _MICROSECOND)).rowcount == 1

        return self.database.write(renew)

    def finish_run(
        self,
        schedule: str,
        run: JobRun,
        *,
        retry: Occasion | None = None,
        lost: bool = False,
        tables: Collection[TableBytes] = (),
    ) -> bool:
        """Records the outcome and frees the job, in one transaction."""
        row = run_row(schedule, run)
        outcome = {name: row[name] for name in _OUTCOME}

        def finish(connection: Connection) -> bool:
            mine = delete(run_leases).where(_lease(schedule, run.id))
            if lost:
                mine = mine.where(run_leases.c.ends <= self.database.now(connection))
            if connection.execute(mine).rowcount != 1:
                return False
            connection.execute(update(job_runs).where(job_runs.c.run_key == row["run_key"]).values(**outcome))
            freed = _job(schedule, run.job, jobs.c.run_id == str(run.id)).values(run_id=None, outcome=run.status.value)
            if connection.execute(freed).rowcount == 1 and retry is not None:
                sooner = or_(jobs.c.starts.is_(None), jobs.c.starts > to_micros(retry.starts))
                connection.execute(_job(schedule, run.job, sooner).values(**next_of(retry)))
            add_tables(connection, self.database, schedule, run, tables)
            return True

        return self.database.write(finish)

    def lost_runs(self, schedule: str) -> list[JobRun]:
        """Those whose lease has expired."""

        def find(connection: Connection) -> list[Row[Any]]:
            lost = run_leases.c.ends <= self.database.now(connection)
            keys = select(run_leases.c.run_key).where(*_below(run_leases.c.lease_key, schedule), lost)
            return [*connection.execute(select(*_WITHOUT_REPORT).where(job_runs.c.run_key.in_(keys)))]

        return [job_run(row) for row in self.database.read(find)]

    def run(self, schedule: str, run: UUID) -> JobRun | None:
        """One run."""
        query = select(job_runs).where(job_runs.c.run_id == str(run), job_runs.c.schedule == schedule)
        row = next(iter(self.database.rows(query)), None)
        return None if row is None else job_run(row, row.report)

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
        """Runs in pages, latest first, as their key has them; those of a job or status by an index of their own."""
        query: Select[Any] = select(*_WITHOUT_REPORT)
        columns, key = job_runs.c, job_runs.c.run_key
        parts: list[ColumnElement[bool]] = [true()]
        if jobs or statuses:
            parts = [columns.status == status.value for status in sorted(set(statuses or RunStatus))]
        if jobs:
            parts = [and_(columns.job_digest == key_of(job), part) for job in sorted(set(jobs)) for part in parts]
        before = key_of(schedule) if until is None else time_key(schedule, until - _MICROSECOND)
        last = (key_of(schedule) if since is None else time_key(schedule, since)) + AFTER_ALL
        found = (self.database.pages(query.where(part), key, above=before, upto=last, size=limit) for part in parts)
        for row in islice(heapq.merge(*found, key=lambda row: bytes(row.run_key)), limit):
            yield job_run(row)

    def last_runs(self, schedule: str, *, until: datetime) -> Iterator[JobRun]:
        """The keys of some jobs' last runs at a time, and then the runs."""
        above, last = key_of(schedule), key_of(schedule) + AFTER_ALL
        by_rows = self.database.engine.dialect.name == "postgresql"
        query = last_run_keys(upto=last, above=time_key(schedule, until - _MICROSECOND), by_rows=by_rows)
        found = self.database.pages(query, jobs.c.job_key, above=above, upto=last)
        for keys in batches(bytes(key) for row in found for key in tuple(row)[1:] if key is not None):
            for row in self.database.rows(select(*_WITHOUT_REPORT).where(job_runs.c.run_key.in_(keys))):
                yield job_run(row)

    def days(self, schedule: str, *, since: date) -> list[DayOfRuns]:
        """Counted in the database."""
        return self.database.read(lambda connection: days_of_runs(connection, schedule, since))

    def table_days(self, schedule: str, *, since: date, most: int) -> list[TableDay]:
        """Summed in the database."""
        return self.database.read(lambda connection: days_of_tables(connection, schedule, since, most))

    def now(self) -> datetime:
        """That of the database."""
        return from_micros(self.database.read(self.database.now))

    def forget_runs(self, schedule: str, *, before: datetime) -> int:
        """Removes runs, which are the last ones by their key, once all of them are summed."""
        while self.database.write(sum_late_runs):
            pass
        above, last = time_key(schedule, before - _MICROSECOND), key_of(schedule) + AFTER_ALL
        finished = job_runs.c.status != RunStatus.RUNNING.value
        query = select(job_runs.c.run_key, job_runs.c.job_digest, job_runs.c.status).where(finished)
        newest_first = self.database.pages(query, job_runs.c.run_key, above=above, upto=last)
        gone = sum(self._forget(some) for some in batches(_but_the_newest(newest_first)))
        self.database.execute(forget_tables(schedule, day_of(before)))
        return gone

    def _forget(self, keys: list[bytes]) -> int:
        gone = delete(job_runs).where(job_runs.c.run_key.in_(keys))
        return self.database.write(lambda connection: connection.execute(gone).rowcount)


def _but_the_newest(newest_first: Iterable[Row[Any]]) -> Iterator[bytes]:
    """The keys of all but the newest run of each job, and its newest that succeeded."""
    seen = set[tuple[bytes, bool]]()
    for row in newest_first:
        job = bytes(row.job_digest)
        first_of = {(job, False), (job, row.status == RunStatus.SUCCEEDED.value)} - seen
        seen |= first_of
        if not first_of:
            yield bytes(row.run_key)


_OUTCOME = ("status", "ended", "exit_code", "error_message", "numbers", "report", *SUMMED)


# ---- conditions ---------------------------------------------------------------------------------------
def _below(key: Column[bytes], schedule: str) -> tuple[ColumnElement[bool], ...]:
    """Whether a key is one of a schedule."""
    return key > key_of(schedule), key <= key_of(schedule) + AFTER_ALL


def _lease(schedule: str, run: UUID) -> ColumnElement[bool]:
    return run_leases.c.lease_key == key_of(schedule, str(run))


def _job(schedule: str, name: str, *where: ColumnElement[bool]) -> Update:
    return update(jobs).where(jobs.c.job_key == key_of(schedule, name), jobs.c.removed == 0, *where)


def _remove(connection: Connection, keys: list[bytes]) -> None:
    """Removes jobs; those that are paused leave their rows."""
    for some in batches(keys):
        mine = jobs.c.job_key.in_(some)
        connection.execute(delete(jobs).where(mine, jobs.c.paused == 0))
        connection.execute(update(jobs).where(mine).values(**next_of(None), run_id=None, removed=1))


def _due_for(occasion: Occasion | None) -> list[ColumnElement[bool]]:
    """Whether a job is due next for an occasion."""
    return [
        jobs.c[name].is_(None) if value is None else jobs.c[name] == value for name, value in next_of(occasion).items()
    ]


def _running(connection: Connection, schedule: str) -> dict[str, str]:
    """Job to its run that is not finished, and will not be before this transaction ends."""
    query = select(run_leases.c.job, run_leases.c.run_id).where(*_below(run_leases.c.lease_key, schedule))
    return {row.job: row.run_id for row in connection.execute(query.with_for_update())}
