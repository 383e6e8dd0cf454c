"""Takes snapshots, branches and tags out of a table's metadata, in one commit through PyIceberg."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nessie_gc_core.model import Removal, TableMetadata
from nessie_gc_iceberg_catalog.commits import TableCommits
from nessie_gc_iceberg_catalog.errors import translated
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.update import RemoveSnapshotsUpdate, TableRequirement, TableUpdate

log = logging.getLogger(__name__)

_PORTION = 1_000
"""So many snapshots are named in one update: PyIceberg compares each of them with all that are listed."""
_READS = 8
"""So many manifests are read at once."""


class SnapshotExpiry:
    """Removes what expires."""

    def __init__(self, commits: TableCommits) -> None:
        self._commits = commits

    def with_unused(self, table: TableMetadata, removal: Removal) -> Removal:
        """The removal with what nothing needs when it is made; nothing more where a manifest cannot be read."""
        from nessie_gc_iceberg_catalog.unused import without_unused

        loaded, redact = self._commits.load(table), self._commits.redact
        if loaded is None:
            return removal
        io = loaded.io
        if isinstance(io, GuardedFileIO):
            io = io.without(loaded.metadata.properties, loaded.config)
        try:
            return without_unused(loaded, io, removal, parallelism=_READS)
        except Exception as error:  # noqa: BLE001 - whatever a FileIO raises: nobody knows then what is unused
            log.warning("schemas and partition specs of %s all stay: %s", table.content_key, redact(str(error)))
            return removal

    def remove(self, table: TableMetadata, removal: Removal) -> None:
        """Commits.

        A server of before Iceberg 1.9 takes one snapshot in an update; where a request is refused, each gets its own.

        Raises:
            CommitConflictError: someone else was faster.
            CommitUnknownError: nobody can tell whether it was committed.
            NessieGcError: it was refused.
        """
        from pyiceberg.exceptions import BadRequestError

        try:
            self._commit(table, removal, _PORTION)
        except BadRequestError as error:
            if len(removal.snapshot_ids) < 2:
                raise translated(error, _what(table), self._commits.redact) from error
            log.info("the catalog refuses to remove several snapshots of %s in one update", table.content_key)
            self._commit(table, removal, 1, last=True)

    def _commit(self, table: TableMetadata, removal: Removal, portion: int, *, last: bool = False) -> None:
        from pyiceberg.exceptions import BadRequestError

        by_server = self._commits.by_server
        self._commits.commit(
            table,
            _what(table),
            _requirements(table, removal),
            lambda loaded: _updates(loaded, removal, portion, by_server=by_server),
            retried=() if last else (BadRequestError,),
        )


def _requirements(table: TableMetadata, removal: Removal) -> Iterator[TableRequirement]:
    """Each branch and tag is where the removal was worked out from, and so are schema and spec."""
    from pyiceberg.table.update import AssertCurrentSchemaId, AssertDefaultSpecId, AssertRefSnapshotId

    for name, ref in table.refs.items():
        yield AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
    if removal.schemas:
        yield AssertCurrentSchemaId.model_validate({"current-schema-id": table.current_schema})
    if removal.partition_specs:
        yield AssertDefaultSpecId.model_validate({"default-spec-id": table.default_spec})


def _what(table: TableMetadata) -> str:
    return f"expiring snapshots of {table.content_key}"


def _updates(table: Table, removal: Removal, portion: int, *, by_server: bool) -> Iterator[TableUpdate]:
    """What is removed, in the order in which PyIceberg can do it.

    PyIceberg itself would leave statistics by partition behind, and fails where a snapshot has two files of statistics.
    Where it makes the commit, it cannot take out a branch or tag whose snapshot is not listed: such a ref is first set
    to one that is.
    """
    from pyiceberg.table.update import (
        RemovePartitionStatisticsUpdate,
        RemoveSnapshotRefUpdate,
        RemoveStatisticsUpdate,
        SetSnapshotRefUpdate,
    )

    metadata, gone = table.metadata, removal.snapshot_ids
    listed = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    for name in sorted(removal.refs):
        ref = metadata.refs[name]
        if not by_server and ref.snapshot_id not in listed:
            moved = {"ref-name": name, "type": ref.snapshot_ref_type, "snapshot-id": min(listed)}
            yield SetSnapshotRefUpdate.model_validate(moved)
        yield RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
    with_statistics = {file.snapshot_id for file in metadata.statistics} & gone
    yield from (RemoveStatisticsUpdate.model_validate({"snapshot-id": id_}) for id_ in sorted(with_statistics))
    by_partition = {file.snapshot_id for file in metadata.partition_statistics} & gone
    yield from (RemovePartitionStatisticsUpdate.model_validate({"snapshot-id": id_}) for id_ in sorted(by_partition))
    in_order = [snapshot.snapshot_id for snapshot in metadata.snapshots if snapshot.snapshot_id in gone]
    for start in range(0, len(in_order), portion):
        yield _removed(in_order[start : start + portion])
    yield from _without_schemas_and_specs(removal)


def _without_schemas_and_specs(removal: Removal) -> Iterator[TableUpdate]:
    from pyiceberg.table.update import RemovePartitionSpecsUpdate, RemoveSchemasUpdate

    if removal.partition_specs:
        yield RemovePartitionSpecsUpdate.model_validate({"spec-ids": sorted(removal.partition_specs)})
    if removal.schemas:
        yield RemoveSchemasUpdate.model_validate({"schema-ids": sorted(removal.schemas)})


def _removed(snapshot_ids: Iterable[int]) -> RemoveSnapshotsUpdate:
    from pyiceberg.table.update import RemoveSnapshotsUpdate

    return RemoveSnapshotsUpdate.model_construct(snapshot_ids=_QuickList(snapshot_ids))


class _QuickList(list[int]):
    """A list that is asked as quickly as a set whether it has something."""

    def __init__(self, items: Iterable[int]) -> None:
        super().__init__(items)
        self._items = frozenset(self)

    def __contains__(self, item: Any) -> bool:
        return item in self._items
