"""A live-set store through which nothing changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NoReturn
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore, SupportsSharedClock
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.live_sets import (
    FileDeletion,
    LeaseHolder,
    LiveSet,
    ReferenceHead,
    RepositoryRecords,
    SeenContent,
    SweepStep,
)
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import ContentVersion


class ReadOnlyStore(LiveSetStore):
    """Reads another store, and refuses whatever would change it."""

    name = "read-only"
    executor_safe = False

    def __init__(self, store: LiveSetStore) -> None:
        super().__init__(ConnectorOptions())
        self._store = store

    def shared_time(self) -> datetime | None:
        """What the clock of the other store shows, if it has one."""
        return self._store.shared_time() if isinstance(self._store, SupportsSharedClock) else None

    def _refuse(self, verb: str) -> NoReturn:
        raise StoreError(f"a run that only asks must not change the live-set store ({verb})")

    # ---- what is read ---------------------------------------------------------------------------------
    def get(self, live_set_id: UUID) -> LiveSet:
        """As the other store."""
        return self._store.get(live_set_id)

    def live_sets(self) -> Iterator[LiveSet]:
        """As the other store."""
        return self._store.live_sets()

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """As the other store."""
        return self._store.content_versions(live_set_id, content_ids)

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """As the other store."""
        return self._store.content_ids(live_set_id)

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """As the other store."""
        return self._store.count_content_versions(live_set_id)

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """As the other store."""
        return self._store.base_locations(live_set_id, content_id)

    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """As the other store."""
        return self._store.steps(live_set_id)

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """As the other store."""
        return self._store.file_deletions(live_set_id)

    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """As the other store."""
        return self._store.tombstones(repository, paths)

    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """As the other store."""
        return self._store.seen_contents(repository, content_ids)

    def repositories(self) -> Iterator[str]:
        """As the other store."""
        return self._store.repositories()

    def count_records(self, repository: str) -> RepositoryRecords:
        """As the other store."""
        return self._store.count_records(repository)

    def lease(self, repository: str) -> LeaseHolder | None:
        """As the other store."""
        return self._store.lease(repository)

    # ---- what is refused ------------------------------------------------------------------------------
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Refuses."""
        self._refuse("start_identify")

    def finish_identify(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        references_listed: datetime | None = None,
        heads: Iterable[ReferenceHead] = (),
        failure: str | None = None,
    ) -> None:
        """Refuses."""
        self._refuse("finish_identify")

    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """Refuses."""
        self._refuse("start_expire")

    def finish_expire(self, live_set_id: UUID, *, at: datetime, failure: str | None = None) -> None:
        """Refuses."""
        self._refuse("finish_expire")

    def delete(self, live_set_id: UUID) -> None:
        """Refuses."""
        self._refuse("delete")

    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Refuses."""
        self._refuse("add_content_versions")

    def add_base_locations(self, live_set_id: UUID, locations: Iterable[tuple[str, str]]) -> int:
        """Refuses."""
        self._refuse("add_base_locations")

    def record_steps(self, live_set_id: UUID, steps: Iterable[SweepStep]) -> None:
        """Refuses."""
        self._refuse("record_steps")

    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Refuses."""
        self._refuse("add_file_deletions")

    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Refuses."""
        self._refuse("remove_file_deletions")

    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Refuses."""
        self._refuse("add_tombstones")

    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Refuses."""
        self._refuse("register_contents")

    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Refuses."""
        self._refuse("move_records")

    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Refuses."""
        self._refuse("acquire_lease")

    def release_lease(self, repository: str, owner: str) -> None:
        """Refuses."""
        self._refuse("release_lease")
