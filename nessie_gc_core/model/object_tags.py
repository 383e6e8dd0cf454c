"""Object tags: files that are in quarantine where they are, and what may be done with which of them.

These rules say whether a file is still the one that was listed, and whether the tag on it is that of the quarantine;
whoever sends the requests only follows them. In doubt the file stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus

QUARANTINE_TAG = "nessie-gc-quarantine"
"""The key of the tag; its value is the id of the live set that was swept."""
MOST_TAGS = 10
"""How many tags an object can have."""
_CHANGED = "it was written again since it was listed"
_FULL = f"it has {MOST_TAGS} tags already, and an object can have no more"
NEVER_TAGGED = frozenset((_CHANGED, _FULL))
"""Reasons why a file has failed that does not have the tag of the sweep."""
_MEANWHILE = "it was written again at the same moment"
_OF_ANOTHER = "another sweep has tagged it since"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedObject:
    """An object and its tags, as the store shows them."""

    size: int
    """Size in bytes."""
    modified: datetime | None
    """Last modification, UTC."""
    etag: str
    """Entity tag of its content."""
    tags: Mapping[str, str]
    """All of its tags."""

    @property
    def mark(self) -> str | None:
        """The value of the tag of a quarantine, if it has one."""
        return self.tags.get(QUARANTINE_TAG)

    def unmarked(self) -> Mapping[str, str]:
        """Its tags without that of a quarantine."""
        return {key: value for key, value in self.tags.items() if key != QUARANTINE_TAG}


def to_tag(found: TaggedObject | None, asked: FileVersion) -> Mapping[str, str] | VersionOutcome:
    """All tags that a file gets: those that it has, and that of the quarantine. Or the outcome, with nothing to do.

    The tag of an earlier sweep, of which there is no valid record, is replaced.
    """
    if found is None:
        return _outcome(asked, VersionStatus.MISSING)
    if not _is_recorded(found, asked):
        return _failed(asked, _MEANWHILE if found.mark == asked.marker else _CHANGED)
    if found.mark == asked.marker:
        return VersionOutcome(
            path=asked.path, status=VersionStatus.DONE, version=found.etag, marker=asked.marker
        )  # by an attempt that was killed
    if found.mark is None and len(found.tags) >= MOST_TAGS:
        return _failed(asked, _FULL)
    return {**found.tags, QUARANTINE_TAG: asked.marker}


def tagged(before: TaggedObject, after: TaggedObject | None, asked: FileVersion) -> VersionOutcome:
    """Whether the file that was listed has the tag, and nothing else has happened to it.

    If it is another file by now, and has the tag, the tag has to be removed again (:meth:`TaggedObject.unmarked`).
    """
    if after is None:
        return _outcome(asked, VersionStatus.MISSING)
    if not is_same(before, after):
        return _failed(asked, _MEANWHILE)
    if after.mark != asked.marker:
        return _failed(asked, "the store does not show the tag that was put")
    return VersionOutcome(path=asked.path, status=VersionStatus.DONE, version=after.etag, marker=asked.marker)


def to_untag(found: TaggedObject | None, asked: FileVersion) -> Mapping[str, str] | VersionOutcome:
    """The tags that a file keeps when that of the quarantine is taken off. Or the outcome, with nothing to do."""
    if found is None:
        return _outcome(asked, VersionStatus.MISSING)
    if found.mark is None:
        return _outcome(asked, VersionStatus.RELEASED)
    if found.mark != asked.marker:
        return VersionOutcome(path=asked.path, status=VersionStatus.EXISTS, reason=_OF_ANOTHER)
    return found.unmarked()


def to_purge_tagged(found: TaggedObject | None, asked: FileVersion) -> TaggedObject | VersionOutcome:
    """The object that may be deleted: it has the tag, and is what was recorded. Or the outcome, with nothing to do."""
    if found is None:
        return _outcome(asked, VersionStatus.MISSING)
    if found.mark != asked.marker or not _is_recorded(found, asked):
        return _outcome(asked, VersionStatus.RELEASED)
    return found


def is_same(before: TaggedObject, after: TaggedObject) -> bool:
    """Whether it is the same object, whatever its tags."""
    return (before.etag, before.size, before.modified) == (after.etag, after.size, after.modified)


def _is_recorded(found: TaggedObject, asked: FileVersion) -> bool:
    """Whether it is the file that was listed; a store may tell times in whole seconds."""
    if asked.size is None or asked.modified is None or found.modified is None:
        return False
    same = asked.modified.replace(microsecond=0) == found.modified.replace(microsecond=0)
    return same and asked.size == found.size and asked.version in ("", found.etag)


def _outcome(asked: FileVersion, status: VersionStatus) -> VersionOutcome:
    return VersionOutcome(path=asked.path, status=status)


def _failed(asked: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=asked.path, status=VersionStatus.FAILED, reason=reason)
