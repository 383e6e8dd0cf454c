"""The hooks of Nessie GC.

A plugin implements the hooks it needs; each hook registers one kind of connector, or services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pluggy

from nessie_gc_core.connectors import (
    AnyService,
    ContentToFiles,
    FileDeleter,
    FileLister,
    LiveSetStore,
    RepositoryConnector,
    ScheduleStore,
    TableCatalog,
    VisitedDeduplicator,
)
from nessie_gc_core.model.files import FileReference

PROJECT = "nessie_gc"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook with its name."""


@hookspec
def nessie_gc_register_repository_connector() -> type[RepositoryConnector] | Sequence[type[RepositoryConnector]]:
    """Registers connectors to repositories: a catalog server, or one plain Iceberg catalog."""


@hookspec
def nessie_gc_register_content_to_files() -> type[ContentToFiles] | Sequence[type[ContentToFiles]]:
    """Registers readers of content types: which files a table or view needs."""


@hookspec
def nessie_gc_register_file_lister() -> type[FileLister] | Sequence[type[FileLister]]:
    """Registers listers of storage locations."""


@hookspec
def nessie_gc_register_file_deleter() -> type[FileDeleter] | Sequence[type[FileDeleter]]:
    """Registers deleters of files."""


@hookspec
def nessie_gc_register_live_set_store() -> type[LiveSetStore] | Sequence[type[LiveSetStore]]:
    """Registers stores of live sets."""


@hookspec
def nessie_gc_register_visited_deduplicator() -> type[VisitedDeduplicator] | Sequence[type[VisitedDeduplicator]]:
    """Registers deduplicators of visited commits."""


@hookspec
def nessie_gc_register_table_catalog() -> type[TableCatalog] | Sequence[type[TableCatalog]]:
    """Registers catalogs in which services keep tables, for engines without their own catalogs."""


@hookspec
def nessie_gc_register_schedule_store() -> type[ScheduleStore] | Sequence[type[ScheduleStore]]:
    """Registers stores of schedules: jobs, who runs them, and outcomes."""


@hookspec
def nessie_gc_register_service() -> AnyService | Sequence[AnyService]:
    """Registers services, each with a name, typed parameters and a report; each becomes a command."""


@hookspec
def nessie_gc_veto_deletion(location: str, files: Sequence[FileReference]) -> Mapping[str, str] | None:
    """Vetoes deletions: returns a mapping of path to reason, for each file of ``files`` that must stay.

    Every plugin is asked, on the executors if the engine has any. One veto is enough, and an error keeps the whole
    batch. An executor that lacks a plugin of the driver keeps its files.
    """
