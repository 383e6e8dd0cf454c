"""A live-set store for runs that only ask: what they mark stays here, and no other run sees it or waits for it.

A lease keeps two runs from deleting, and from changing the records of one repository, at the same time. A run that only
asks does neither. So it takes no lease, and runs beside another one; that may make its answer out of date.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from typing import Any, NoReturn
from uuid import UUID

from nessie_gc_core.algorithms.kept_versions import KeptVersions
from nessie_gc_core.connectors import LiveSetStore, SupportsQuarantine, SupportsSharedClock
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.live_sets import (
    FileDeletion,
    LeaseHolder,
    LiveSet,
    LiveSetStatus,
    ReachedPlace,
    ReferenceHead,
    RepositoryRecords,
    SeenContent,
    SweepStep,
)
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.model.text import time_text

_Statuses = Mapping[UUID, LiveSetStatus]


def _refused(verb: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise StoreError(f"a run that only asks must not change the live-set store ({verb})")

    return refuse


@dataclass(slots=True)
class _Marked:
    """A live set of this store."""

    live_set: LiveSet
    versions: KeptVersions = field(default_factory=KeptVersions)


class AsideStore(LiveSetStore):
    """Has live sets of its own beside those of another store, which it reads and never changes."""

    name = "aside"
    executor_safe = False

    def __init__(self, store: LiveSetStore) -> None:
        super().__init__(ConnectorOptions())
        self._store = store
        self._marked: dict[UUID, _Marked] = {}
        self._lock = RLock()
        self._before: dict[str, _Statuses] = {}
        """By the identity of a repository, its live sets when this run began."""
        self._busy: dict[str, LeaseHolder] = {}
        """By the identity of a repository, who held its lease then."""

    def close(self) -> None:
        """Forgets its own live sets; the other store stays open."""
        with self._lock:
            for marked in self._marked.values():
                marked.versions.close()
            self._marked.clear()

    def shared_time(self) -> datetime | None:
        """What the clock of the other store shows, if it has one."""
        return self._store.shared_time() if isinstance(self._store, SupportsSharedClock) else None

    @property
    def notes(self) -> list[str]:
        """Which other runs have worked on a repository since this one began."""
        return [note for repository in sorted(self._before) if (note := self._note_of(repository)) is not None]

    def _note_of(self, repository: str) -> str | None:
        holder = self._store.lease(repository) or self._busy.get(repository)
        if holder is not None:
            since = f"{time_text(holder.since)}"
            return (
                f"another run works on {repository} ({holder.host}, process {holder.process}, since {since}), so this "
                "answer may already be out of date"
            )
        if self._statuses(repository) != self._before[repository]:
            return f"another run worked on {repository} meanwhile, so this answer may already be out of date"
        return None

    def _statuses(self, repository: str) -> _Statuses:
        return {each.id: each.status for each in self._store.live_sets() if each.repository == repository}

    # ---- status ---------------------------------------------------------------------------------------
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set here."""
        holder = self._store.lease(repository)
        if holder is not None:
            self._busy[repository] = holder
        self._before[repository] = self._statuses(repository)
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
        versions: RowsDigest | None = None,
    ) -> None:
        """Ends a mark."""
        marked = self._mine(live_set_id)
        marked.live_set = replace(
            marked.live_set,
            status=LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED,
            identify_completed=at,
            references_listed=references_listed,
            heads=tuple(heads),
            error_message=failure,
            versions=versions,
        )

    def get(self, live_set_id: UUID) -> LiveSet:
        """One of either store."""
        marked = self._marked.get(live_set_id)
        return self._store.get(live_set_id) if marked is None else marked.live_set

    def live_sets(self) -> Iterator[LiveSet]:
        """Those of both stores, newest first."""
        with self._lock:
            mine = sorted((marked.live_set for marked in self._marked.values()), key=_created, reverse=True)
        return heapq.merge(mine, self._store.live_sets(), key=_created, reverse=True)

    def delete(self, live_set_id: UUID) -> None:
        """Deletes one of this store."""
        with self._lock:
            self._mine(live_set_id).versions.close()
            del self._marked[live_set_id]

    def _mine(self, live_set_id: UUID) -> _Marked:
        marked = self._marked.get(live_set_id)
        if marked is None:
            raise StoreError(f"a run that only asks must not change the live set {live_set_id} of another run")
        return marked

    start_expire = _refused("start_expire")
    finish_expire = _refused("finish_expire")

    # ---- content versions -----------------------------------------------------------------------------
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions to a live set of this store; returns how many were new."""
        kept = self._mine(live_set_id).versions
        return sum(kept.add(version) for version in versions)

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions."""
        marked = self._marked.get(live_set_id)
        if marked is None:
            return self._store.content_versions(live_set_id, content_ids)
        return marked.versions.of(content_ids)

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids."""
        marked = self._marked.get(live_set_id)
        return self._store.content_ids(live_set_id) if marked is None else iter(marked.versions.content_ids())

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """How many versions and contents."""
        marked = self._marked.get(live_set_id)
        return self._store.count_content_versions(live_set_id) if marked is None else marked.versions.counts()

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Those of the other store; no sweep adds any here."""
        return iter(()) if live_set_id in self._marked else self._store.base_locations(live_set_id, content_id)

    add_base_locations = _refused("add_base_locations")

    # ---- sweep ----------------------------------------------------------------------------------------
    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """Those of the other store; nothing is deleted here."""
        return iter(()) if live_set_id in self._marked else self._store.steps(live_set_id)

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """Those of the other store; nothing is deferred here."""
        return iter(()) if live_set_id in self._marked else self._store.file_deletions(live_set_id)

    record_steps = _refused("record_steps")
    add_file_deletions = _refused("add_file_deletions")
    remove_file_deletions = _refused("remove_file_deletions")

    # ---- records of repositories ----------------------------------------------------------------------
    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Those of the other store."""
        return self._store.tombstones(repository, paths)

    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """Those of the other store."""
        return self._store.seen_contents(repository, content_ids)

    def reached(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[ReachedPlace]:
        """What the other store has."""
        return self._store.reached(repository, content_ids)

    def repositories(self) -> Iterator[str]:
        """Those of the other store."""
        return self._store.repositories()

    def count_records(self, repository: str) -> RepositoryRecords:
        """Those of the other store."""
        return self._store.count_records(repository)

    def held_files(
        self, live_set_id: UUID | None = None, states: Collection[HeldState] = tuple(HeldState)
    ) -> Iterator[HeldFile]:
        """Those of the other store, if it has any."""
        return self._store.held_files(live_set_id, states) if isinstance(self._store, SupportsQuarantine) else iter(())

    def quarantines(self) -> Iterator[Quarantine]:
        """Those of the other store, if it has any."""
        return self._store.quarantines() if isinstance(self._store, SupportsQuarantine) else iter(())

    put_held_files = _refused("put_held_files")
    forget_held_files = _refused("forget_held_files")
    remove_tombstones = _refused("remove_tombstones")
    add_tombstones = _refused("add_tombstones")
    register_contents = _refused("register_contents")
    register_reached = _refused("register_reached")
    move_records = _refused("move_records")

    # ---- one collector at a time ----------------------------------------------------------------------
    def lease(self, repository: str) -> LeaseHolder | None:
        """Who holds it in the other store."""
        return self._store.lease(repository)

    acquire_lease = _refused("acquire_lease")
    release_lease = _refused("release_lease")


def _created(live_set: LiveSet) -> datetime:
    return live_set.created
