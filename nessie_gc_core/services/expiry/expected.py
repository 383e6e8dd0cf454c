"""A repository as it will be when snapshots have expired: what a mark sees before anything is committed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.connectors import (
    RepositoryConnector,
    SupportsFormerIdentities,
    SupportsSharedClock,
    SupportsSnapshotExpiry,
)
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.live_sets import EXPECTED
from nessie_gc_core.model.repository import (
    ICEBERG_SNAPSHOT,
    ICEBERG_TABLE,
    ContentVersion,
    LogEntry,
    Operation,
    Reference,
)
from nessie_gc_core.model.table_metadata import Removal, TableMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table from which something is to be removed."""

    table: TableMetadata
    """The table, without what its metadata lists."""
    removal: Removal
    """What is to be removed."""
    snapshots: int
    """How many snapshots it lists."""


Decide = Callable[[TableMetadata], Removal]
"""What is to be removed from a table."""


class ExpectedRepository(RepositoryConnector):
    """Reads a repository, and shows it without what is to be removed.

    One reference stands for one table. Of such a table every listed snapshot that stays is live by itself, and what its
    branches and tags hold by now is not: some of them are to go.
    """

    name = "expected"

    def __init__(self, repository: RepositoryConnector, decide: Decide, *, parallelism: int) -> None:
        super().__init__(repository.options)
        self._repository = repository
        self._decide = decide
        self._parallelism = parallelism
        self._lock = threading.Lock()
        self._planned: dict[str, PlannedTable] = {}
        self._looked_at: set[str] = set()
        self.unreadable: dict[str, str] = {}
        """Tables whose metadata is invalid, with the reason."""

    @property
    def planned(self) -> Sequence[PlannedTable]:
        """The tables with something to remove, of those references that were listed so far."""
        return [self._planned[name] for name in sorted(self._planned)]

    def identity(self) -> str:
        """That of the repository."""
        return self._repository.identity()

    def address(self) -> str:
        """That of the repository."""
        return self._repository.address()

    def former_identities(self) -> Sequence[str]:
        """Those of the repository, where it knows some."""
        inner = self._repository
        return inner.former_identities() if isinstance(inner, SupportsFormerIdentities) else ()

    def shared_time(self) -> datetime | None:
        """That of the repository, where it tells."""
        return self._repository.shared_time() if isinstance(self._repository, SupportsSharedClock) else None

    def references(self) -> Iterator[Reference]:
        """All, with another head where something is to be removed; a few are read ahead of the consumer."""
        with ThreadPoolExecutor(self._parallelism, thread_name_prefix="expiry") as pool:
            ahead: deque[Future[Reference]] = deque()
            try:
                for reference in self._repository.references():
                    ahead.append(pool.submit(self._expected, reference))
                    if len(ahead) > 2 * self._parallelism:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()

    def _expected(self, reference: Reference) -> Reference:
        """The reference as it will be; one that moved since it was looked at first is shown as it is."""
        with self._lock:
            planned = self._planned.get(reference.name)
            is_new = reference.name not in self._looked_at
            self._looked_at.add(reference.name)
        if is_new:
            planned = self._plan(reference)
        if planned is None or planned.table.commit_id != reference.commit_id:
            return reference
        return replace(reference, commit_id=_expected_id(reference.commit_id, reference.name))

    def _plan(self, reference: Reference) -> PlannedTable | None:
        assert isinstance(self._repository, SupportsSnapshotExpiry)
        for table in self._tables(reference):
            removal = self._decide(table)
            if removal:
                bare = replace(table, snapshots=(), metadata_log=())
                planned = PlannedTable(table=bare, removal=removal, snapshots=len(table.snapshots))
                with self._lock:
                    self._planned[reference.name] = planned
                return planned
        return None

    def _tables(self, reference: Reference) -> list[TableMetadata]:
        assert isinstance(self._repository, SupportsSnapshotExpiry)
        try:
            return list(self._repository.tables(reference))
        except UnreadableFileError as error:
            with self._lock:
                self.unreadable[reference.name] = error.reason
            return []

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """That of the repository, without what is to be removed."""
        planned = self._planned_at(reference)
        if planned is None:
            yield from self._repository.commit_log(reference)
            return
        for entry in self._repository.commit_log(replace(reference, commit_id=planned.table.commit_id)):
            operations = tuple(_expected_operations(entry.operations or (), planned))
            parent = None if entry.parent_id is None else _expected_id(entry.parent_id, reference.name)
            commit_id = _expected_id(entry.commit_id, reference.name)
            yield replace(entry, commit_id=commit_id, parent_id=parent, operations=operations)

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """Those of the repository, without what is to be removed."""
        planned = self._planned_at(reference)
        if planned is None:
            yield from self._repository.contents(reference)
            return
        for version in self._repository.contents(replace(reference, commit_id=planned.table.commit_id)):
            expected = _expected_version(version, planned)
            if expected is not None:
                yield expected

    def _planned_at(self, reference: Reference) -> PlannedTable | None:
        if not (reference.commit_id or "").endswith(EXPECTED):
            return None
        with self._lock:
            return self._planned[reference.name]


def _expected_id(commit_id: str | None, reference: str) -> str:
    """The id of a commit that is not made yet; two tables on one metadata file may have rules of their own (S16)."""
    return f"{commit_id}~{reference}{EXPECTED}"


def _expected_operations(operations: Sequence[Operation], planned: PlannedTable) -> Iterator[Operation]:
    for operation in operations:
        if operation.content is None:
            yield operation
            continue
        expected = _expected_version(operation.content, planned)
        if expected is not None:
            yield replace(operation, content=expected)


def _expected_version(version: ContentVersion, planned: PlannedTable) -> ContentVersion | None:
    """The version as it will be; ``None`` if it will not be."""
    removal, table = planned.removal, planned.table
    if version.content_type != ICEBERG_TABLE or version.metadata_location != table.metadata_location:
        return None if version.metadata_location in removal.metadata_files else version
    if version.snapshot_id in removal.snapshot_ids:
        return None
    return replace(version, content_type=ICEBERG_SNAPSHOT)
