"""Counted files: what reports are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nessie_gc_core.model.text import plural, size_text
from nessie_gc_core.model.verdicts import Outcome


@dataclass(slots=True)
class Tally:
    """A number of files and their bytes."""

    files: int = 0
    bytes: int = 0

    def add(self, files: int, bytes_: int) -> None:
        """Adds to it."""
        self.files += files
        self.bytes += bytes_

    def to_dict(self) -> dict[str, int]:
        """As JSON shows it."""
        return {"files": self.files, "bytes": self.bytes}

    def __str__(self) -> str:
        return f"{plural(self.files, 'file')}, {size_text(self.bytes)}"


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of some tallies."""
    found = Tally()
    for tally in tallies:
        found.add(tally.files, tally.bytes)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTally:
    """The files at one location: of one table or view, or of several where locations overlap."""

    tables: tuple[str, ...]
    """Dotted names, sorted; tables that are gone are marked as dropped. Empty for a place outside table locations."""
    location: str
    """The canonical root of what is swept together."""
    repositories: tuple[str, ...] = ()
    """Identities of the repositories that the live ones are of, sorted; empty if none is."""
    listed: Tally = field(default_factory=Tally)
    """Stored files there."""
    outcomes: Mapping[Outcome, Tally] = field(default_factory=dict)
    """The outcome of the unreferenced ones."""
    left_alone: str | None = None
    """Why the location is not swept; ``None``: it is."""

    @property
    def unreferenced(self) -> Tally:
        """The sum of all outcomes."""
        return total(self.outcomes.values())

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "tables": list(self.tables),
            "location": self.location,
            "repositories": list(self.repositories),
            "files_listed": self.listed.to_dict(),
            "unreferenced": self.unreferenced.to_dict(),
            **{outcome.value: tally.to_dict() for outcome, tally in self.outcomes.items()},
            "left_alone": self.left_alone,
        }
