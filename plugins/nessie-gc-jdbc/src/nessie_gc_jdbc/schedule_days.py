"""What runs did on each day, summed in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Delete,
    Row,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from nessie_gc_core.model.schedule import DayOfRuns, JobRun, RunStatus, TableBytes, TableDay
from nessie_gc_jdbc.database import BATCH_ROWS, Database
from nessie_gc_jdbc.problems import readable
from nessie_gc_jdbc.schedule_rows import job_run, run_row
from nessie_gc_jdbc.tables import (
    DIGEST_BYTES,
    day_number,
    day_of,
    digest,
    from_day,
    job_runs,
    key_of,
    table_days,
)

SUMMED = ("schedule_key", "job_digest", "day", "reclaimed")
"""The columns of runs that say no more than others, so that they can be summed and found."""
MOST_OF_A_DAY = 2**62
"""More is not counted of one table on one day, and no column would hold much more: a reporter's mistake."""


def days_of_runs(connection: Connection, schedule: str, since: date) -> list[DayOfRuns]:
    """The runs of each day and status, from an index alone."""
    columns = job_runs.c
    query = (
        select(columns.day, columns.status, func.count().label("runs"), _sum(columns.reclaimed).label("reclaimed"))
        .where(columns.schedule_key == key_of(schedule), columns.day >= day_number(since))
        .group_by(columns.day, columns.status)
        .order_by(columns.day, columns.status)
    )
    with readable(f"a run of schedule {schedule}"):
        return [_day(row) for row in connection.execute(query)]


def _day(row: Row[Any]) -> DayOfRuns:
    return DayOfRuns(
        day=from_day(row.day), status=RunStatus(row.status), runs=int(row.runs), reclaimed=int(row.reclaimed)
    )


def sum_late_runs(connection: Connection) -> bool:
    """Sums some runs that ended in a scheduler of an earlier release, which knows no sums; whether there were any.

    It may go on for long after another process has upgraded the tables.
    """
    columns, empty = job_runs.c, bytes(DIGEST_BYTES)  # MariaDB fills an empty key up; SQLite's sorts before all bytes
    late = columns.schedule_key <= empty, columns.status != RunStatus.RUNNING.value
    some = select(*(column for column in columns if column.name != "report")).where(*late).limit(BATCH_ROWS)
    found = [(row.run_key, run_row(row.schedule, job_run(row))) for row in connection.execute(some)]
    if found:
        change = update(job_runs).where(columns.run_key == bindparam("of"))
        change = change.values({name: bindparam(f"new_{name}") for name in SUMMED})
        rows = [{"of": key, **{f"new_{name}": row[name] for name in SUMMED}} for key, row in found]
        connection.execute(change, rows)
    return bool(found)


def add_tables(
    connection: Connection, database: Database, schedule: str, run: JobRun, tables: Collection[TableBytes]
) -> None:
    """Adds what a run says of tables to what is known of its day; rows are locked in the order of their keys."""
    columns, of_day = table_days.c, {"schedule_key": key_of(schedule), "day": day_of(run.started)}

    def changed(given: ReadOnlyColumnCollection[str, Any]) -> Mapping[str, Any]:
        most = case((columns.garbage >= given["garbage"], columns.garbage), else_=given["garbage"])
        bound: ColumnElement[int] = literal_column(str(MOST_OF_A_DAY))  # the client of MariaDB takes no parameter here
        full = columns.reclaimed > bound - given["reclaimed"]
        return {"garbage": most, "reclaimed": case((full, bound), else_=columns.reclaimed + given["reclaimed"])}

    rows = [
        {
            **of_day,
            "table_digest": key,
            "table_name": each.table,
            "garbage": min(each.garbage, MOST_OF_A_DAY),
            "reclaimed": min(each.reclaimed, MOST_OF_A_DAY),
        }
        for key, each in sorted({digest(each.table): each for each in tables}.items())
    ]
    if rows:
        connection.execute(database.insert_or_change(table_days, changed), rows)


def days_of_tables(connection: Connection, schedule: str, since: date, most: int) -> list[TableDay]:
    """The days of the largest tables, and of all others together."""
    columns = table_days.c
    mine = columns.schedule_key == key_of(schedule), columns.day >= day_number(since)
    size = _sum(columns.reclaimed) + func.max(columns.garbage)
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
        select(columns.day, _sum(columns.garbage), _sum(columns.reclaimed))
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


def _sum(column: Column[int]) -> ColumnElement[Any]:
    """A sum that may be more than a whole number of the database: as decimals, or as floats in SQLite."""
    return func.sum(column * literal_column("1.0"))
