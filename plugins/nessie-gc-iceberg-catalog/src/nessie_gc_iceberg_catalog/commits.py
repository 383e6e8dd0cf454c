"""Commits to the tables of a catalog, each on conditions, through PyIceberg."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, ConfigurationError, RepositoryError
from nessie_gc_core.model import Reference, ReferenceKind, TableMetadata
from nessie_gc_iceberg_catalog.errors import Redactor, translated
from nessie_gc_iceberg_catalog.hive import why_locked
from nessie_gc_iceberg_catalog.names import identifier_of
from nessie_gc_iceberg_catalog.selection import Selection
from nessie_gc_iceberg_catalog.states import table_metadata
from nessie_gc_iceberg_catalog.unwritable import takes_locks, why_unloadable, why_unwritable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.update import TableRequirement, TableUpdate

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

PyIceberg has a ``ValidationError`` of its own, for answers 422; that of pydantic says that an answer is invalid, and
comes after a commit that may well have been made.
"""


class TableCommits:
    """Commits to the tables of a catalog, on one that may write metadata files."""

    def __init__(self, catalog: Catalog, catalog_type: str, selection: Selection, redact: Redactor) -> None:
        self._catalog = catalog
        self._type = catalog_type
        self.by_server = catalog_type == "rest"
        """Whether a server makes the commits; else PyIceberg does."""
        self._selection = selection
        self._lock = threading.RLock() if catalog_type == "hive" else nullcontext()
        """A client of a Hive Metastore is one connection, which threads would share."""
        self.redact = redact

    def load(self, table: TableMetadata) -> Table | None:
        """The table as it is now; ``None`` if it is gone, or another one has its name."""
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
        """What is listed by now; ``None`` if the table is gone."""
        from nessie_gc_iceberg_catalog.loading import metadata_text

        loaded = self.load(table)
        if loaded is None:
            return None
        reference = Reference(name=table.reference, kind=ReferenceKind.BRANCH, commit_id=table.commit_id)
        text = metadata_text(loaded)
        found = table_metadata(text, loaded.metadata_location, reference, self._selection)
        return replace(found, unwritable=why_unwritable(self._type, found) or why_unloadable(text))

    def close(self) -> None:
        """Closes the catalog."""
        self._catalog.close()

    def commit(
        self,
        table: TableMetadata,
        what: str,
        requirements: Iterable[TableRequirement],
        updates: Callable[[Table], Iterable[TableUpdate]],
        *,
        retried: tuple[type[Exception], ...] = (),
    ) -> None:
        """Creates one commit to a table that is as it was read.

        Args:
            table: the table as it was read.
            what: what is done to it, for errors.
            requirements: what else must be so when the commit is made.
            updates: what is changed, from the table as it was loaded.
            retried: errors that are left as they are, for whoever tries another way.

        Raises:
            CommitConflictError: someone else was faster.
            CommitUnknownError: nobody can tell whether it was committed.
            NessieGcError: it was refused.
        """
        from pyiceberg.exceptions import CommitFailedException

        try:
            loaded = self.load(table)
        except Exception as error:
            raise translated(error, what, self.redact) from error
        if loaded is None:
            raise CommitConflictError(f"{what}: it no longer exists")
        if loaded.metadata_location != table.metadata_location:
            raise CommitConflictError(f"{what}: someone else committed to it")
        if table.unwritable is not None:
            raise ConfigurationError(f"{what}: {table.unwritable}")
        try:
            changes = tuple(updates(loaded))
            with self._lock:
                self._catalog.commit_table(loaded, (self._same_table(table), *requirements), changes)
        except CommitFailedException as error:
            raise CommitConflictError(f"{what}: {why_locked(error) or self.redact(str(error))}") from error
        except Exception as error:
            if isinstance(error, retried):
                raise
            if _is_refusal(error, by_server=self.by_server):
                raise translated(error, what, self.redact) from error
            reason = self.redact(str(error)) or type(error).__name__
            raise CommitUnknownError(f"{what}: cannot tell whether it was committed ({reason})") from error

    def _same_table(self, table: TableMetadata) -> TableRequirement:
        """It is the same table, and where PyIceberg makes the commit, it has the same branches and tags.

        A server cannot be asked that.
        """
        from pyiceberg.table.update import AssertTableUUID

        uuid = UUID(table.content_id)
        return AssertTableUUID(uuid=uuid) if self.by_server else _same_refs(uuid, table, self._type)


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

    Where PyIceberg makes the commit itself, it raises a plain ``ValueError`` for a change that is invalid, before it
    writes anything.
    """
    from pyiceberg.exceptions import ValidationError

    names = {class_.__name__ for class_ in type(error).__mro__}
    if names & _REFUSALS or isinstance(error, ValidationError):
        return True
    return type(error) is ValueError and not by_server


def _identifier(table: TableMetadata) -> tuple[str, ...]:
    identifier = identifier_of(table.content_key)
    if identifier is None:
        raise RepositoryError(f"{table.content_key} is not a table name of this catalog")
    return identifier
