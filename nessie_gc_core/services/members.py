"""Several repositories in one run: which live sets belong together, and what is known about unreadable ones (S1).

Live sets that were marked together are known by their ids: that of every repository but the first follows from the id
of the first one and the identity of the repository. So nobody must name more than one, and no sweep of it can leave out
the others by mistake.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    LiveSetNotFoundError,
    RepositoryError,
    SafetyError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, is_of_several, marked_with
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.preconditions import check_made_from
from nessie_gc_core.services.run import Member, Run
from nessie_gc_core.services.stored_versions import marked_live_sets

READ_ERRORS = (ServiceUnavailableError, AccessDeniedError, RepositoryError)
"""What a repository raises that cannot be read; it says nothing about the others."""


def identified(run: Run) -> dict[str, RepositoryConnector]:
    """The repositories of a run by their identities, in their order.

    Raises:
        ConfigurationError: two of them are one.
        ServiceUnavailableError, AccessDeniedError, RepositoryError: one does not answer, and nothing else names it.
    """
    found: dict[str, RepositoryConnector] = {}
    for repository in run.repositories:
        identity = _identity(repository, alone=len(run.repositories) == 1)
        if identity in found:
            raise ConfigurationError(
                f"two of the [[repositories]] are the same: {identity}; leave one out, or give each its own `identity`"
            )
        found[identity] = repository
    return found


def _identity(repository: RepositoryConnector, *, alone: bool) -> str:
    try:
        return repository.identity()
    except READ_ERRORS as error:
        if alone:
            raise
        raise type(error)(
            f"{one_line(error)}; its identity cannot be determined while it is unreachable, so nothing is swept; set "
            "`identity` in its entry of [[repositories]] to freeze only its own tables"
        ) from error


def members(run: Run, live_set: LiveSet) -> Iterator[Member]:
    """The live sets that are swept together with one, which comes first; others if known.

    Raises:
        SafetyError: it is of none of the repositories, or was marked together with one that is not there, or nothing is
            known of one of them.
        ConfigurationError: two of the repositories are one.
    """
    repositories = identified(run)
    check_made_from(live_set, repositories)
    _check_together(run.store, live_set, repositories)
    chosen = next(iter(repositories)) if run.resources.chosen else live_set.repository
    if chosen != live_set.repository:
        raise SafetyError(
            f"live set {live_set.id} belongs to {live_set.repository}: to work on {chosen} alone, mark again with it "
            "as `repository`"
        )
    yield Member(repository=repositories.pop(live_set.repository), live_set=live_set)
    for number, (identity, repository) in enumerate(repositories.items(), 1):
        found = _stored(run.store, marked_with(live_set.id, identity))
        if found is not None and found.status is not LiveSetStatus.IDENTIFY_FAILED:
            yield Member(repository=repository, live_set=found, number=number)
            continue
        why = (
            "it was not marked together with the others" if found is None else f"its mark failed: {found.error_message}"
        )
        yield Member(repository=repository, live_set=newest(run, identity), number=number, unread=why)


def newest(run: Run, identity: str) -> LiveSet:
    """The newest live set of a repository that was marked to its end.

    Raises:
        SafetyError: there is none, so that nothing is known of what it has.
    """
    of_it = [each for each in marked_live_sets(run) if each.repository == identity]
    for each in sorted(of_it, key=lambda each: each.created, reverse=True):
        found = run.store.get(each.id)  # with its heads
        if not found.is_imported and not found.is_of_expiry:  # an imported one may lack contents (S23)
            return found
    raise SafetyError(
        f"{identity} was never marked with this live-set store, so its files are unknown: make it readable and run "
        "again, or leave it out if it shares no location with the others"
    )


def together(store: LiveSetStore, live_set: LiveSet) -> list[LiveSet]:
    """All live sets that were marked together with one, that one included."""
    stored = list(store.live_sets())
    first = next((each for each in stored if marked_with(each.id, live_set.repository) == live_set.id), live_set)
    others = (each for each in stored if marked_with(first.id, each.repository) == each.id)
    return [first, *others]


def delete_together(store: LiveSetStore, live_set_id: UUID) -> None:
    """Deletes a live set, and all that were marked together with it."""
    with contextlib.suppress(LiveSetNotFoundError):  # its mark failed before it was stored
        for live_set in together(store, store.get(live_set_id)):
            store.delete(live_set.id)


def _check_together(store: LiveSetStore, live_set: LiveSet, repositories: Iterable[str]) -> None:
    """Refuses a live set that is not the first of those that were marked together, or without one of the others."""
    group = together(store, live_set)
    for each in group[1:]:
        if each.status is LiveSetStatus.IDENTIFY_IN_PROGRESS:
            raise SafetyError(f"live set {each.id} of {each.repository} is still being marked: wait, or mark again")
    if group[0].id != live_set.id:
        raise SafetyError(
            f"live set {live_set.id} was marked together with others: use the first of them, {group[0].id}"
        )
    if is_of_several(live_set.id):
        raise SafetyError(
            f"live set {live_set.id} was marked together with others, the first of which was deleted: mark again"
        )
    missing = sorted({each.repository for each in group}.difference(repositories))
    if missing:
        raise SafetyError(
            f"live set {live_set.id} was marked together with {' and '.join(missing)}: configure that repository as "
            "well, or mark again"
        )


def _stored(store: LiveSetStore, live_set_id: UUID) -> LiveSet | None:
    try:
        return store.get(live_set_id)
    except LiveSetNotFoundError:
        return None
