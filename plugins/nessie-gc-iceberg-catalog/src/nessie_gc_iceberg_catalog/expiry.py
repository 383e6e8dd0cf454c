"""Takes snapshots, branches and tags out of a table's metadata, in one commit through PyIceberg."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, ConfigurationError, RepositoryError
from nessie_gc_core.model import Reference, ReferenceKind, Removal, TableMetadata
from nessie_gc_iceberg_catalog.errors import Redactor, translated
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO
from nessie_gc_iceberg_catalog.hive import why_locked
from nessie_gc_iceberg_catalog.names import identifier_of
from nessie_gc_iceberg_catalog.selection import Selection
from nessie_gc_iceberg_catalog.states import table_metadata
from nessie_gc_iceberg_catalog.unwritable import takes_locks, why_unwritable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.update import RemoveSnapshotsUpdate, TableRequirement, TableUpdate

log = logging.getLogger(__name__)

_PORTION = 1_000
"""So many snapshots are named in one update: PyIceberg compares each of them with all that are listed."""
_READS = 8
"""So many manifests are read at once."""
_REFUSALS = frozenset(
    {
        "AuthorizationExpiredError",
        "BadRequestError",
        "ForbiddenError",
        "NoSuchNamespaceError",
        "NoSuchTableError",
        "NotImplementedError",
        "OAuthError",
        "TooManyRequestsError",
        "UnauthorizedError",
    }
)
"""What is raised where a commit was refused, or never asked for; after anything else it may have been made.

