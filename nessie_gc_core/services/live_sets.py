"""Looking at live sets, and deleting them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.live_sets import FileDeletion, LiveSet
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.deferred import check_swept


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSetDetails:
    """A live set with its counts."""

    live_set: LiveSet
    content_versions: int
    contents: int
    base_locations: int
    deferred_files: int
    deferred_bytes: int


@dataclass(frozen=True, slots=True)
class LiveSetService:
    """Lists, shows and deletes the live sets of a store."""

    store: LiveSetStore

    def all(self) -> list[LiveSet]:
        """All live sets, newest first."""
        return sorted(self.store.live_sets(), key=lambda live_set: (live_set.created, live_set.id), reverse=True)

    def details(self, live_set_id: UUID) -> LiveSetDetails:
        """One live set with its counts.

        Raises:
            LiveSetNotFoundError: there is none with this id.
        """
        live_set = self.store.get(live_set_id)
        versions, contents = self.store.count_content_versions(live_set_id)
        files = bytes_ = 0
        for deletion in self.store.file_deletions(live_set_id):
            files, bytes_ = files + 1, bytes_ + (deletion.size or 0)
        return LiveSetDetails(
            live_set=live_set,
            content_versions=versions,
            contents=contents,
            base_locations=sum(1 for _ in self.store.base_locations(live_set_id)),
            deferred_files=files,
            deferred_bytes=bytes_,
        )

    def content_versions(self, live_set_id: UUID) -> Iterator[ContentVersion]:
        """The content versions, content by content."""
        for content_id in sorted(self.store.content_ids(live_set_id)):
            versions = self.store.content_versions(live_set_id, content_id)
            yield from sorted(versions, key=lambda v: (v.content_key, v.metadata_location or "", v.snapshot_id or 0))

    def base_locations(self, live_set_id: UUID) -> list[tuple[str, str]]:
        """The content ids with their base locations."""
        return sorted(self.store.base_locations(live_set_id))

    def deferred(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The files whose deletion was deferred.

        Raises:
            LiveSetNotFoundError, LiveSetStateError: there is no such live set, or it was not swept to its end.
        """
        check_swept(self.store.get(live_set_id))
        return self.store.file_deletions(live_set_id)

    def delete(self, live_set_id: UUID) -> LiveSet:
        """Deletes the rows of a live set, and not one file; gives it as it was.

        Raises:
            LiveSetNotFoundError: there is none with this id.
        """
        live_set = self.store.get(live_set_id)
        self.store.delete(live_set_id)
        return live_set


def as_plain(live_set: LiveSet) -> dict[str, Any]:
    """A live set as JSON shows it; times are UTC."""
    return {
        "id": str(live_set.id),
        "status": live_set.status.value,
        "repository": live_set.repository,
        "created": _text(live_set.created),
        "identify_completed": _text(live_set.identify_completed),
        "expiry_started": _text(live_set.expiry_started),
        "expiry_completed": _text(live_set.expiry_completed),
        "policies": list(live_set.policies),
        "error": live_set.error_message,
    }


def _text(time: datetime | None) -> str | None:
    return time.isoformat() if time is not None else None
