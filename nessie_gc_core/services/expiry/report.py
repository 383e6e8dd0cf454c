"""What an expiry of snapshots did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.tally import Tally

_FAILED = (Committed.CONFLICT, Committed.UNKNOWN, Committed.REFUSED)
_SHOWN = 20
"""So many tables a terminal shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredTable:
    """The outcome of one table that had something to expire, or that was left alone."""

    table: str
    """Its dotted name."""
    reference: str | None = None
    """The branch on which it is; ``None`` in a catalog without branches."""
    outcome: Committed
    """The outcome of the commit."""
    location: str | None = None
    """Where it is, as a sweep reports it; ``None`` if its metadata was not read."""
    reason: str | None = None
    """Why nothing, or not all, was committed."""
    snapshots: int = 0
    """How many snapshots it listed."""
    expired: int = 0
    """How many of them expired, or would expire."""
    refs: Sequence[str] = ()
    """Branches and tags that expired, or would expire."""
    schemas: Sequence[int] = ()
    """Ids of schemas that were removed, or would be."""
    partition_specs: Sequence[int] = ()
    """Ids of partition specs that were removed, or would be."""
    files: Tally = field(default_factory=Tally)
    """Files in its location that only they needed, and that were deleted, or would be."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "table": self.table,
            "reference": self.reference,
            "outcome": self.outcome.value,
            "location": self.location,
            "reason": self.reason,
            "snapshots": self.snapshots,
            "expired": self.expired,
            "refs": list(self.refs),
            "schemas": list(self.schemas),
            "partition_specs": list(self.partition_specs),
            "files": self.files.to_dict(),
        }

    def __str__(self) -> str:
        """One line."""
        name = self.table if self.reference is None else f"{self.table} on {self.reference}"
        if self.outcome is not Committed.EXPIRED:
            return f"{name}: {self.outcome.value}: {self.reason}"
        lists = {"refs": self.refs, "schemas": self.schemas, "partition specs": self.partition_specs}
        more = "".join(f", {word} {', '.join(map(str, found))}" for word, found in lists.items() if found)
        files = "" if self.reference is not None else f"; {self.files}"
        return f"{name}: {self.expired:,} of {plural(self.snapshots, 'snapshot')}{more}{files}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryReport(ShownAsText):
    """What expired, and what was deleted."""

    dry_run: bool
    """Whether nothing was committed and nothing deleted."""
    tables: Sequence[ExpiredTable]
    """The tables that had something to expire, and those that were left alone for a reason."""
    looked_at: int
    """How many tables were meant and could be read."""
    files_by_kind: Mapping[str, Tally]
    """The files that were deleted, or would be, by what they are, such as ``DATA`` or ``MANIFEST``."""
    kept_for_positions: Mapping[str, int] = field(default_factory=dict)
    """Tables with the number of snapshots that stay only because a streaming writer looks for its position in them."""
    files_stay: bool = False
    """Whether this deletes no file, as in repositories with a history: ``gc`` sweeps what no live commit needs."""
    collection: GcReport
    """What was read and deleted, what is unknown, and how long it took."""

    @property
    def snapshots(self) -> int:
        """How many snapshots expired, or would expire."""
        return sum(table.expired for table in self.tables)

    @property
    def exit_code(self) -> int:
        """1 where a commit failed, a deletion failed, or something stayed unknown, else 0."""
        return 1 if any(table.outcome in _FAILED for table in self.tables) else self.collection.exit_code

    def raise_for_status(self) -> None:
        """Does nothing where everything that should be done is done.

        Raises:
            IncompleteError: a commit or a deletion failed, or something stayed unknown.
        """
        self.collection.raise_for_status()
        for table in self.tables:
            if table.outcome in _FAILED:
                raise IncompleteError(f"{table}; see the report, and run again")

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "dry_run": self.dry_run,
            "snapshots": self.snapshots,
            "looked_at": self.looked_at,
            "files_stay": self.files_stay,
            "kept_for_positions": dict(sorted(self.kept_for_positions.items())),
            "files_by_kind": {kind: tally.to_dict() for kind, tally in self.files_by_kind.items()},
            "tables": [table.to_dict() for table in self.tables],
            "collection": self.collection.to_dict(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal."""
        of_these = [table for table in self.tables if table.outcome is Committed.EXPIRED]
        would = "would expire" if self.dry_run else "expired"
        lines = [f"{would}: {plural(self.snapshots, 'snapshot')} of {plural(len(of_these), 'table')}"]
        lines.extend(f"  {table}" for table in self.tables[:_SHOWN])
        if len(self.tables) > _SHOWN:
            lines.append(f"  and {len(self.tables) - _SHOWN:,} more tables; --json has them all")
        if self.kept_for_positions:
            lines.append(self._kept_for_positions())
        if self.files_stay:
            lines.append("no files are deleted here: 'gc' deletes files that no live commit needs")
        lines.extend(f"{kind.lower().replace('_', ' ')}: {tally}" for kind, tally in self.files_by_kind.items())
        return "\n".join(lines)

    def _kept_for_positions(self) -> str:
        tables = sorted(self.kept_for_positions)
        kept = plural(sum(self.kept_for_positions.values()), "snapshot")
        named = ", ".join(tables[:3]) + (", ..." if len(tables) > 3 else "")
        return (
            f"kept for streaming writers: {kept} of {plural(len(tables), 'table')} ({named}); "
            "`--max-position-age` limits their age"
        )
