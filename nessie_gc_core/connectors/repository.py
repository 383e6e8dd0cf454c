"""The contract of repositories: where references, commits and contents come from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference


class RepositoryConnector(Connector):
    """Reads a repository: a Nessie server, or one plain Iceberg catalog.

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

    A catalog without its own history returns one reference per table, and one log entry per state of the table that it
    keeps; :meth:`contents` may then be empty, because the log already names every state.

    A content version without a snapshot id keeps every snapshot that its metadata lists. To let policies expire older
    snapshots, a connector returns one version for each, with its snapshot id (S25).
    """

    @abstractmethod
    def identity(self) -> str:
        """A string that identifies the repository, without credentials; the same for every spelling of its address.

        The store keeps leases, live sets, tombstones and the register of contents under it, so two collectors that
        reach one repository by two addresses must get the same string: the server's own id if that is stable, else a
        configured name, else the normalized address (:func:`nessie_gc_core.model.urls.comparable`). It may ask the
        server, and never changes while the connector is open.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`references`.
        """

    def address(self) -> str:
        """The address that reports show, without credentials; sends no request."""
        return self.identity()

    @abstractmethod
    def references(self) -> Iterator[Reference]:
        """All branches and tags of all pages, each with its head, in any order.

        Raises:
            ServiceUnavailableError: the server does not answer, after the connector's own retries.
            AccessDeniedError: the server rejects the credentials.
            RepositoryError: the response is invalid, or the repository does not exist. Never return an empty result
                instead: what no reference reaches is garbage (S6).
        """

    @abstractmethod
    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """First-parent history of ``reference.commit_id``, newest first, including that commit.

        Later commits on the reference are not included. Empty if the reference has no commit. If the metadata of a
        table cannot be read, raise an error, or return a PUT that names the metadata, and beside it one of the type
        :data:`~nessie_gc_core.model.UNKNOWN_CONTENT` if it may be readable later; never a log without states (S6).

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
    """A repository that knows other identities under which its records may be stored."""

    def former_identities(self) -> Sequence[str]:
        """Identities that it had, or would have with another configuration; a mark that finds records there warns."""


@runtime_checkable
class SupportsDefaultReference(Protocol):
    """A repository with a default branch."""

    def default_reference(self) -> str:
        """The name of that branch.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`RepositoryConnector.references`.
        """


@runtime_checkable
class SupportsBranches(Protocol):
    """A repository in which branches can be created. Writing is an optional ability; the contract itself only reads."""

    def make_branch(self, name: str) -> bool:
        """Creates an empty branch, unless it already exists; returns whether it was created.

        Raises:
            ConfigurationError: there is a tag with this name.
            AccessDeniedError: the account may not create branches.
            ServiceUnavailableError, RepositoryError: as for :meth:`RepositoryConnector.references`.
        """


@runtime_checkable
class SupportsWorkBranches(Protocol):
    """A repository in which work can be done on a separate branch and merged back. Only services that write use it.

    The account needs the right to create and delete branches, and to commit to the target branch. Each request is sent
    once: if the response is lost, the outcome is unknown.
    """

    def copy_branch(self, name: str, source: Reference) -> bool:
        """Creates a branch at the commit of another one; ``False`` if there is a reference with this name.

        Raises:
            ReferenceNotFoundError: the commit does not exist.
            CommitUnknownError: it is unknown whether it was created.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was created.
        """

    def merge_branch(self, source: Reference, into: Reference, *, message: str) -> None:
        """Merges the commits of a branch into the branch that it was created from, in one commit.

        Args:
            source: the branch at the commit that is merged.
            into: the target branch at the commit from which ``source`` was created; later commits stay.
            message: the commit message.

        Raises:
            CommitConflictError: both changed the same content; nothing was committed.
            CommitUnknownError: it is unknown whether it was committed.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was committed.
        """

    def drop_branch(self, branch: Reference) -> bool:
        """Deletes a branch; ``False`` without any change if it does not exist, or is at another commit.

        Raises:
            CommitUnknownError: it is unknown whether it was deleted.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was deleted.
        """


@runtime_checkable
class SupportsTags(Protocol):
    """A repository in which tags can be created and deleted. Only services that write use it.

    The account needs the right to create and delete tags. Each request is sent once: if the response is lost, the
    outcome is unknown.
    """

    def make_tag(self, name: str, at: Reference) -> bool:
        """Creates a tag; ``False`` without any change if there is a reference with this name.

        Args:
            name: its name.
            at: a branch or tag, at the commit in its history where the tag is created.

        Raises:
            ReferenceNotFoundError: the reference or the commit does not exist.
            CommitUnknownError: it is unknown whether it was created.
            ConfigurationError: the repository does not allow this name.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was created.
        """

    def delete_tag(self, tag: Reference) -> bool:
        """Deletes a tag; ``False`` without any change if it does not exist, or is at another commit.

        Raises:
            CommitUnknownError: it is unknown whether it was deleted.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: it was rejected; nothing was deleted.
        """
