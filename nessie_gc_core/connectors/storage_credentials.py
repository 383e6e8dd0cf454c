"""Abilities with which credentials go from a repository to the connectors that reach its files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.credentials import CredentialPlace, CredentialUse, StorageCredential


@runtime_checkable
class SupportsStorageCredentials(Protocol):
    """A repository whose server gives temporary credentials for the files of its contents.

    The collector asks wherever files are read, listed or deleted, on executors too, through a connector that is created
    there from the same options. Credentials stay in the memory of the process that asked for them.
    """

    def credential_uses(self) -> Collection[CredentialUse]:
        """What the credentials are used for, according to its options; empty if they are not used.

        Sends no request.
        """

    def credential_places(self) -> Iterator[CredentialPlace]:
        """Where files of contents are, without credentials; called once per run, on the driver.

        The longest location above a file wins. A file below none of them is reached with configured credentials.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for
                :meth:`nessie_gc_core.connectors.RepositoryConnector.references`.
        """

    def storage_credentials(self, owner: str) -> Sequence[StorageCredential]:
        """New credentials for the files of one content; empty if the server gives none, or the content is gone.

        The longest prefix above a file wins. Called again when they are about to expire, and when a store rejects them.

        Args:
            owner: whose, as in :meth:`credential_places`.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`credential_places`.
        """


@runtime_checkable
class CredentialSource(Protocol):
    """What a connector asks for credentials; used from several threads at once."""

    def credential(self, location: str) -> StorageCredential | None:
        """Valid credentials for a raw path or location; ``None``: reach it with the configured ones.

        Its ``scope`` stays the same when they are renewed, and is different for other credentials.

        Raises:
            NessieGcError: the repository does not answer; then reach nothing there.
        """

    def renewed(self, location: str, rejected: StorageCredential) -> StorageCredential | None:
        """Other credentials after the store rejected some; ``None`` if there are none, or it was asked a moment ago.

        Raises:
            NessieGcError: as for :meth:`credential`.
        """


@runtime_checkable
class SupportsCredentialSource(Protocol):
    """A reader, lister or deleter that reaches files with the credentials of a repository where there are some.

    They replace configured credentials for the same kind of store. Endpoints, proxies and whatever else decides where
    requests go stay as they are configured (S28).
    """

    def use_credentials(self, source: CredentialSource) -> None:
        """Called at most once, before anything else."""
