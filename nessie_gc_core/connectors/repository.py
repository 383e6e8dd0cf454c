"""The contract of repositories: where references, commits and contents come from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference


class RepositoryConnector(Connector):
    """Reads what a repository holds: a Nessie server, or one plain Iceberg catalog.

    Example of a whole plugin::

        import json
        from datetime import UTC, datetime
        from pathlib import Path
        from nessie_gc_core import ConnectorOptions, hookimpl, option, options
        from nessie_gc_core.connectors import RepositoryConnector
        from nessie_gc_core.errors import RepositoryError
        from nessie_gc_core.model import (
            ICEBERG_TABLE,
            ContentVersion,
            LogEntry,
            Operation,
            OperationKind,
            Reference,
            ReferenceKind,
        )

        @options
        class JsonOptions(ConnectorOptions):
            file: str = option("catalog.json", help="JSON that names the metadata file of each table")

        class JsonCatalog(RepositoryConnector):
            name = "json"
            Options = JsonOptions

            def identity(self):
                return f"json:{Path(self.options.file).resolve()}"

            def references(self):
                try:
                    tables = json.loads(Path(self.options.file).read_text())
                except (OSError, ValueError) as error:
                    raise RepositoryError(f"{self.options.file} cannot be read: {error}") from error
                for name, metadata in tables.items():
                    yield Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=metadata)

            def commit_log(self, reference):
                name, metadata = reference.name, reference.commit_id
                where = {"content_key": name, "commit_id": metadata, "metadata_location": metadata}
                content = ContentVersion(content_id=name, content_type=ICEBERG_TABLE, snapshot_id=None, **where)
                put = Operation(kind=OperationKind.PUT, content_key=name, content=content)
                now = datetime.now(UTC)
                yield LogEntry(commit_id=metadata, parent_id=None, commit_time=now, operations=(put,))

            def contents(self, reference):
                return iter(())  # the log names every state

        @hookimpl
        def nessie_gc_register_repository_connector():
            return JsonCatalog

    It is used from several threads at once. It reads, and never writes. Streams are generators that fetch as
    they are consumed; the caller closes them.

    A catalog without a history of its own gives one reference per table and one log entry per state of the
    table that it keeps; its :meth:`contents` may then be empty, because the log already names every state.

    A content version without a snapshot id keeps every snapshot that its metadata lists. A connector that wants
    policies to give up older snapshots gives one version for each, with its snapshot id (S25).
    """

    @abstractmethod
    def identity(self) -> str:
        """What tells this repository from any other, without credentials; the same for every spelling of its address.

        Under it the store keeps leases, live sets, tombstones and the register of contents, so two collectors that
        reach one repository by two addresses must get the same text: what the server says of itself where that is
        stable, else a name that the configuration gives, else the address in one spelling
        (:func:`nessie_gc_core.model.urls.comparable`). It may ask the server; while a connector is open it stays.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`references`.
        """

    def address(self) -> str:
        """Where it is, as reports show it to people; without credentials, and nothing is asked."""
        return self.identity()

    @abstractmethod
    def references(self) -> Iterator[Reference]:
        """All branches and tags, each with its head; every page of them, in any order.

        Raises:
            ServiceUnavailableError: the server does not answer, after the connector's own retries.
            AccessDeniedError: the server refuses the credentials.
            RepositoryError: the answer makes no sense, or the repository does not exist. Never give an empty answer
                instead: what no reference reaches is garbage (S6).
        """

    @abstractmethod
    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """First-parent history of ``reference.commit_id``, newest first, that commit included.

        Commits that arrive on the reference later are not seen. Empty where the reference has no commit. A table
        whose metadata cannot be read is an error, or a PUT that names the metadata; never a log without states (S6).

        Raises:
            ReferenceNotFoundError: the commit does not exist.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`references`.
        """

    @abstractmethod
    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """All contents visible at ``reference.commit_id``, in bulk: never one call per key.

        Contents without files (namespaces, functions that are only text) are left out; contents of unknown types
        are not (S23). A content may come twice.

        Raises:
            ReferenceNotFoundError: the commit does not exist.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`references`.
        """


@runtime_checkable
class SupportsFormerIdentities(Protocol):
    """A repository that knows under which other identities its records may stand."""

    def former_identities(self) -> Sequence[str]:
        """Identities that it had, or would have by another configuration; a mark that finds records there says so."""


@runtime_checkable
class SupportsDefaultReference(Protocol):
    """A repository in which one branch stands for its present state."""

    def default_reference(self) -> str:
        """The name of that branch.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`RepositoryConnector.references`.
        """


@runtime_checkable
class SupportsBranches(Protocol):
    """A repository in which branches can be made: writing is an ability beside the contract, which only reads."""

    def make_branch(self, name: str) -> bool:
        """Makes a branch that holds no content, unless there is one of this name; whether it made one.

        Raises:
            ConfigurationError: there is a tag of this name.
            AccessDeniedError: the account may not make branches.
            ServiceUnavailableError, RepositoryError: as for :meth:`RepositoryConnector.references`.
        """


@runtime_checkable
class SupportsWorkBranches(Protocol):
    """A repository in which work can be done on a branch of its own, and be merged back. Only services that write ask.

    The account needs the right to make and to delete branches, and to commit to the one that is merged into. Each is
    asked for once: whoever does not get the answer knows nothing.
    """

    def copy_branch(self, name: str, source: Reference) -> bool:
        """Makes a branch at the commit of another one; ``False`` where there is a reference of this name.

        Raises:
            ReferenceNotFoundError: the commit does not exist.
            CommitUnknownError: it cannot be told whether it was made.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was made.
        """

    def merge_branch(self, source: Reference, into: Reference, *, message: str) -> None:
        """Puts what was committed to a branch since it was made onto the one that it was made from, in one commit.

        Args:
            source: the branch at the commit that is merged.
            into: the branch at the commit at which the other one was made; what came since stays.
            message: what the history says of it.

        Raises:
            CommitConflictError: both changed a content since; nothing was committed.
            CommitUnknownError: it cannot be told whether it was committed.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was committed.
        """

    def drop_branch(self, branch: Reference) -> bool:
        """Deletes a branch; ``False``, and nothing is changed, where it is gone, or not at this commit any more.

        Raises:
            CommitUnknownError: it cannot be told whether it was deleted.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was deleted.
        """


@runtime_checkable
class SupportsTags(Protocol):
    """A repository in which tags can be made and deleted. Only services that write ask for it.

    The account needs the right to make and to delete tags. Both are asked for once: whoever does not get the answer
    knows nothing.
    """

    def make_tag(self, name: str, at: Reference) -> bool:
        """Makes a tag; ``False``, and nothing is changed, where there is a reference of this name.

        Args:
            name: its name.
            at: a branch or tag, at the commit in its history at which the tag is made.

        Raises:
            ReferenceNotFoundError: the reference or the commit does not exist.
            CommitUnknownError: it cannot be told whether it was made.
            ConfigurationError: the repository takes no such name.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was made.
        """

    def delete_tag(self, tag: Reference) -> bool:
        """Deletes a tag; ``False``, and nothing is changed, where it is gone, or no tag at this commit any more.

        Raises:
            CommitUnknownError: it cannot be told whether it was deleted.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was refused; nothing was deleted.
        """
