"""What the store keeps under the identity of a repository, and how it comes under another one."""

from __future__ import annotations

from dataclasses import dataclass

from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector, SupportsFormerIdentities
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus, RepositoryRecords
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.lease import check_free
from nessie_gc_core.services.members import together

_DONE = frozenset({LiveSetStatus.EXPIRY_SUCCESS, LiveSetStatus.IDENTIFY_FAILED})
"""Nobody sweeps a live set of these."""


def tags_lease(identity: str) -> str:
    """The lease of whoever makes tags in a repository; collectors have another one."""
    return f"tags of {identity}"


@dataclass(frozen=True, slots=True)
class RecordsService:
    """Moves tombstones, the register of contents and live sets to another identity."""

    store: LiveSetStore

    def move(self, source: str, target: str, *, dry_run: bool) -> RepositoryRecords:
        """Moves them in one step; a dry run only counts them.

        Raises:
            ConfigurationError: there is nothing to move, or both identities are equal.
            LeaseHeldError: a collection runs under one of them.
        """
        if source == target:
            raise ConfigurationError(f"`source` and `target` are both {source!r}; give two different identities")
        found = self.store.count_records(source)
        if not found.any:
            raise ConfigurationError(
                f"the store has no records under {source!r}; list the live sets to see the identities"
            )
        self._check_together(source)
        check_free(self.store, [tags_lease(source), tags_lease(target)])
        if not dry_run:
            return self.store.move_records(source, target)
        check_free(self.store, [source, target])
        return found

    def _check_together(self, source: str) -> None:
        """Refuses to tear apart live sets that were marked together: their ids follow from the identities."""
        for live_set in self.store.live_sets():
            if live_set.repository != source or live_set.status in _DONE:
                continue
            if len(together(self.store, live_set)) > 1:
                raise ConfigurationError(
                    f"live set {live_set.id} of {source} was marked together with others and is unfinished: sweep or "
                    "delete it first"
                )


def left_behind(repository: RepositoryConnector, identity: str, store: LiveSetStore) -> str | None:
    """A warning if records are under a former identity of the repository, and none under its present one.

    Without its tombstones, metadata that an earlier run deleted counts as lost, and its tables stay untouched.
    """
    if not isinstance(repository, SupportsFormerIdentities):
        return None
    here = store.count_records(identity)
    if here.tombstones or here.seen_contents:
        return None
    for former in repository.former_identities():
        found = store.count_records(former)
        if found.tombstones or found.seen_contents:
            return (
                f"the store keeps {plural(found.tombstones, 'tombstone')} and {plural(found.seen_contents, 'content')} "
                "of this repository under its former identity; move them with "
                + next_call("move_records", source=former, target=identity, dry_run=False)
            )
    return None
