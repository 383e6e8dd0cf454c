"""The tables of a catalog that PyIceberg has, for services that rewrite; what a commit does is said by a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace

from expiry_lakes import ExpiryLake

from nessie_gc_core.errors import ForeignTableError
from nessie_gc_core.model.compaction import FileRewrite, PartitionSet, RewrittenFiles
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.tables import Maintenance


def with_snapshot(table: CurrentTable) -> CurrentTable:
    """As if a commit had made a snapshot, which nobody can read."""
    return replace(table, snapshot_id=-1)


class ScriptedMaintenance(Maintenance):
    """Remembers what it was asked to rewrite, and answers as a test says."""

    loses_row_ids = False

    def __init__(self, lake: ExpiryLake) -> None:
        self.lake = lake
        self.more: tuple[TableName, ...] = ()
        self.commits: list[Mapping[int, Set[str]]] = []
        self.placed: Mapping[str, int] | None = None
        self.answer: Callable[[CurrentTable], CurrentTable | None] = with_snapshot
        self.rewritten: list[PartitionSet] = []
        self.files: Callable[[CurrentTable], RewrittenFiles] = lambda table: RewrittenFiles(after=table)

    def names(self) -> Iterator[TableName]:
        yield from self.lake.catalog.list_tables("db")
        yield from self.more

    def current(self, name: TableName) -> CurrentTable | None:
        if name in self.more:
            raise ForeignTableError(f"{name[-1]} is not an Iceberg table")
        if not self.lake.catalog.table_exists(name):
            return None
        table = self.lake.catalog.load_table(name)
        return CurrentTable(
            name=name,
            uuid=str(table.metadata.table_uuid),
            metadata_location=table.metadata_location,
            snapshot_id=table.metadata.current_snapshot_id,
            format_version=table.metadata.format_version,
        )

    def rewrite_manifests(
        self,
        table: CurrentTable,
        manifests: Mapping[int, Set[str]],
        *,
        target_bytes: int,
        summary: Mapping[str, str],
        placed: Mapping[str, int] | None = None,
    ) -> CurrentTable | None:
        self.commits.append(manifests)
        self.placed = placed
        return self.answer(table)

    def rewrite_files(self, table: CurrentTable, partitions: PartitionSet, rewrite: FileRewrite) -> RewrittenFiles:
        self.rewritten.append(partitions)
        return self.files(table)
