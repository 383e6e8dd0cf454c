"""What an auto-tagging did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.text import duration_text, json_time, plural, time_text
from nessie_gc_core.services.shown import ShownAsText

_SHOWN = 20
"""So many tags a terminal shows."""


class TagOutcome(StrEnum):
    """The outcome of one tag."""

    MADE = "made"
    """It was made; in a dry run it would be."""
    DELETED = "deleted"
    """It was deleted because no policy keeps it; in a dry run it would be."""
    NO_STATE = "no state"
    """There is nothing to tag: the branch had no state at that time, or files of that state may be gone."""
    LEFT_ALONE = "left alone"
    """The name, or the tag by now, is someone else's."""
    VANISHED = "vanished"
    """A policy keeps it, and someone deleted it; it is not created again."""
    IN_DOUBT = "in doubt"
    """It exists but may not be ours; it stays."""
    CONFLICT = "conflict"
    """Others committed each time; nothing was changed."""
    REFUSED = "refused"
    """The repository refused it, or could not be read; nothing was changed."""
    UNKNOWN = "unknown"
    """It is unknown whether it was created or deleted; the next run looks (S19)."""


FAILED = (TagOutcome.CONFLICT, TagOutcome.REFUSED, TagOutcome.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagResult:
    """One tag, and its outcome."""

    outcome: TagOutcome
    """What."""
    name: str
    """Its name; empty where a whole table or branch could not be read."""
    table: str | None = None
    """The dotted name of the table that has it; ``None`` for a tag of the repository."""
    content_id: str | None = None
    """The content id of that table."""
    branch: str
    """The branch whose state it shows."""
    instant: datetime | None = None
    """Its roll-over, UTC."""
    target: str | None = None
    """The commit id, or of a tag of a table the snapshot id."""
    periods: Sequence[str] = ()
    """The periods that keep it, or that asked for it once."""
    reason: str | None = None
    """Why it was not made or deleted."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "outcome": self.outcome.value,
            "name": self.name,
            "table": self.table,
            "content_id": self.content_id,
            "branch": self.branch,
            "instant": json_time(self.instant),
            "target": self.target,
            "periods": list(self.periods),
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """One line."""
        table = "" if self.table is None else f" of {self.table}"
        at = "" if self.target is None else f" at {self.target}"
        reason = "" if self.reason is None else f": {self.reason}"
        name = self.name or f"branch {self.branch}"
        return f"{self.outcome.value}: {name}{table}{at}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutotagReport(ShownAsText):
    """The tags that were made and deleted."""

    repository: str
    """The address of the repository."""
    at: datetime
    """The time that was taken for now, UTC."""
    dry_run: bool
    """Whether nothing was made and nothing deleted."""
    tags: Sequence[TagResult]
    """What was done, and what was not and should have been."""
    kept: int
    """How many of our tags stay as they are."""
    tables: int
    """How many tables were looked at; 0 where the tags are the repository's own."""
    others: int = 0
    """How many of our tags belong to branches, prefixes or periods other than those of the policies; they stay."""
    warnings: Sequence[str] = ()
    """What is probably not as it was meant."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def exit_code(self) -> int:
        """1 where a tag could not be made or deleted, or nobody knows, else 0."""
        return 1 if any(tag.outcome in FAILED for tag in self.tags) else 0

    def of(self, outcome: TagOutcome) -> list[TagResult]:
        """The tags with an outcome."""
        return [tag for tag in self.tags if tag.outcome is outcome]

    def raise_for_status(self) -> None:
        """Does nothing where everything that should be done is done.

        Raises:
            IncompleteError: a tag could not be made or deleted, or nobody knows.
        """
        for tag in self.tags:
            if tag.outcome in FAILED:
                raise IncompleteError(f"{tag}; see the report, and run again")

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "repository": self.repository,
            "at": json_time(self.at),
            "dry_run": self.dry_run,
            "tags": [tag.to_dict() for tag in self.tags],
            "kept": self.kept,
            "others": self.others,
            "tables": self.tables,
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        of_tables = f", {plural(self.tables, 'table')}" if self.tables else ""
        dry = ", dry run: nothing was created or deleted" if self.dry_run else ""
        yield f"tags of {self.repository}{of_tables} at {time_text(self.at)}{dry}"
        counts = Counter(tag.outcome for tag in self.tags)
        said = [f"{counts[outcome]:,} {outcome.value}" for outcome in TagOutcome if counts[outcome]]
        others = [f"{self.others:,} of other policies"] if self.others else []
        yield ", ".join([*said, f"{self.kept:,} kept", *others]) + f"; {duration_text(self.seconds)}"
        worst_first = sorted(self.tags, key=lambda tag: tag.outcome not in FAILED)
        yield from (f"  {tag}" for tag in worst_first[:_SHOWN])
        if len(self.tags) > _SHOWN:
            yield f"  and {len(self.tags) - _SHOWN:,} more; --json has them all"
        yield from (f"warning: {warning}" for warning in self.warnings)
