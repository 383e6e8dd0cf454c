"""Files, as metadata names them, as a store lists them, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FileKind(StrEnum):
    """What a reachable file is to its content. Plugins may use other words; these are Iceberg's."""

    METADATA = "METADATA"
    """The metadata file of a table or view."""
    MANIFEST_LIST = "MANIFEST_LIST"
    """Names the manifests of one snapshot."""
    MANIFEST = "MANIFEST"
    """Names content files."""
    DATA = "DATA"
    """Holds rows."""
    POSITION_DELETES = "POSITION_DELETES"
    """Names deleted rows by file and position."""
    EQUALITY_DELETES = "EQUALITY_DELETES"
    """Names deleted rows by their values."""
    DELETION_VECTOR = "DELETION_VECTOR"
    """Holds bitmaps of deleted rows (a Puffin file)."""
    STATISTICS = "STATISTICS"
    """Statistics of a snapshot (a Puffin file)."""
    PARTITION_STATISTICS = "PARTITION_STATISTICS"
    """Statistics of a snapshot by partition."""
    OTHER = "OTHER"
    """Anything else that the content needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachableFile:
    """A file that a live content version needs."""

    path: str
    """Absolute and raw: exactly the text that the metadata holds."""
    kind: str
    """One of :class:`FileKind`, or a word of the plugin's own."""
    location: str | None = None
    """Raw base location of the content, set on the files that ``ContentToFiles.files`` yields."""
    length: int | None = None
    """Least size in bytes, where the parent of an expandable file says it; a shorter file is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A stored file: the location that was asked for, and the raw path below it."""

    location: str
    """Raw location, as it was asked for; ends in a slash."""
    path: str
    """Raw key below the location: no decoding, no normalising (S4)."""
    size: int | None = None
    """Size in bytes; ``None`` where the store does not say."""
    modified: datetime | None = None
    """Last modification, UTC, by the store's clock; ``None`` where unknown (such a file is kept, S8)."""


class DeleteStatus(StrEnum):
    """What a deleter says about one file."""

    DELETED = "DELETED"
    """It was there, and is gone."""
    ALREADY_GONE = "ALREADY_GONE"
    """It was not there any more."""
    FAILED = "FAILED"
    """It could not be deleted; the outcome has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOutcome:
    """The outcome for one file; a deleter gives exactly one per file it was given."""

    path: str
    """The :attr:`FileReference.path` it was given."""
    status: DeleteStatus
    """Whether it is gone."""
    reason: str = ""
    """Why it failed: one line, without secrets; empty otherwise."""
