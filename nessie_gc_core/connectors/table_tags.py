"""Abilities of repositories whose tables can have tags; the repository contract itself only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.repository import Reference
from nessie_gc_core.model.table_metadata import TableMetadata


@runtime_checkable
class SupportsTableTags(Protocol):
    """A repository with one reference per table, which creates and deletes Iceberg tags in tables.

    Only services that write use it. The account needs the right to read and to change the tables.
    """

    def tables(self, reference: Reference) -> Iterator[TableMetadata]:
        """The Iceberg tables at ``reference.commit_id``; other contents are left out.

        Raises:
            UnreadableFileError: the metadata of one is invalid, or cannot be read.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for
                :meth:`nessie_gc_core.connectors.RepositoryConnector.references`.
        """

    def reload(self, table: TableMetadata) -> TableMetadata | None:
        """The table as it is now; ``None`` if it no longer exists, or was replaced by another table.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`tables`.
        """

    def change_tags(self, table: TableMetadata, *, made: Mapping[str, int], deleted: Mapping[str, int]) -> None:
        """Creates some tags and deletes others, in one commit; nothing else about the table changes.

        Created tags never expire by age: whoever created them deletes them.

        The commit is made only if no branch or tag has one of the new names, every deleted tag is at the named
        snapshot, and the table is still as in ``table``.

        Args:
            table: the table as it was read.
            made: new tags, each with its snapshot.
            deleted: tags to delete, each with its snapshot.

        Raises:
            CommitConflictError: someone else committed first; nothing was committed.
            CommitUnknownError: it is unknown whether it was committed.
            ConfigurationError, AccessDeniedError, RepositoryError: it was rejected; nothing was committed.
        """
