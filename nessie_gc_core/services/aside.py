"""A live-set store for runs that only ask: what they mark stays here, and no other run sees it or waits for it.

A lease keeps two runs from deleting, and from changing the records of one repository, at the same time. A run that only
asks does neither. So it takes no lease, and runs beside another one; that may make its answer out of date.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import RLock
from uuid import UUID

from nessie_gc_core.algorithms.kept_versions import KeptVersions
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.live_sets import FileDeletion, LeaseHolder, LiveSet, LiveSetStatus, ReferenceHead, SweepStep
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.read_only_store import ReadOnlyStore


@dataclass(slots=True)
class _Marked:
    """A live set of this store."""

    live_set: LiveSet
    versions: KeptVersions = field(default_factory=KeptVersions)


class AsideStore(ReadOnlyStore):
    """Has live sets of its own beside those of another store, which stays as it is."""

    name = "aside"

    def __init__(self, store: LiveSetStore) -> None:
        super().__init__(store)
        self._marked: dict[UUID, _Marked] = {}
        self._lock = RLock()
        self._busy: dict[str, LeaseHolder] = {}
        """By the identity of a repository, who held its lease meanwhile."""

    def close(self) -> None:
        """Forgets its own live sets; the other store stays open."""
        with self._lock:
            for marked in self._marked.values():
                marked.versions.close()
            self._marked.clear()

    @property
    def notes(self) -> list[str]:
        """What is to be said of other runs that held the lease of a repository meanwhile."""
        return [
            f"another run works on {repository} ({holder.host}, process {holder.process}, since "
            f"{holder.since:%Y-%m-%d %H:%M:%S} UTC), so this answer may already be out of date"
            for repository, holder in sorted(self._busy.items())
        ]

    # ---- status ---------------------------------------------------------------------------------------
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set here."""
        self._look(repository)
        status = LiveSetStatus.IDENTIFY_IN_PROGRESS
        live_set = LiveSet(
            id=live_set_id, repository=repository, created=created, status=status, policies=tuple(policies)
        )
        with self._lock:
            self._marked[live_set_id] = _Marked(live_set)

    def finish_identify(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        references_listed: datetime | None = None,
        heads: Iterable[ReferenceHead] = (),
        failure: str | None = None,
    ) -> None:
        """Ends a mark."""
        marked = self._marked[live_set_id]
        marked.live_set = replace(
            marked.live_set,
            status=LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED,
            identify_completed=at,
            references_listed=references_listed,
            heads=tuple(heads),
            error_message=failure,
        )

    def get(self, live_set_id: UUID) -> LiveSet:
        """One of either store."""
        marked = self._marked.get(live_set_id)
        return super().get(live_set_id) if marked is None else marked.live_set

    def live_sets(self) -> Iterator[LiveSet]:
        """Those of both stores, newest first."""
        with self._lock:
            mine = sorted((marked.live_set for marked in self._marked.values()), key=_created, reverse=True)
        return heapq.merge(mine, super().live_sets(), key=_created, reverse=True)

    def delete(self, live_set_id: UUID) -> None:
        """Deletes one of this store."""
        with self._lock:
            self._marked.pop(live_set_id).versions.close()

    # ---- content versions -----------------------------------------------------------------------------
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions to a live set of this store; returns how many were new."""
        kept = self._marked[live_set_id].versions
        return sum(kept.add(version) for version in versions)

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions."""
        marked = self._marked.get(live_set_id)
        return super().content_versions(live_set_id, content_ids) if marked is None else marked.versions.of(content_ids)

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids."""
        marked = self._marked.get(live_set_id)
        return super().content_ids(live_set_id) if marked is None else iter(marked.versions.content_ids())

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """How many versions and contents."""
        marked = self._marked.get(live_set_id)
        return super().count_content_versions(live_set_id) if marked is None else marked.versions.counts()

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Those of the other store; no sweep adds any here."""
        return iter(()) if live_set_id in self._marked else super().base_locations(live_set_id, content_id)

    # ---- sweep ----------------------------------------------------------------------------------------
    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """Those of the other store; nothing is deleted here."""
        return iter(()) if live_set_id in self._marked else super().steps(live_set_id)

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """Those of the other store; nothing is deferred here."""
        return iter(()) if live_set_id in self._marked else super().file_deletions(live_set_id)

    # ---- one collector at a time ----------------------------------------------------------------------
    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes none, for nothing is deleted; notes who holds it."""
        self._look(repository)
        return datetime.now(UTC) + duration

    def release_lease(self, repository: str, owner: str) -> None:
        """There is none to release; notes who holds it by now."""
        self._look(repository)

    def _look(self, repository: str) -> None:
        holder = self.lease(repository)
        if holder is not None:
            self._busy[repository] = holder


def _created(live_set: LiveSet) -> datetime:
    return live_set.created
