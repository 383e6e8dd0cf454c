"""What repositories say of their references and histories, held to what it announces, whatever plugin says it (S34).

A history that is shorter than it is, or that goes in circles and so uses up a cut-off, makes live states look like
garbage. So each of these is an error, and never an end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from nessie_gc_core.algorithms.key_table import KeyTable
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.closing import closed
from nessie_gc_core.model.repository import LogEntry, Reference


def commit_key(commit_id: str) -> bytes:
    """The 16-byte key of a commit."""
    return hashlib.blake2b(commit_id.encode(errors="surrogatepass"), digest_size=16).digest()


def checked_references(repository: RepositoryConnector) -> Iterator[Reference]:
    """All references of a repository, each once.

    Raises:
        RepositoryError: a name comes twice, so that one of the two, or another one, may be missing.
        NessieGcError: they cannot be listed.
    """
    seen: set[str] = set()
    for reference in repository.references():
        if reference.name in seen:
            raise RepositoryError(
                f"{repository.address()} lists the reference {reference.name!r} twice, so others may be missing; run "
                "again, and check the server and any proxy in front of it"
            )
        seen.add(reference.name)
        yield reference


def checked_log(repository: RepositoryConnector, reference: Reference) -> Iterator[LogEntry]:
    """The history of a reference: from its commit to the first one, each commit once and the parent of that before.

    Takes about 25 bytes for each commit that was read.

    Raises:
        RepositoryError: the history has a gap, ends early, or comes to a commit again.
        NessieGcError: it cannot be read.
    """
    expected, seen = reference.commit_id, KeyTable()
    if expected is None:
        return
    with closed(repository.commit_log(reference)) as entries:
        for entry in entries:
            if entry.commit_id != expected:
                raise broken(repository, reference, f"expected {expected}, found {entry.commit_id}")
            seen.add(commit_key(entry.commit_id))
            expected = entry.parent_id
            if expected is not None and commit_key(expected) in seen:
                raise goes_in_circles(repository, reference, expected)
            if expected is None and next(entries, None) is not None:  # nobody asks for more than the first commit
                raise broken(repository, reference, f"it goes on after commit {entry.commit_id}, which has no parent")
            yield entry
    if expected is not None:
        raise broken(repository, reference, f"it ends before commit {expected}, which it names as the next one")


def goes_in_circles(repository: RepositoryConnector, reference: Reference, commit_id: str) -> RepositoryError:
    """The error for a history in which a commit is its own ancestor."""
    return broken(repository, reference, f"it comes to commit {commit_id} again")


def broken(repository: RepositoryConnector, reference: Reference, what: str) -> RepositoryError:
    """The error for a history that cannot be trusted."""
    return RepositoryError(
        f"{repository.address()}: the history of {reference.name!r} is broken: {what}; check the server and any proxy "
        "in front of it"
    )