PyIceberg has a ``ValidationError`` of its own, for answers 422; that of pydantic says that an answer makes no sense,
and comes after a commit that may well have been made.
"""


class SnapshotExpiry:
    """Commits to the tables of a catalog."""

    def __init__(self, catalog: Catalog, catalog_type: str, selection: Selection, redact: Redactor) -> None:
        self._catalog = catalog
        self._type = catalog_type
        self._by_server = catalog_type == "rest"
        """Whether a server makes the commits; else PyIceberg does."""
        self._selection = selection
        self._lock = threading.RLock() if catalog_type == "hive" else nullcontext()
        """A client of a Hive Metastore is one connection, which threads would share."""
        self._redact = redact

    def load(self, table: TableMetadata) -> Table | None:
        """The table as it is now; ``None`` where it is gone, or another one has its name."""
        from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchNamespaceError, NoSuchTableError

        try:
            with self._lock:
                loaded = self._catalog.load_table(_identifier(table))
        except NoSuchIcebergTableError:
            raise
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        return loaded if str(loaded.metadata.table_uuid) == table.content_id.lower() else None

    def reload(self, table: TableMetadata) -> TableMetadata | None:
        """What is listed by now; ``None`` where the table is gone."""
        from nessie_gc_iceberg_catalog.loading import metadata_text

        loaded = self.load(table)
        if loaded is None:
            return None
        reference = Reference(name=table.reference, kind=ReferenceKind.BRANCH, commit_id=table.commit_id)
        found = table_metadata(metadata_text(loaded), loaded.metadata_location, reference, self._selection)
        return replace(found, unwritable=why_unwritable(self._type, found))

    def with_unused(self, table: TableMetadata, removal: Removal) -> Removal:
        """The removal with what nothing needs when it is made; nothing more where a manifest cannot be read."""
        from nessie_gc_iceberg_catalog.unused import without_unused

        loaded = self.load(table)
        if loaded is None:
            return removal
        io = loaded.io
        if isinstance(io, GuardedFileIO):
            io = io.without(loaded.metadata.properties, loaded.config)
        try:
            return without_unused(loaded, io, removal, parallelism=_READS)
        except Exception as error:  # noqa: BLE001 - whatever a FileIO raises: nobody knows then what is unused
            log.warning("schemas and partition specs of %s all stay: %s", table.content_key, self._redact(str(error)))
            return removal

    def close(self) -> None:
        """Closes the catalog."""
        self._catalog.close()

    def remove(self, table: TableMetadata, removal: Removal) -> None:
        """Commits.

        A server of before Iceberg 1.9 takes one snapshot in an update; where a request is refused, each gets its own.

        Raises:
            CommitConflictError: somebody else was faster.
            CommitUnknownError: nobody can tell whether it was committed.
            NessieGcError: it was refused.
        """
        from pyiceberg.exceptions import BadRequestError

        try:
            self._commit(table, removal, _PORTION)
        except BadRequestError as error:
            if len(removal.snapshot_ids) < 2:
                raise translated(error, _what(table), self._redact) from error
            log.info("the catalog refuses to remove several snapshots of %s in one update", table.content_key)
            self._commit(table, removal, 1, last=True)

    def _commit(self, table: TableMetadata, removal: Removal, portion: int, *, last: bool = False) -> None:
        from pyiceberg.exceptions import BadRequestError, CommitFailedException

        what = _what(table)
        try:
            loaded = self.load(table)
        except Exception as error:
            raise translated(error, what, self._redact) from error
        if loaded is None:
            raise CommitConflictError(f"{what}: it is gone")
        if loaded.metadata_location != table.metadata_location:
            raise CommitConflictError(f"{what}: somebody else committed to it")
        if table.unwritable is not None:
            raise ConfigurationError(f"{what}: {table.unwritable}")
        try:
            updates = tuple(_updates(loaded, removal, portion, by_server=self._by_server))
            with self._lock:
                self._catalog.commit_table(loaded, tuple(self._requirements(table, removal)), updates)
        except CommitFailedException as error:
            raise CommitConflictError(f"{what}: {why_locked(error) or self._redact(str(error))}") from error
        except Exception as error:
            if isinstance(error, BadRequestError) and not last:
                raise
            if _is_refusal(error, by_server=self._by_server):
                raise translated(error, what, self._redact) from error
            reason = self._redact(str(error)) or type(error).__name__
            raise CommitUnknownError(f"{what}: nobody can tell whether it was committed ({reason})") from error

    def _requirements(self, table: TableMetadata, removal: Removal) -> Iterator[TableRequirement]:
        """It is the same table, and each of its branches and tags is where the removal was worked out from.

        Where PyIceberg makes the commit itself, there is no new one among them either; a server cannot be asked that.
        """
        from pyiceberg.table.update import (
            AssertCurrentSchemaId,
            AssertDefaultSpecId,
            AssertRefSnapshotId,
            AssertTableUUID,
        )

        uuid = UUID(table.content_id)
        yield AssertTableUUID(uuid=uuid) if self._by_server else _same_refs(uuid, table, self._type)
        for name, ref in table.refs.items():
            yield AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
        if removal.schemas:
            yield AssertCurrentSchemaId.model_validate({"current-schema-id": table.current_schema})
        if removal.partition_specs:
            yield AssertDefaultSpecId.model_validate({"default-spec-id": table.default_spec})


def _same_refs(uuid: UUID, table: TableMetadata, catalog_type: str) -> TableRequirement:
    """A requirement that no branch or tag came or went, and that whoever else writes waits for the same lock."""
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.metadata import TableMetadata as Metadata
    from pyiceberg.table.update import AssertTableUUID

    class AssertSameRefs(AssertTableUUID):
        def validate(self, base_metadata: Metadata | None) -> None:  # type: ignore[override]
            super().validate(base_metadata)
            if base_metadata is None or set(base_metadata.refs) != set(table.refs):
                raise CommitFailedException("Requirement failed: a branch or tag is new, or gone")
            if catalog_type == "hive" and not takes_locks(base_metadata.properties):
                raise CommitFailedException("Requirement failed: its writers take no locks any more")

    return AssertSameRefs(uuid=uuid)


def _is_refusal(error: Exception, *, by_server: bool) -> bool:
    """Whether nothing was committed for certain.

    Where PyIceberg makes the commit itself, it raises a plain ``ValueError`` for a change that makes no sense, before
    it writes anything.
    """
    from pyiceberg.exceptions import ValidationError

    names = {class_.__name__ for class_ in type(error).__mro__}
    if names & _REFUSALS or isinstance(error, ValidationError):
        return True
    return type(error) is ValueError and not by_server


def _what(table: TableMetadata) -> str:
    return f"expiring snapshots of {table.content_key}"


def _identifier(table: TableMetadata) -> tuple[str, ...]:
    identifier = identifier_of(table.content_key)
    if identifier is None:
        raise RepositoryError(f"{table.content_key} is no name of a table of this catalog")
    return identifier


def _updates(table: Table, removal: Removal, portion: int, *, by_server: bool) -> Iterator[TableUpdate]:
    """What is taken out, in the order in which PyIceberg can do it.

    PyIceberg itself would leave statistics by partition behind, and fails where a snapshot has two files of statistics.
    It cannot take out a branch or tag whose snapshot is not listed: where it makes the commit, such a ref stays.
    """
    from pyiceberg.table.update import (
        RemovePartitionStatisticsUpdate,
        RemoveSnapshotRefUpdate,
        RemoveStatisticsUpdate,
    )

    metadata, gone = table.metadata, removal.snapshot_ids
    listed = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    refs = [name for name in sorted(removal.refs) if by_server or metadata.refs[name].snapshot_id in listed]
    yield from (RemoveSnapshotRefUpdate.model_validate({"ref-name": name}) for name in refs)
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
