"""Files: as metadata names them, as a store lists them, and the outcomes of deletions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FileKind(StrEnum):
    """The role of a reachable file in its content. Plugins may use other words; these are Iceberg's."""

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


TRANSLATED = "TRANSLATED"
"""The kind of one more row for a metadata file that a tool writes from a table of another format (S32).

That table needs the files at the content's location as well: nothing is deleted there.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachableFile:
    """A file that a live content version needs."""

    path: str
    """Absolute and raw: exactly as in the metadata."""
    kind: str
    """One of :class:`FileKind`, or a word of the plugin's own."""
    location: str | None = None
    """Raw base location of the content, set on the files that ``ContentToFiles.files`` yields."""
    length: int | None = None
    """Size in bytes, if the parent of an expandable file tells it; a shorter file may be truncated."""
    announced: str | None = None
    """What the parent of an expandable file says of what is in it, in the reader's own words; ``None``: nothing.

    It goes back to the reader with the file, which is unreadable if less is in it than announced (S34).
    """
    shared: bool = False
    """Whether ``location`` is not a base location but another place the content writes to, as ``write.data.path``.

    Others may use such places too: they are swept only if the configuration allows them by name (S13).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A stored file: the given location, and the raw path below it."""

    location: str
    """Raw location, as given; ends in a slash."""
    path: str
    """Raw key below the location, neither decoded nor normalized (S4)."""
    size: int | None = None
    """Size in bytes; ``None`` if unknown."""
    modified: datetime | None = None
    """Last modification, UTC, by the store's clock; ``None`` if unknown (such a file is kept, S8)."""


class DeleteStatus(StrEnum):
    """What a deleter says about one file."""

    DELETED = "DELETED"
    """It was there, and is gone."""
    ALREADY_GONE = "ALREADY_GONE"
    """It no longer existed."""
    FAILED = "FAILED"
    """It could not be deleted; the outcome has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOutcome:
    """The outcome for one file; a deleter returns exactly one for each file."""

    path: str
    """The :attr:`FileReference.path` it was given."""
    status: DeleteStatus
    """Whether it is gone."""
    reason: str = ""
    """Why it failed: one line, without secrets; empty otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNames:
    """File names below the base location of contents of one type.

    Anything that looks like a content is read first: its metadata must name the same base location.
    """

    metadata: str
    """Regular expression for the paths of its metadata files."""
    of_others: str = "(?!)"
    """Regular expression for the paths of files that show that someone else also uses the folder."""

    def __post_init__(self) -> None:
        """Refuses what is not a regular expression.

        Raises:
            re.error: it says why.
        """
        for expression in (self.of_others, f"(?P<base_location>){self.metadata}"):
            re.compile(expression)

    def base_location(self, path: str) -> str | None:
        """The part before the name of a metadata file; ``None`` if the path is not a metadata file."""
        found = re.fullmatch(f"(?P<base_location>(?:.*/)?)(?:{self.metadata})", path)
        return None if found is None else found["base_location"]
