"""What runs did on each day, summed in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from sqlalchemy import Connection, Delete, case, delete, func, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from nessie_gc_core.model.schedule import DayOfRuns, JobRun, RunStatus, TableBytes, TableDay
from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.tables import day_number, day_of, digest, from_day, job_runs, key_of, table_days


def days_of_runs(connection: Connection, schedule: str, since: date) -> list[DayOfRuns]:
    """The runs of each day and status, from an index alone."""
    columns = job_runs.c
    query = (
        select(columns.day, columns.status, func.count().label("runs"), func.sum(columns.reclaimed).label("reclaimed"))
        .where(columns.schedule_key == key_of(schedule), columns.day >= day_number(since))
        .group_by(columns.day, columns.status)
        .order_by(columns.day, columns.status)
    )
    return [
        DayOfRuns(day=from_day(row.day), status=RunStatus(row.status), runs=int(row.runs), reclaimed=int(row.reclaimed))
        for row in connection.execute(query)
    ]


def add_tables(
    connection: Connection, database: Database, schedule: str, run: JobRun, tables: Collection[TableBytes]
) -> None:
    """Adds what a run says of tables to what is known of its day; rows are locked in the order of their keys."""
    columns, of_day = table_days.c, {"schedule_key": key_of(schedule), "day": day_of(run.started)}

    def changed(given: ReadOnlyColumnCollection[str, Any]) -> Mapping[str, Any]:
        most = case((columns.garbage >= given["garbage"], columns.garbage), else_=given["garbage"])
        return {"garbage": most, "reclaimed": columns.reclaimed + given["reclaimed"]}

    rows = [
        {
            **of_day,
            "table_digest": key,
            "table_name": each.table,
            "garbage": each.garbage,
            "reclaimed": each.reclaimed,
        }
        for key, each in sorted({digest(each.table): each for each in tables}.items())
    ]
    if rows:
        connection.execute(database.insert_or_change(table_days, changed), rows)


def days_of_tables(connection: Connection, schedule: str, since: date, most: int) -> list[TableDay]:
    """The days of the largest tables, and of all others together."""
    columns = table_days.c
    mine = columns.schedule_key == key_of(schedule), columns.day >= day_number(since)
    size = func.sum(columns.reclaimed) + func.max(columns.garbage)
    ranked = (  # without names, by which MariaDB would group on a disk
        select(columns.table_digest)
        .where(*mine, columns.table_digest != digest(None))
        .group_by(columns.table_digest)
        .order_by(size.desc(), columns.table_digest)
        .limit(most)
    )
    named = [bytes(key) for key in connection.execute(ranked).scalars()]
    own = select(columns.day, columns.table_name, columns.garbage, columns.reclaimed).where(
        *mine, columns.table_digest.in_(named)
    )
    others = (
        select(columns.day, func.sum(columns.garbage), func.sum(columns.reclaimed))
        .where(*mine, columns.table_digest.not_in(named))
        .group_by(columns.day)
    )
    rows = [*connection.execute(own), *((day, None, *sums) for day, *sums in connection.execute(others))]
    found = (
        TableDay(day=from_day(day), table=table, garbage=int(garbage), reclaimed=int(reclaimed))
        for day, table, garbage, reclaimed in rows
    )
    return sorted(found, key=lambda each: (each.day, each.table is None, each.table or ""))


def forget_tables(schedule: str, before: int) -> Delete:
    """Removes what was said of tables before a day."""
    return delete(table_days).where(table_days.c.schedule_key == key_of(schedule), table_days.c.day < before)
