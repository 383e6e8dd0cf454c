"""Abilities of repositories whose tables can expire snapshots; the repository contract itself only reads.

A plain catalog makes the commit itself; a repository with its own history takes a metadata file that was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.repository import ContentVersion, Reference
from nessie_gc_core.model.table_metadata import Removal, TableMetadata


@runtime_checkable
class SupportsSnapshotExpiry(Protocol):
    """A repository that commits table metadata without some snapshots, branches and tags.

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

    def with_unused(self, table: TableMetadata, removal: Removal) -> Removal:
        """The same removal, plus the schemas and partition specs that nothing uses afterwards.

        Kept are the current schema and spec, those that a remaining snapshot or manifest uses, and those with the
        highest id, so that no id is used twice. If anything cannot be read, all are kept.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`tables`.
        """

    def remove_snapshots(self, table: TableMetadata, removal: Removal) -> None:
        """Removes everything that a removal names from a table's metadata, in one commit.

        The commit is made only if every branch and tag of the table is still where ``table`` has it. No file is
        deleted.

        Raises:
            CommitConflictError: someone else committed first; nothing was committed.
            CommitUnknownError: it is unknown whether it was committed.
            AccessDeniedError, RepositoryError: it was rejected; nothing was committed.
        """


@runtime_checkable
class SupportsMetadataCommits(Protocol):
    """A repository with its own history, in which a commit points tables on a branch to other metadata files.

    Only services that write use it. The account needs the right to commit to the branch and to change the tables.
    """

    def commit_metadata(
        self, branch: Reference, changes: Sequence[tuple[ContentVersion, str]], *, message: str
    ) -> None:
        """Points tables to new metadata files, in one commit; nothing else about them changes, and no file is deleted.

        The commit is made only if none of the tables has changed since ``branch.commit_id``. Commits to other tables in
        the meantime stay. It is sent once: if the response is lost, the outcome is unknown.

        Args:
            branch: the branch at the commit that was read; never a tag.
            changes: tables as they are visible there, each with the raw path of its new metadata file.
            message: the commit message.

        Raises:
            CommitConflictError: one of the tables changed, or the branch no longer exists; nothing was committed.
            CommitUnknownError: it is unknown whether it was committed.
            ConfigurationError: it is a tag.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was committed.
        """
