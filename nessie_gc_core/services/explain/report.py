"""What a report says of single files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from nessie_gc_core.model.text import json_time, size_text, time_text
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.shown import ShownAsText

_SHOWN = 10
"""So many versions, parents and references of a file a terminal shows."""


class Standing(StrEnum):
    """How a run would see a file; the first that applies."""

    LIVE = "live"
    """A live content version needs it."""
    LOST = "lost"
    """A live content version needs it, and it is not stored."""
    IN_QUARANTINE = "in_quarantine"
    """A live content version needs it, or may need it, and it is in quarantine, from which it can be restored."""
    FROZEN = "frozen"
    """Nothing that could be read needs it, but something there could not be read, so all of it stays."""
    REFUSED = "refused"
    """The configuration keeps its location from being swept."""
    LEFT_OUT = "left_out"
    """``include`` and ``exclude`` leave its table out."""
    OUTSIDE = "outside"
    """It is outside all locations of tables and views, where nothing is listed or deleted."""
    NOT_STORED = "not_stored"
    """Nothing needs it, and it is not there."""
    NOT_LISTED = "not_listed"
    """Nothing needs it, and the file list (``file_list``) does not have it, so that a run does not see it."""
    TOO_YOUNG = "too_young"
    """Nothing needs it, and it is not old enough."""
    SPARED = "spared"
    """Nothing needs it, and a veto, a cap or another guard keeps it."""
    UNREFERENCED = "unreferenced"
    """Nothing needs it, and a run deletes it."""


_MEANINGS = {
    Standing.LIVE: "live",
    Standing.LOST: "lost: needed, but missing",
    Standing.IN_QUARANTINE: "in quarantine, though a live state needs it or may need it",
    Standing.FROZEN: "frozen",
    Standing.REFUSED: "refused",
    Standing.LEFT_OUT: "left out",
    Standing.OUTSIDE: "outside: it is not in a location of a table or view, so it is never deleted",
    Standing.NOT_STORED: "does not exist, and nothing needs it",
    Standing.NOT_LISTED: "not in the file list, and nothing needs it, so it is not deleted",
    Standing.TOO_YOUNG: "too young: nothing needs it",
    Standing.SPARED: "spared: nothing needs it",
    Standing.UNREFERENCED: "unreferenced: nothing needs it, and a run deletes it",
}

_OPEN = {Standing.FROZEN, Standing.IN_QUARANTINE}
_NOT_SWEPT = {Standing.OUTSIDE, Standing.LEFT_OUT, Standing.REFUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedingVersion:
    """A live content version that needs a file."""

    repository: str
    """Where it is, for people."""
    content_key: str
    """Dotted name of the table or view."""
    content_id: str
    """Its id in that repository."""
    metadata_location: str | None
    """Raw."""
    snapshot_id: int | None
    """``None``: all snapshots that its metadata lists."""
    commit_id: str
    """A live commit that has it."""
    commit_time: datetime | None
    """UTC."""
    references: Sequence[str]
    """Names of the branches and tags on which it is live, sorted."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "repository": self.repository,
            "content_key": self.content_key,
            "content_id": self.content_id,
            "metadata_location": self.metadata_location,
            "snapshot_id": self.snapshot_id,
            "commit_id": self.commit_id,
            "commit_time": json_time(self.commit_time),
            "references": list(self.references),
        }

    def __str__(self) -> str:
        """One line."""
        snapshot = f", snapshot {self.snapshot_id}" if self.snapshot_id is not None else ""
        names = list(self.references[:_SHOWN])
        more = f" and {len(self.references) - _SHOWN:,} more" if len(self.references) > _SHOWN else ""
        on = f" on {', '.join(names)}{more}" if names else ""
        return f"{self.content_key}{snapshot}{on} (commit {self.commit_id}, {self.metadata_location})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFile:
    """One file, and why it is kept or deleted."""

    path: str
    """As it was given."""
    standing: Standing
    """How a run would see it."""
    reason: str | None = None
    """Why, where its standing leaves that open."""
    location: str | None = None
    """The canonical location that holds it and is listed as a whole; ``None``: there is none."""
    size: int | None = None
    """Bytes, where it was listed."""
    modified: datetime | None = None
    """UTC, where it was listed."""
    named_by: Sequence[str] = ()
    """Raw paths of some metadata files that name it."""
    versions: int = 0
    """How many live content versions need it."""
    needed_by: Sequence[NeedingVersion] = ()
    """The first of them, at most 100."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "path": self.path,
            "standing": self.standing.value,
            "reason": self.reason,
            "location": self.location,
            "size": self.size,
            "modified": json_time(self.modified),
            "named_by": list(self.named_by),
            "versions": self.versions,
            "needed_by": [version.to_dict() for version in self.needed_by],
        }

    def __str__(self) -> str:
        """A few lines."""
        lines = [self.path, f"  {_MEANINGS[self.standing]}" + (f": {self.reason}" if self.reason else "")]
        if self.size is not None:
            at = f", modified {time_text(self.modified)}" if self.modified is not None else ""
            where = "" if self.location is None else f", in {self.location}"
            lines.append(f"  {size_text(self.size)}{at}{where}")
        lines += [f"  named by {path}" for path in self.named_by[:_SHOWN]]
        lines += [f"  needed by {version}" for version in self.needed_by[:_SHOWN]]
        if self.versions > _SHOWN:
            lines.append(f"  and {self.versions - _SHOWN:,} more content versions")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainReport(ShownAsText):
    """Why some files are kept or deleted."""

    files: Sequence[ExplainedFile]
    """In the order in which they were asked for."""
    reading: GcReport
    """What was read, what is unknown, and how long it took."""
    notes: Sequence[str] = ()
    """What limits the answer: another run that works on the repository, or a limit on deletions."""

    @property
    def exit_code(self) -> int:
        """1 if the answer for one of the files is open because something could not be read, else 0.

        Such a file is frozen or in quarantine, or in a place that is not swept, so that a table that cannot be read may
        still need it.
        """
        standings = {file.standing for file in self.files}
        is_open = standings & _NOT_SWEPT and (self.reading.unknown or self.reading.unreadable)
        return 1 if standings & _OPEN or is_open else 0

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "files": [file.to_dict() for file in self.files],
            "notes": list(self.notes),
            "reading": self.reading.to_dict(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal."""
        return "\n".join([*map(str, self.files), *(f"note: {note}" for note in self.notes)])
