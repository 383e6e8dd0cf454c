"""A live-set store in memory, and simulated lakes: histories, objects, tables and faults, all in one process.

The connectors are all named ``memory``; those named ``mock`` compute a lake of any size (:mod:`nessie_gc_memory.mock`).
:class:`MemoryLake` is what a test or a demonstration builds; the helpers
``put``, ``delete``, ``put_namespace``, ``unchanged`` make the operations of its commits.
"""

from __future__ import annotations

from collections.abc import Sequence

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import ContentToFiles, FileDeleter, FileLister, RepositoryConnector
from nessie_gc_memory.content import MemoryContentToFiles
from nessie_gc_memory.faults import Faults, FetchCounts
from nessie_gc_memory.files import MemoryFileDeleter, MemoryFileLister
from nessie_gc_memory.history import Commit, MemoryHistory, delete, put, put_namespace, unchanged
from nessie_gc_memory.lake import MemoryLake
from nessie_gc_memory.mock import MockContentToFiles, MockFileDeleter, MockFileLister, MockRepository
from nessie_gc_memory.mock.make_lake import MakeLakeReport, MakeLakeService
from nessie_gc_memory.repository import MemoryRepository
from nessie_gc_memory.saved import load_history, save_history
from nessie_gc_memory.schedule import MemoryScheduleStore
from nessie_gc_memory.store import MemoryLiveSetStore
from nessie_gc_memory.table_catalog import MemoryTableCatalog
from nessie_gc_memory.tables import MEMORY_TABLE, TableState, content

__all__ = [
    "MEMORY_TABLE",
    "Commit",
    "Faults",
    "FetchCounts",
    "MakeLakeReport",
    "MakeLakeService",
    "MemoryContentToFiles",
    "MemoryFileDeleter",
    "MemoryFileLister",
    "MemoryHistory",
    "MemoryLake",
    "MemoryLiveSetStore",
    "MemoryRepository",
    "MemoryScheduleStore",
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
def nessie_gc_register_repository_connector() -> Sequence[type[RepositoryConnector]]:
    """Registers the readers of simulated histories."""
    return MemoryRepository, MockRepository


@hookimpl
def nessie_gc_register_content_to_files() -> Sequence[type[ContentToFiles]]:
    """Registers the readers of simulated tables."""
    return MemoryContentToFiles, MockContentToFiles


@hookimpl
def nessie_gc_register_file_lister() -> Sequence[type[FileLister]]:
    """Registers the listers of simulated objects."""
    return MemoryFileLister, MockFileLister


@hookimpl
def nessie_gc_register_file_deleter() -> Sequence[type[FileDeleter]]:
    """Registers the deleters of simulated objects."""
    return MemoryFileDeleter, MockFileDeleter


@hookimpl
def nessie_gc_register_live_set_store() -> type[MemoryLiveSetStore]:
    """Registers the store that lasts as long as its process."""
    return MemoryLiveSetStore


@hookimpl
def nessie_gc_register_schedule_store() -> type[MemoryScheduleStore]:
    """Registers the store of schedules that lasts as long as its process."""
    return MemoryScheduleStore


@hookimpl
def nessie_gc_register_table_catalog() -> type[MemoryTableCatalog]:
    """Registers the catalogs that last as long as their process."""
    return MemoryTableCatalog


@hookimpl
def nessie_gc_register_service() -> type[MakeLakeService]:
    """Registers the service that describes and serves computed lakes."""
    return MakeLakeService
