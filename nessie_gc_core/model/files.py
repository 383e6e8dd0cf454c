"""Files, as metadata names them, as a store lists them, and the outcome of them."""

from __future__ import annotations

import re
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
    shared: bool = False
    """Whether ``location`` is not a base location but another place the content writes to, as ``write.data.path``.

    Such places may be others' as well: they are swept only if the configuration allows them by name (S13).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A stored file: the location that was asked for, and the raw path below it."""

    location: str
    """Raw location, as it was asked for; ends in a slash."""
    path: str
    """Raw key below the location: no decoding, no normalising (S4)."""
    size: int | None = None
    """Size in bytes; ``None`` if the store does not say."""
    modified: datetime | None = None
    """Last modification, UTC, by the store's clock; ``None`` if unknown (such a file is kept, S8)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNames:
    """Names below the base location of contents of one type.

    What looks like a content is read before anything is concluded: its metadata must name its base location itself.
    """

    metadata: str
    """Regular expression for the paths of its metadata files."""
    of_others: str = "(?!)"
    """Regular expression for the paths of files by which someone else shows that the folder is theirs, too."""

    def __post_init__(self) -> None:
        """Refuses what is not a regular expression.

        Raises:
            re.error: it says why.
        """
        for expression in (self.of_others, f"(?P<base_location>){self.metadata}"):
            re.compile(expression)

    def base_location(self, path: str) -> str | None:
        """What comes before the name of a metadata file; ``None`` if the path is none."""
        found = re.fullmatch(f"(?P<base_location>(?:.*/)?)(?:{self.metadata})", path)
        return None if found is None else found["base_location"]
