"""The report of an import from the Java tool's tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.shown import ShownAsText


@dataclass(slots=True, kw_only=True)
class ImportedLiveSet:
    """What became of one live set of the Java tool."""

    live_set_id: str
    """Its id, which stays the same."""
    java_status: str | None
    """Its status in the Java tool's tables."""
    status: LiveSetStatus | None = None
    """Its status here; ``None`` if it was left out."""
    new: bool = False
    """Whether anything of it was imported now, or would be."""
    reason: str | None = None
    """Why it was left out, or cannot be swept."""
    content_versions: int = 0
    """How many content versions were read."""
    base_locations: int = 0
    """How many base locations were read."""
    file_deletions: int = 0
    """How many deferred deletions were read and can be used."""
    left_out: Counter[str] = field(default_factory=Counter)
    """How many deferred deletions were left out, by reason."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "live_set_id": self.live_set_id,
            "java_status": self.java_status,
            "status": None if self.status is None else self.status.value,
            "new": self.new,
            "reason": self.reason,
            "content_versions": self.content_versions,
            "base_locations": self.base_locations,
            "file_deletions": self.file_deletions,
            "left_out": dict(self.left_out),
        }

    def __str__(self) -> str:
        became = "left out" if self.status is None else f"{'' if self.new else 'already '}{self.status}"
        lines = [f"{self.live_set_id}  {self.java_status} -> {became}"]
        lines[0] += f": {self.reason}" if self.reason else ""
        if self.new:
            versions, deletions = self.content_versions, self.file_deletions
            lines.append(
                f"  {plural(versions, 'content version')}, {plural(self.base_locations, 'base location')}, "
                f"{plural(deletions, 'deferred deletion')}"
            )
        lines += [f"  left out: {plural(count, 'deferred deletion')}, {why}" for why, count in self.left_out.items()]
        return "\n".join(lines)


@dataclass(slots=True, kw_only=True)
class ImportJavaReport(ShownAsText):
    """What was imported from the tables of the Java tool."""

    repository: str
    """Identity of the repository under which the live sets are now."""
    dry_run: bool
    """Whether nothing was changed."""
    live_sets: list[ImportedLiveSet] = field(default_factory=list)
    """All live sets that the tables have, or the one that was asked for."""

    @property
    def exit_code(self) -> int:
        """Always 0: what is left out is what must be."""
        return 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "repository": self.repository,
            "dry_run": self.dry_run,
            "live_sets": [each.to_dict() for each in self.live_sets],
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        new = sum(each.new for each in self.live_sets)
        said = "would import" if self.dry_run else "imported"
        return "\n".join(
            [
                f"{said} {new:,} of {plural(len(self.live_sets), 'live set')} of {self.repository}",
                *map(str, self.live_sets),
            ]
        )
