"""What a reorganization of manifests did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from nessie_gc_core.model.manifests import ManifestContent
from nessie_gc_core.model.text import duration_text, plural, size_text
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.table_lines import raise_for_first, table_lines


class Reorganized(StrEnum):
    """The outcome of one table."""

    REWRITTEN = "rewritten"
    """Manifests were rewritten in one commit; in a dry run they would be."""
    NOT_WORTH_IT = "not worth it"
    """Its manifests are as they should be, or too little would be gained."""
    LEFT_ALONE = "left alone"
    """Someone else maintains it, it is not an Iceberg table, or its rows would not stay the same."""
    CONFLICT = "conflict"
    """Others changed it each time; nothing was committed."""
    UNKNOWN = "unknown"
    """Nobody can tell whether the commit was made; nothing is cleaned up (S19)."""
    REFUSED = "refused"
    """The catalog or Spark refused it; nothing was committed."""
    UNREADABLE = "unreadable"
    """Its metadata or its manifest list cannot be read."""
    GONE = "gone"
    """It was there when the catalog was listed, and no longer is."""


_FAILED = (Reorganized.CONFLICT, Reorganized.UNKNOWN, Reorganized.REFUSED, Reorganized.UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFigures:
    """The manifests of one partition spec and one content, as they were planned."""

    spec_id: int
    """The partition spec."""
    content: ManifestContent
    """Data files or delete files."""
    manifests: int
    """How many there were."""
    bytes: int
    """Their size."""
    small: int
    """How many were small for the effort."""
    large: int
    """How many were large for the effort."""
    crowded: int
    """How many overlapped more than the partition priority allows."""
    overlap: float | None
    """How many a query for one partition opened on average; ``None``: not known, or unpartitioned."""
    rewritten: int
    """How many were rewritten, or would be."""
    rewritten_bytes: int
    """Their size."""
    expected: int
    """How many they were expected to become."""
    reason: str | None
    """Why none was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorganizedTable:
    """The outcome of one table."""

    table: str
    """Its dotted name."""
    reference: str | None = None
    """The branch of Nessie that was named; ``None``: the one that the catalog is configured for."""
    outcome: Reorganized
    """What."""
    location: str | None = None
    """Where it is, as a sweep reports it; ``None`` if its metadata was not read."""
    reason: str | None = None
    """Why nothing was committed."""
    format_version: int | None = None
    """Version of Iceberg's table format."""
    target_bytes: int | None = None
    """The size that new manifests got."""
    manifests: int | None = None
    """Manifests of the current snapshot before; ``None`` if its manifest list was not opened."""
    bytes: int | None = None
    """Their size."""
    rewritten: int = 0
    """How many of them were rewritten, or would be."""
    rewritten_bytes: int = 0
    """Their size."""
    expected: int | None = None
    """How many manifests were expected afterwards."""
    overlap: float | None = None
    """How many manifests a query for one partition opened before, on average; ``None``: not known, or unpartitioned."""
    manifests_after: int | None = None
    """Manifests of the current snapshot afterwards."""
    bytes_after: int | None = None
    """Their size."""
    overlap_after: float | None = None
    """How many manifests a query for one partition opens now, on average."""
    snapshot_id: int | None = None
    """The snapshot that the commit made."""
    groups: Sequence[ManifestFigures] = ()
    """Figures for each partition spec and content."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        found = asdict(self)
        groups = [{**group, "content": group["content"].value} for group in found["groups"]]
        return {**found, "outcome": self.outcome.value, "groups": groups}

    def __str__(self) -> str:
        """One line."""
        name = self.table if self.reference is None else f"{self.table} on {self.reference}"
        if self.outcome is not Reorganized.REWRITTEN:
            return f"{name}: {self.outcome.value}: {self.reason}"
        after = f"about {self.expected:,}" if self.manifests_after is None else f"{self.manifests_after:,}"
        said = f"{name}: {plural(self.manifests, 'manifest')}, {after} afterwards"
        said += f"; {self.rewritten:,} rewritten, {size_text(self.rewritten_bytes)}"
        if self.overlap is None:
            return said
        then = "" if self.overlap_after is None else f", then {self.overlap_after:.1f}"
        return f"{said}; a query for one partition opened {self.overlap:.1f}{then}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsReport(ShownAsText):
    """Which manifests were rewritten, or would be, and which tables have none."""

    catalog: str
    """The catalog of the Spark session."""
    dry_run: bool
    """Whether nothing was written and nothing committed."""
    tables: Sequence[ReorganizedTable]
    """Every table that was meant."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def rewritten(self) -> int:
        """Of how many tables manifests were rewritten, or would be."""
        return sum(table.outcome is Reorganized.REWRITTEN for table in self.tables)

    @property
    def exit_code(self) -> int:
        """1 where a table could not be read or a commit failed, else 0."""
        return 1 if any(table.outcome in _FAILED for table in self.tables) else 0

    def raise_for_status(self) -> None:
        """Does nothing if everything due was done.

        Raises:
            IncompleteError: a table could not be read, or a commit failed or has an unknown outcome.
        """
        raise_for_first(table for table in self.tables if table.outcome in _FAILED)

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "catalog": self.catalog,
            "dry_run": self.dry_run,
            "rewritten": self.rewritten,
            "tables": [table.to_dict() for table in self.tables],
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal: what was rewritten and what failed; of the rest how many there are."""
        would = "would be rewritten" if self.dry_run else "rewritten"
        tables, took = plural(len(self.tables), "table"), duration_text(self.seconds)
        lines = [f"{would}: manifests of {self.rewritten:,} of {tables}; {took}"]
        quiet = (Reorganized.NOT_WORTH_IT, Reorganized.GONE)
        shown = [table for table in self.tables if table.outcome not in quiet]
        return "\n".join([*lines, *table_lines(shown, [table for table in self.tables if table.outcome in quiet])])
