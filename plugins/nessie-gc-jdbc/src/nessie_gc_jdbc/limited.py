"""A database whose statements end: a scheduler must not wait for one that hangs, such as for a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Dialect

from nessie_gc_jdbc.database import Database

STATEMENT_SECONDS = 300
"""How long a statement of a schedule may take; none takes as much as a second as long as nothing is wrong."""

_T = TypeVar("_T")


class LimitedDatabase(Database):
    """One whose statements take no longer than :data:`STATEMENT_SECONDS`, except those that change its tables."""

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Runs work in a transaction that writes."""
        return super().write(_limited(work))

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Runs work in a transaction that only reads."""
        return super().read(_limited(work))


def _limited(work: Callable[[Connection], _T]) -> Callable[[Connection], _T]:
    def run(connection: Connection) -> _T:
        limit = _limit(connection.dialect)
        if limit is not None:
            connection.exec_driver_sql(limit)
        return work(connection)

    return run


def _limit(dialect: Dialect) -> str | None:
    """What sets it for a transaction, or for the session where there is nothing less; SQLite waits by its own limit."""
    if dialect.name == "postgresql":
        return f"SET LOCAL statement_timeout = {STATEMENT_SECONDS * 1000}"
    if dialect.name == "mariadb" or getattr(dialect, "is_mariadb", False):
        return f"SET SESSION max_statement_time = {STATEMENT_SECONDS}"
    if dialect.name == "mysql":
        return f"SET SESSION max_execution_time = {STATEMENT_SECONDS * 1000}"
    return None
