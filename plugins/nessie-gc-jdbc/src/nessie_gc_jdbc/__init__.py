"""Live sets and schedules in SQLite, PostgreSQL or MariaDB: the stores ``jdbc``."""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_jdbc.options import JdbcOptions
from nessie_gc_jdbc.schedule import JdbcScheduleStore
from nessie_gc_jdbc.store import JdbcLiveSetStore

__all__ = ["JdbcLiveSetStore", "JdbcOptions", "JdbcScheduleStore"]


@hookimpl
def nessie_gc_register_live_set_store() -> type[JdbcLiveSetStore]:
    """Registers the store."""
    return JdbcLiveSetStore


@hookimpl
def nessie_gc_register_schedule_store() -> type[JdbcScheduleStore]:
    """Registers the store of schedules."""
    return JdbcScheduleStore
