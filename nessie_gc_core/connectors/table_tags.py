"""What a repository can do in whose tables tags are made; writing is an ability beside its contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.repository import Reference
from nessie_gc_core.model.table_metadata import TableMetadata


@runtime_checkable
class SupportsTableTags(Protocol):
    """A repository, each reference of which is one table, that makes and deletes Iceberg's tags in it.

    Only services that write ask for it. The account needs the right to read and to change the tables.
    """

    def tables(self, reference: Reference) -> Iterator[TableMetadata]:
        """The Iceberg tables at ``reference.commit_id``; whatever is none is left out.

        Raises:
            UnreadableFileError: the metadata of one makes no sense, or cannot be read.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for
                :meth:`nessie_gc_core.connectors.RepositoryConnector.references`.
        """

    def reload(self, table: TableMetadata) -> TableMetadata | None:
        """The table as it is now; ``None`` where it is gone, or is another table.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`tables`.
        """

    def change_tags(self, table: TableMetadata, *, made: Mapping[str, int], deleted: Mapping[str, int]) -> None:
        """Makes some tags, and deletes others, in one commit; nothing else about the table changes.

        Tags that are made expire at no age: whoever made them deletes them.

        The commit is made only if no branch or tag has one of the new names, every tag that goes is at the snapshot
        that is named, and the table is where ``table`` has it.

        Args:
            table: the table as it was read.
            made: new tags, each with its snapshot.
            deleted: tags that go, each with its snapshot.

        Raises:
            CommitConflictError: somebody else was faster; nothing was committed.
            CommitUnknownError: it cannot be told whether it was committed.
            ConfigurationError, AccessDeniedError, RepositoryError: it was refused; nothing was committed.
        """
