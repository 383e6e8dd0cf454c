"""Inserts many rows at once, as each database does it fastest, and counts those that are new.

The statements go to the driver directly: for ten million rows, building them costs more than running them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, SmallInteger, Table

from nessie_gc_core.errors import StoreError

COPIED_ROWS = 200
"""From so many rows on, PostgreSQL gets them by COPY, which needs a temporary table first."""
_STATEMENT_ROWS = 2000
_STATEMENT_CHARACTERS = 500_000
"""Rows and text in one statement of MariaDB; servers refuse statements of a few megabytes or more."""
_TEMPORARY = "nessie_gc_new_rows"

Values = Sequence[Any]
"""The values of a row, in the order of the table's columns."""


def insert_new_rows(connection: Connection, table: Table, rows: Sequence[Values]) -> int:
    """Inserts those rows whose key is new, and leaves others as they are.

    Args:
        connection: in a transaction.
        table: its columns give the order of values.
        rows: in the order of their keys, so that two processes that insert the same ones never block each other.

    Returns:
        how many were new.
    """
    if not rows:
        return 0
    if connection.dialect.name == "postgresql":
        return _copy(connection, table, rows) if _copies(connection, rows) else _one_by_one(connection, table, rows)
    if connection.dialect.name == "sqlite":
        return _one_by_one(connection, table, rows)
    return _in_statements(connection, table, rows)


def _one_by_one(connection: Connection, table: Table, rows: Sequence[Values]) -> int:
    """With a statement that is prepared once."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    marks = ", ".join([mark] * len(table.c))
    statement = f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks}) ON CONFLICT DO NOTHING"
    return int(connection.exec_driver_sql(statement, [tuple(row) for row in rows]).rowcount)


def _copies(connection: Connection, rows: Sequence[Values]) -> bool:
    """Whether COPY pays, and the user may create a temporary table."""
    if len(rows) < COPIED_ROWS:
        return False
    query = "SELECT has_database_privilege(current_database(), 'TEMPORARY')"
    return bool(connection.exec_driver_sql(query).scalar_one())


def _copy(connection: Connection, table: Table, rows: Sequence[Values]) -> int:
    names = _names(table)
    connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {_TEMPORARY} (LIKE {table.name}) ON COMMIT DROP")
    with closing(connection.connection.cursor()) as opened:
        cursor: Any = opened
        with cursor.copy(f"COPY {_TEMPORARY} ({names}) FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types([_type_name(column) for column in table.c])
            for row in rows:
                copy.write_row(row)
    insert = f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {_TEMPORARY} ON CONFLICT DO NOTHING"
    new = int(connection.exec_driver_sql(insert).rowcount)
    connection.exec_driver_sql(f"DROP TABLE {_TEMPORARY}")  # the transaction may insert more
    return new


def _in_statements(connection: Connection, table: Table, rows: Sequence[Values]) -> int:
    """With many rows in one statement.

    Raises:
        StoreError: the database would change a value: what ``IGNORE`` ignores is not only rows that exist.
    """
    new = 0
    group = f"({', '.join(['%s'] * len(table.c))})"
    with closing(connection.connection.cursor()) as opened:
        cursor: Any = opened
        for some in _statements(rows):
            statement = f"INSERT IGNORE INTO {table.name} ({_names(table)}) VALUES {', '.join([group] * len(some))}"
            cursor.execute(statement, [value for row in some for value in row])
            if cursor.warning_count != len(some) - cursor.rowcount:
                raise StoreError(f"{table.name} cannot hold these values: the database would change one of them")
            new += cursor.rowcount
    return new


def _statements(rows: Sequence[Values]) -> Iterator[list[Values]]:
    """The rows of each statement, at least one."""
    remaining = iter(rows)
    while some := list(islice(remaining, _STATEMENT_ROWS)):
        taken: list[Values] = []
        size = 0
        for row in some:
            length = sum(len(value) for value in row if isinstance(value, str))
            if taken and size + length > _STATEMENT_CHARACTERS:
                yield taken
                taken, size = [], 0
            taken.append(row)
            size += length
        yield taken


def _names(table: Table) -> str:
    return ", ".join(column.name for column in table.c)


def _type_name(column: Column[Any]) -> str:
    """PostgreSQL's name of a type, for the binary form of COPY."""
    for kind, name in ((LargeBinary, "bytea"), (BigInteger, "int8"), (SmallInteger, "int2"), (Integer, "int4")):
        if isinstance(column.type, kind):
            return name
    return "text"
