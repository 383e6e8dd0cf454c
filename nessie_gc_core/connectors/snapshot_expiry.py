"""What a repository can do in whose tables snapshots are expired; writing is an ability beside its contract.

A plain catalog makes the commit itself; a repository with a history of its own takes a metadata file that is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.repository import ContentVersion, Reference
from nessie_gc_core.model.table_metadata import Removal, TableMetadata


@runtime_checkable
class SupportsSnapshotExpiry(Protocol):
    """A repository that commits metadata from which snapshots, branches and tags are taken out.

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

    def with_unused(self, table: TableMetadata, removal: Removal) -> Removal:
        """The same removal, with the schemas and partition specs that nothing names when it is made.

        No schema or spec goes that is the current one, that a snapshot or a manifest names which stays, or that has the
        highest id, so that no id is given out twice. What cannot be read keeps them all.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`tables`.
        """

    def remove_snapshots(self, table: TableMetadata, removal: Removal) -> None:
        """Takes all that a removal names out of a table's metadata, in one commit.

        The commit is made only if every branch and tag of the table is where ``table`` has it. No file is deleted.

        Raises:
            CommitConflictError: somebody else was faster; nothing was committed.
            CommitUnknownError: it cannot be told whether it was committed.
            AccessDeniedError, RepositoryError: it was refused; nothing was committed.
        """


@runtime_checkable
class SupportsMetadataCommits(Protocol):
    """A repository with a history of its own, in which a commit gives tables on a branch other metadata files.

    Only services that write ask for it. The account needs the right to commit to the branch, and to change the tables.
    """

    def commit_metadata(
        self, branch: Reference, changes: Sequence[tuple[ContentVersion, str]], *, message: str
    ) -> None:
        """Gives tables new metadata files, in one commit; nothing else about them changes, and no file is deleted.

        The commit is made only if none of the tables has changed since ``branch.commit_id``. What was committed to
        others meanwhile stays. It is sent once: whoever does not get the answer knows nothing.

        Args:
            branch: the branch at the commit that was read; never a tag.
            changes: tables as they are visible there, each with the raw path of its new metadata file.
            message: what the history says of it.

        Raises:
            CommitConflictError: one of the tables has changed since, or the branch is gone; nothing was committed.
            CommitUnknownError: it cannot be told whether it was committed.
            ConfigurationError: it is a tag.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was committed.
        """
