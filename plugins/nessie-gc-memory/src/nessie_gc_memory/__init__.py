"""A live-set store in memory, and simulated lakes: histories, objects, tables and faults, all in one process.

The connectors are all named ``memory``. :class:`MemoryLake` is what a test or a demonstration builds; the helpers
``put``, ``delete``, ``put_namespace``, ``unchanged`` make the operations of its commits.
"""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_memory.content import MemoryContentToFiles
from nessie_gc_memory.faults import Faults, FetchCounts
from nessie_gc_memory.files import MemoryFileDeleter, MemoryFileLister
from nessie_gc_memory.history import Commit, MemoryHistory, delete, put, put_namespace, unchanged
from nessie_gc_memory.lake import MemoryLake
from nessie_gc_memory.repository import MemoryRepository
from nessie_gc_memory.saved import load_history, save_history
from nessie_gc_memory.store import MemoryLiveSetStore
from nessie_gc_memory.table_catalog import MemoryTableCatalog
from nessie_gc_memory.tables import MEMORY_TABLE, TableState, content

__all__ = [
    "MEMORY_TABLE",
    "Commit",
    "Faults",
    "FetchCounts",
    "MemoryContentToFiles",
    "MemoryFileDeleter",
    "MemoryFileLister",
    "MemoryHistory",
    "MemoryLake",
    "MemoryLiveSetStore",
    "MemoryRepository",
    "MemoryTableCatalog",
    "TableState",
    "content",
    "delete",
    "load_history",
    "put",
    "put_namespace",
    "save_history",
    "unchanged",
]


@hookimpl
def nessie_gc_register_repository_connector() -> type[MemoryRepository]:
    """Registers the reader of simulated histories."""
    return MemoryRepository


@hookimpl
def nessie_gc_register_content_to_files() -> type[MemoryContentToFiles]:
    """Registers the reader of simulated tables."""
    return MemoryContentToFiles


@hookimpl
def nessie_gc_register_file_lister() -> type[MemoryFileLister]:
    """Registers the lister of simulated objects."""
    return MemoryFileLister


@hookimpl
def nessie_gc_register_file_deleter() -> type[MemoryFileDeleter]:
    """Registers the deleter of simulated objects."""
    return MemoryFileDeleter


@hookimpl
def nessie_gc_register_live_set_store() -> type[MemoryLiveSetStore]:
    """Registers the store that lasts as long as its process."""
    return MemoryLiveSetStore


@hookimpl
def nessie_gc_register_table_catalog() -> type[MemoryTableCatalog]:
    """Registers the catalogs that last as long as their process."""
    return MemoryTableCatalog
