"""What a repository is made of: references, commits, operations and content versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nessie_gc_core.model.row_digests import RowValues

ICEBERG_TABLE = "ICEBERG_TABLE"
"""Content type of an Iceberg table, as Nessie names it."""
ICEBERG_SNAPSHOT = "ICEBERG_SNAPSHOT"
"""Content type of one snapshot of an Iceberg table, without what else its metadata holds; made by snapshot expiry.

A version of this type that names no snapshot is the metadata file alone.
"""
ICEBERG_VIEW = "ICEBERG_VIEW"
"""Content type of an Iceberg view, as Nessie names it."""
UNKNOWN_CONTENT = "UNKNOWN_CONTENT"
"""Content type of what a repository lists and could not read just now, so that its states are not known.

No plugin may read it. It is unknown (S6): nothing is deleted at its location, around its metadata file and where a
reader finds the same content; nothing is deleted anywhere if it names no place.
"""


class ReferenceKind(StrEnum):
    """A branch moves, a tag does not; both keep what they reach."""

    BRANCH = "BRANCH"
    """It moves with each commit."""
    TAG = "TAG"
    """It stays where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A branch or tag at one commit."""

    name: str
    """Unique in the repository."""
    kind: ReferenceKind
    """Whether it is a branch or a tag."""
    commit_id: str | None
    """The head; ``None`` if the reference has no commit yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentVersion:
    """One state of one content.

    Two versions are the same when content id, type, metadata location, snapshot id and storage location are; the
    other fields say where the state was seen.
    """

    content_id: str
    """Stable id, unique in its repository, equal over renames."""
    content_type: str
    """For instance :data:`ICEBERG_TABLE`; a type that no plugin reads is live as a whole (S23)."""
    metadata_location: str | None
    """Raw location of the metadata file; ``None`` only for types that have none."""
    snapshot_id: int | None
    """Iceberg snapshot id of a table, version id of a view; ``None``: all that the metadata lists (S25).

    Negative: the repository says that there is none (Nessie writes -1), which leaves the metadata's own current one.
    """
    content_key: str
    """Dotted name under which it was seen; for people, never for decisions."""
    commit_id: str
    """The commit at which it was seen; for people, never for decisions."""
    commit_time: datetime | None = None
    """Time (UTC) of the commit that put it; ``None`` if it was only seen in a listing of contents."""
    location: str | None = None
    """Storage location, where the repository knows it (used for types that no plugin reads)."""

    @property
    def identity(self) -> tuple[str, str, str | None, int | None, str | None]:
        """What makes two versions the same; the location too, for that of an unread content is frozen (S23)."""
        return (self.content_id, self.content_type, self.metadata_location, self.snapshot_id, self.location)

    @property
    def values(self) -> RowValues:
        """All that a store keeps of it, for digests (S34)."""
        return (*self.identity, self.content_key, self.commit_id, self.commit_time)


class OperationKind(StrEnum):
    """What a commit does to a key."""

    PUT = "PUT"
    """It writes a state of the content."""
    DELETE = "DELETE"
    """It removes the key; older states stay in the history."""
    UNCHANGED = "UNCHANGED"
    """It expects the key to be as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a commit."""

    kind: OperationKind
    """What is done."""
    content_key: str
    """Dotted name to which it is done."""
    content: ContentVersion | None = None
    """The state that a PUT writes; ``None`` for other kinds and for contents without files (namespaces)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One commit of a first-parent history."""

    commit_id: str
    """Unique in the repository: equal ids mean equal history."""
    parent_id: str | None
    """First parent; ``None`` for the first commit."""
    commit_time: datetime
    """When it was committed (not authored), UTC."""
    operations: tuple[Operation, ...] | None
    """``None`` if the repository has none for this commit; the commit still counts."""
