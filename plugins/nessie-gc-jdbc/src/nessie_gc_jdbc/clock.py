"""The clock of a database."""

from __future__ import annotations

import time

from sqlalchemy import Connection, text


def now(connection: Connection) -> int:
    """Microseconds since the epoch; SQLite has no clock but the machine's."""
    if connection.dialect.name == "sqlite":
        return time.time_ns() // 1000
    if connection.dialect.name == "postgresql":
        query = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
    else:
        query = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)"
    return int(connection.execute(text(query)).scalar_one())
