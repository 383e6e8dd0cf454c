"""Tests of credentials that a repository gives, and of connectors that take them."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from nessie_gc_core.connectors import (
    FileLister,
    RepositoryConnector,
    SupportsCredentialSource,
    SupportsStorageCredentials,
)
from nessie_gc_core.model.credentials import CredentialUse, StorageCredential
from nessie_gc_core.testing.demands import demands, skip_without
from nessie_gc_core.testing.paths import PutFile

_NOBODY = "no-such-content"


class NoCredentials:
    """A source of a repository that has no credentials for any place."""

    def credential(self, location: str) -> StorageCredential | None:
        return None

    def renewed(self, location: str, rejected: StorageCredential) -> StorageCredential | None:
        return None


class RepositoryCredentialTests:
    """Of a repository."""

    @demands(
        "SupportsStorageCredentials: a content that does not exist has no credentials: return none, and raise an error "
        "only if the server does not answer."
    )
    def test_a_content_that_does_not_exist_has_no_credentials(self, repository: RepositoryConnector) -> None:
        if not isinstance(repository, SupportsStorageCredentials):
            skip_without(repository, SupportsStorageCredentials)
        uses, given = set(repository.credential_uses()), list(repository.storage_credentials(_NOBODY))
        assert (set(), []) == (uses - set(CredentialUse), given)


class ListerCredentialTests:
    """Of a lister."""

    @demands(
        "SupportsCredentialSource: what a repository has no credentials for is reached with the configured ones, as if "
        "there were no source."
    )
    def test_without_credentials_of_a_repository_files_are_listed_as_ever(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        if not isinstance(lister, SupportsCredentialSource):
            skip_without(lister, SupportsCredentialSource)
        lister.use_credentials(NoCredentials())
        put_file(location, "data/a", b"x")
        assert [(location, "data/a")] == [(file.location, file.path) for file in lister.list_files(location)]
