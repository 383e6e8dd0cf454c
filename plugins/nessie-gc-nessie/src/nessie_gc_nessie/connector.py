"""The repository connector ``nessie``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from itertools import chain
from typing import ClassVar, cast

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ConfigurationError, ReferenceNotFoundError, RepositoryError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference, ReferenceKind
from nessie_gc_core.model.urls import comparable
from nessie_gc_nessie.authentication import Authentication, anonymous, basic, bearer
from nessie_gc_nessie.client import NessieClient
from nessie_gc_nessie.commits import commit_metadata
from nessie_gc_nessie.contents import COMMIT_ID, elements_of, entry_of, log_entry_of, reference_of
from nessie_gc_nessie.oauth2 import OAuth2ClientCredentials
from nessie_gc_nessie.options import NessieOptions
from nessie_gc_nessie.references import delete_reference, make_reference, merge_branch, rights_to_make
from nessie_gc_nessie.transport import Transport

FIRST_HISTORY_PAGE = 32
"""Most branches join history that is known after a few commits; pages grow from here."""
LARGEST_HISTORY_PAGE = 250
"""What the server gives at most, whatever is asked for."""
_INSTANT = re.compile(r"\d{4,}-\d\d-\d\dT[0-9:.]{5,20}Z")


class NessieConnector(RepositoryConnector):
    """Reads a Nessie server by its REST API, version 2; writes only where a service asks for an ability that does.

    History and contents are read at the commit itself (``@hash``), so neither the name of a reference nor what
    arrives on it later plays a part. The account must be allowed to read every reference and content: Nessie
    silently leaves out of a history what an account may not see.
    """

    name: ClassVar[str] = "nessie"
    Options: ClassVar[type[ConnectorOptions]] = NessieOptions

    def __init__(
        self,
        options: ConnectorOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(options)
        resolved = cast(NessieOptions, options).resolved()
        if resolved.uri.rstrip("/").endswith("/api/v1"):
            raise ConfigurationError(f"{resolved.uri} is version 1 of Nessie's REST API; use .../api/v2")
        self._configured_identity = resolved.identity
        self._identity: str | None = None
        self._page_size = resolved.page_size
        self._authentication_type = resolved.authentication
        self._transport = Transport(resolved, sleep=sleep, clock=clock)
        authentication = _authentication(resolved, self._transport, clock)
        self._client = NessieClient(resolved.uri, authentication, self._transport, resolved.limits())

    def identity(self) -> str:
        """The option ``identity``, else the instant at which the server says its repository was created.

        Every address of one repository gives the same. Of a server that does not say it, its URI in one spelling.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError, ConfigurationError: it does not answer so.
        """
        if self._configured_identity is not None:
            return self._configured_identity
        if self._identity is None:
            self._identity = self._created() or comparable(self._client.uri)
        return self._identity

    def address(self) -> str:
        """The server's URI."""
        return self._client.uri

    def shared_time(self) -> datetime | None:
        """The ``Date`` header of an answer, which proxies add; Nessie itself sends none."""
        return self._client.time("config")

    def former_identities(self) -> list[str]:
        """What the records of this repository may stand under: what the server says, and its URI."""
        found = [self._created(), comparable(self._client.uri), self._client.uri]
        return [each for each in dict.fromkeys(found) if each is not None and each != self.identity()]

    def _created(self) -> str | None:
        """The instant of the repository's creation, to the nanosecond, with a name before it."""
        created = self._client.config().get("repositoryCreationTimestamp")
        if not isinstance(created, str) or not _INSTANT.fullmatch(created) or created.startswith("1970-"):
            return None
        return f"nessie:created:{created}"

    def references(self) -> Iterator[Reference]:
        """All branches and tags; errors as the contract says, and ConfigurationError where no Nessie API is there.

        A server without any is one that hides them from the account, or forgot them: its default branch never goes.
        """
        pages = self._client.pages("trees", {}, items="references", sizes=self._listing_page_size)
        is_empty = True
        with closing(pages):
            for found in chain.from_iterable(pages):
                is_empty = False
                yield reference_of(found, self._client.is_no_commit)
        if is_empty:
            raise RepositoryError(
                f"Nessie at {self._client.uri} lists no reference, though its default branch is always there; grant "
                "the account VIEW_REFERENCE, and check any proxy in front of the server"
            )

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """The history of the reference's commit in growing pages; a gap or an early end is a RepositoryError."""
        if reference.commit_id is None:
            return
        head = _checked_commit_id(reference).lower()
        if self._client.is_no_commit(head):
            return
        expected: str | None = head
        path, is_head = f"trees/@{head}/history", True
        pages = self._client.pages(path, {"fetch": "ALL"}, items="logEntries", sizes=self._history_page_size)
        with closing(pages):
            for found in chain.from_iterable(pages):
                entry = log_entry_of(found, self._client.is_no_commit)
                # only the reference's own commit may be shortened
                if not (entry.commit_id.startswith(head) if is_head else entry.commit_id == expected):
                    raise self._gap(reference, expected or "the end", f"commit {entry.commit_id}")
                if entry.parent_id == entry.commit_id:
                    raise self._gap(reference, "a parent", f"commit {entry.commit_id}, which is its own")
                expected, is_head = entry.parent_id, False
                yield entry
        if expected is not None:
            raise self._gap(reference, expected, "the end")

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """The contents at the reference's commit, a page of keys with their contents at a time."""
        if reference.commit_id is None:
            return
        commit_id = _checked_commit_id(reference)
        if self._client.is_no_commit(commit_id):
            return
        for found in self._entries(commit_id):
            version = entry_of(found, commit_id)
            if version is not None:
                yield version

    def _entries(self, commit_id: str) -> Iterator[object]:
        """All keys at a commit, each once: where one comes twice, another one may be missing."""
        path, seen = f"trees/@{commit_id}/entries", set[tuple[str, ...]]()
        pages = self._client.pages(path, {"content": "true"}, items="entries", sizes=self._listing_page_size)
        with closing(pages):
            for found in chain.from_iterable(pages):
                elements = elements_of(found)
                if elements in seen:
                    raise self._client.nonsense(path, f"lists the key {'.'.join(elements)!r} twice")
                seen.add(elements)
                yield found

    def commit_metadata(
        self, branch: Reference, changes: Sequence[tuple[ContentVersion, str]], *, message: str
    ) -> None:
        """One commit on the branch; the server refuses it where a key changed since the commit that was read."""
        entries = self._entries(_checked_commit_id(branch))
        commit_metadata(self._client, branch, entries, changes, message)

    def default_reference(self) -> str:
        """The server's default branch."""
        name = self._client.config().get("defaultBranch")
        if not isinstance(name, str) or not name:
            raise self._client.nonsense("config", "does not name a default branch")
        return name

    def make_branch(self, name: str) -> bool:
        """Creates a branch that begins before the first commit, so that it holds nothing and keeps nothing alive."""
        body = {"type": "DETACHED", "hash": self._client.no_commit()}
        what, rights = f"the branch {name!r}", rights_to_make(ReferenceKind.BRANCH)
        conflict = self._client.post("trees", {"name": name, "type": "BRANCH"}, body, what=what, rights=rights)
        if conflict is None:
            return True
        if conflict != "REFERENCE_ALREADY_EXISTS":
            raise RepositoryError(f"Nessie at {self._client.uri} did not create the branch {name!r}: {conflict}")
        kind = next((found.kind for found in self.references() if found.name == name), None)
        if kind is ReferenceKind.TAG:
            raise ConfigurationError(f"{name!r} is a tag in Nessie at {self._client.uri}; choose a branch")
        return False

    def make_tag(self, name: str, at: Reference) -> bool:
        """Creates a tag at a commit of a branch."""
        return make_reference(self._client, name, ReferenceKind.TAG, at)

    def delete_tag(self, tag: Reference) -> bool:
        """Deletes a tag on condition that it is at its commit."""
        return delete_reference(self._client, tag)

    def copy_branch(self, name: str, source: Reference) -> bool:
        """Creates a branch at the commit of another one."""
        return make_reference(self._client, name, ReferenceKind.BRANCH, source)

    def merge_branch(self, source: Reference, into: Reference, *, message: str) -> None:
        """One commit on the target, which has what was committed to the source."""
        merge_branch(self._client, source, into, message)

    def drop_branch(self, branch: Reference) -> bool:
        """Deletes a branch on condition that it is at its commit."""
        return delete_reference(self._client, branch)

    def describe(self) -> str:
        """One line about the server, for ``nessie-gc check``; asks it.

        Raises:
            ConfigurationError: it does not speak version 2 of the REST API.
            ServiceUnavailableError, AccessDeniedError, RepositoryError: as for :meth:`references`.
        """
        config = self._client.config()
        newest = config.get("maxSupportedApiVersion")
        if not isinstance(newest, int):
            raise self._client.nonsense("config", "does not name the versions of the REST API")
        if newest < 2 or config.get("actualApiVersion", 2) != 2:
            raise ConfigurationError(
                f"Nessie at {self._client.uri} does not support version 2 of the REST API; check the URI and upgrade "
                "the server"
            )
        return (
            f"Nessie at {self._client.uri}: REST API 2, specification {config.get('specVersion') or 'unknown'}, "
            f"default branch {config.get('defaultBranch')}, authentication {self._authentication_type}"
        )

    def close(self) -> None:
        """Closes idle connections."""
        self._transport.close()

    def _gap(self, reference: Reference, expected: str, found: str) -> RepositoryError:
        return RepositoryError(
            f"Nessie at {self._client.uri}: the history of {reference.name!r} is broken: expected {expected}, "
            f"found {found}; check the server and any proxy in front of it"
        )

    def _listing_page_size(self, number: int) -> int:
        return self._page_size

    def _history_page_size(self, number: int) -> int:
        return min(FIRST_HISTORY_PAGE << min(number, 8), LARGEST_HISTORY_PAGE, self._page_size)


def _authentication(options: NessieOptions, transport: Transport, clock: Callable[[], float]) -> Authentication:
    if options.authentication == "oauth2":
        return OAuth2ClientCredentials(options, transport, clock=clock)
    return {"none": anonymous, "bearer": bearer, "basic": basic}[options.authentication](options)


def _checked_commit_id(reference: Reference) -> str:
    commit_id = reference.commit_id or ""
    if not COMMIT_ID.fullmatch(commit_id):
        raise ReferenceNotFoundError(
            f"commit {commit_id!r} of reference {reference.name!r} does not exist: it is not a Nessie commit hash"
        )
    return commit_id
