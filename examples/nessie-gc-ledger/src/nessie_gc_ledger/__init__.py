"""A repository that is a folder of JSON files, and a live-set store in one SQLite file."""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_ledger.repository import LedgerRepository
from nessie_gc_ledger.store import LedgerStore

__all__ = ["LedgerRepository", "LedgerStore"]


@hookimpl
def nessie_gc_register_repository_connector() -> type[LedgerRepository]:
    """Registers the repository."""
    return LedgerRepository


@hookimpl
def nessie_gc_register_live_set_store() -> type[LedgerStore]:
    """Registers the store."""
    return LedgerStore
