"""Live sets in SQLite, PostgreSQL or MariaDB: the store ``jdbc``."""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_jdbc.options import JdbcOptions
from nessie_gc_jdbc.store import JdbcLiveSetStore

__all__ = ["JdbcLiveSetStore", "JdbcOptions"]


@hookimpl
def nessie_gc_register_live_set_store() -> type[JdbcLiveSetStore]:
    """Registers the store."""
    return JdbcLiveSetStore
