"""Quarantined files: unreferenced files that were moved, hidden or tagged in their store instead of being deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

BY_VERSION = "versions:"
"""What the place of a quarantine begins with that hides files as versions; then the bucket follows."""


BY_TAG = "tags:"
"""What the place of a quarantine begins with that tags files; then the bucket follows."""


def bucket_of_versions(place: str) -> str | None:
    """The bucket of a quarantine that hides files, as a location; ``None``: it is another kind."""
    return place.removeprefix(BY_VERSION) if place.startswith(BY_VERSION) else None


def bucket_of_tags(place: str) -> str | None:
    """The bucket of a quarantine that tags files, as a location; ``None``: it is another kind."""
    return place.removeprefix(BY_TAG) if place.startswith(BY_TAG) else None


def bucket_of(place: str) -> str | None:
    """The bucket of a quarantine that leaves files at their paths, hidden or tagged; ``None``: it is a folder."""
    versions = bucket_of_versions(place)
    return bucket_of_tags(place) if versions is None else versions


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    """One file to move, within one store."""

    path: str
    """Raw path below the location that it is moved from."""
    to_path: str
    """Raw path below the location that it is moved to."""


class MoveStatus(StrEnum):
    """What a deleter says about one file that it was to move."""

    MOVED = "MOVED"
    """It is whole at its new path, and no longer at the old one."""
    MISSING = "MISSING"
    """It is at neither path."""
    EXISTS = "EXISTS"
    """Another file is at the new path; both stay as they are."""
    FAILED = "FAILED"
    """It is still at its old path; the outcome has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOutcome:
    """The outcome for one file; a deleter returns exactly one for each file."""

    path: str
    """The :attr:`FileMove.path` it was given."""
    status: MoveStatus
    """Where it is."""
    reason: str = ""
    """Why it was not moved: one line, without secrets; empty otherwise."""


class HeldState(StrEnum):
    """What is being done with a quarantined file; a later run goes on from here if this one is killed."""

    MOVING = "MOVING"
    """It is being moved to the quarantine, or that was interrupted: it may still be at its old path."""
    HELD = "HELD"
    """It is in the quarantine."""
    RESTORING = "RESTORING"
    """It is being moved back, or that was interrupted. It is never purged."""
    PURGING = "PURGING"
    """It is being deleted for good, or that was interrupted. It is never restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """One file in quarantine. Its record outlives the live set; it is gone when the file is restored or purged."""

    repository: str
    """Identity of the repository whose sweep moved it; its lease is held to restore or purge it."""
    live_set_id: UUID
    """The live set that was swept."""
    place: str
    """Raw location of the quarantine; ends in a slash. With ``versions:`` or ``tags:`` before a bucket, files stay."""
    held_path: str
    """Raw path below the place; different for all files of one place. That of a file that stays has its ids."""
    location: str
    """Raw location that it was moved from; ends in a slash."""
    path: str
    """Raw path below that location."""
    size: int | None = None
    """Size in bytes; ``None`` if unknown."""
    modified: datetime | None = None
    """Last modification before it was moved, UTC; ``None`` if unknown."""
    table: str = ""
    """Dotted names of the tables at its location, one in a line; empty if there is none."""
    sidecar: bool = False
    """Whether it is a checksum sidecar, which is counted separately."""
    held: datetime
    """When the move was recorded, UTC, or when a sweep last found that it may be needed: only one that began later says
    that it is not. Of a tagged file: as of when a sweep last found that nothing needs it."""
    until: datetime
    """Until when it can be restored, UTC; then it may be purged."""
    state: HeldState = HeldState.MOVING
    """What is being done with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """The files that one sweep moved to one place."""

    repository: str
    """Identity of the repository whose sweep moved them."""
    live_set_id: UUID
    """The live set that was swept."""
    place: str
    """Raw location of the quarantine; ends in a slash."""
    until: datetime
    """Until when they can be restored, UTC."""
    state: HeldState
    """What is being done with them; files in another state are another quarantine."""
    files: int
    """Without checksum sidecars."""
    bytes: int
    """Their size in bytes; 0 where unknown."""
