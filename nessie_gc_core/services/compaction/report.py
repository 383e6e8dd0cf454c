"""What a compaction did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from nessie_gc_core.model.text import duration_text, plural, size_text
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.table_lines import raise_for_first, table_lines
from nessie_gc_core.services.work_branch import Merged, MergeReport

_UNMERGED = (Merged.CONFLICT, Merged.REFUSED, Merged.UNKNOWN)


class Compacted(StrEnum):
    """The outcome of one table."""

    REWRITTEN = "rewritten"
    """Its files were rewritten; in a dry run they would be."""
    PARTLY = "partly rewritten"
    """Some of it was committed, and the rest failed."""
    NOT_WORTH_IT = "not worth it"
    """No partition is due, or each that is has a reason to be left as it is."""
    WAITING = "waiting"
    """Somebody else changed it since, so that more would be rewritten than was planned; nothing was."""
    LEFT_ALONE = "left alone"
    """Someone else maintains it, or it is not an Iceberg table."""
    CONFLICT = "conflict"
    """Others changed it each time; nothing was committed."""
    UNKNOWN = "unknown"
    """Nobody can tell whether the commit was made; nothing is cleaned up (S19)."""
    REFUSED = "refused"
    """The catalog or Spark refused it; nothing was committed."""
    UNREADABLE = "unreadable"
    """Its metadata or a manifest cannot be read."""
    GONE = "gone"
    """It was there when the catalog was listed, and no longer is."""


_FAILED = (
    Compacted.PARTLY,
    Compacted.CONFLICT,
    Compacted.UNKNOWN,
    Compacted.REFUSED,
    Compacted.UNREADABLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """Live files of a table, or of one of its partitions."""

    partitions: int = 0
    """How many partitions have files."""
    data_files: int = 0
    """Data files."""
    bytes: int = 0
    """Size of the data files."""
    small_files: int = 0
    """How many data files are small."""
    delete_files: int = 0
    """Delete files and deletion vectors."""
    delete_bytes: int = 0
    """Their size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedPartition:
    """A partition that is due."""

    spec_id: int
    """The partition spec."""
    partition: str
    """Its values, such as ``region=eu/day=2026-01-31``; empty where the table is not partitioned."""
    before: TableFiles
    """Its files before."""
    small_due: bool
    """Whether it had too many small files, or small ones of an earlier partition spec that were asked for."""
    deletes_due: bool
    """Whether it had too many delete files, or can only be rewritten together with a partition that had."""
    rewritten: bool
    """Whether it was rewritten, or would be."""
    input_files: int
    """How many data files that takes, at most."""
    input_bytes: int
    """Their size."""
    output_files: int
    """How many they were expected to become."""
    reason: str | None
    """Why it was not rewritten."""
    after: TableFiles | None = None
    """Its files afterwards; ``None``: nothing was committed, or it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedTable:
    """The outcome of one table."""

    table: str
    """Its dotted name."""
    reference: str | None = None
    """The branch of Nessie that was named; ``None``: the one that the catalog is configured for."""
    outcome: Compacted
    """What."""
    location: str | None = None
    """Where it is, as a sweep reports it; ``None`` if its metadata was not read."""
    reason: str | None = None
    """Why not everything that is due was committed, or why nothing was planned."""
    format_version: int | None = None
    """Version of Iceberg's table format."""
    before: TableFiles | None = None
    """Its files before; ``None`` if its manifests were not opened."""
    after: TableFiles | None = None
    """Its files afterwards, with what others committed meanwhile; ``None``: nothing was committed, or not read."""
    snapshot_ids: Sequence[int] = ()
    """The snapshots that the commits made."""
    removed_data_files: int = 0
    """Data files that were replaced."""
    added_data_files: int = 0
    """Data files that replaced them."""
    removed_delete_files: int = 0
    """Delete files that were removed."""
    added_delete_files: int = 0
    """Delete files that replaced them."""
    removed_bytes: int = 0
    """Size of all that was removed."""
    added_bytes: int = 0
    """Size of all that was written."""
    partitions: Sequence[CompactedPartition] = ()
    """Those that were due, with the most gain first."""

    @property
    def chosen(self) -> list[CompactedPartition]:
        """The partitions that were rewritten, or would be."""
        return [each for each in self.partitions if each.rewritten]

    @property
    def input_bytes(self) -> int:
        """How many bytes of data files that takes at most."""
        return sum(each.input_bytes for each in self.chosen)

    @property
    def is_failed(self) -> bool:
        """Whether it could not be read, or a commit failed or has an unknown outcome."""
        return self.outcome in _FAILED

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {**asdict(self), "outcome": self.outcome.value, "input_bytes": self.input_bytes}

    def __str__(self) -> str:
        """One line."""
        name = self.table if self.reference is None else f"{self.table} on {self.reference}"
        if self.outcome in (Compacted.REWRITTEN, Compacted.PARTLY) and self.snapshot_ids:
            said = f"{name}: {_change('data files', self.removed_data_files, self.added_data_files)}"
            said += f", {_change('delete files', self.removed_delete_files, self.added_delete_files)}"
            said += f", {size_text(self.removed_bytes)} became {size_text(self.added_bytes)}"
            return said if self.reason is None else f"{said}; {self.outcome.value}: {self.reason}"
        if self.outcome is Compacted.REWRITTEN and self.reason is None:
            files, output = (
                sum(each.input_files for each in self.chosen),
                sum(each.output_files for each in self.chosen),
            )
            deletes = sum(each.before.delete_files for each in self.chosen if each.deletes_due)
            said = f"{name}: {plural(files, 'data file')} ({size_text(self.input_bytes)}) would become about {output:,}"
            said += f", {plural(deletes, 'delete file')} merged" if deletes else ""
            return (
                f"{said}; {len(self.chosen):,} of {plural(self.before.partitions if self.before else 0, 'partition')}"
            )
        return f"{name}: {self.outcome.value}: {self.reason}"


def _change(what: str, removed: int, added: int) -> str:
    return f"{removed:,} {what} became {added:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport(ShownAsText):
    """Which files were rewritten, or would be, and which tables have none."""

    catalog: str
    """The catalog of the Spark session."""
    dry_run: bool
    """Whether nothing was written and nothing committed."""
    tables: Sequence[CompactedTable]
    """Every table that was meant."""
    work_branch: MergeReport | None = None
    """The branch that was made for the work, and its outcome."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def rewritten(self) -> int:
        """Of how many tables files were rewritten, or would be."""
        return sum(table.outcome in (Compacted.REWRITTEN, Compacted.PARTLY) for table in self.tables)

    @property
    def input_bytes(self) -> int:
        """How many bytes of data files that takes at most."""
        return sum(table.input_bytes for table in self.tables)

    @property
    def exit_code(self) -> int:
        """1 where a table could not be read, or a commit or a merge failed, else 0."""
        return 1 if self._failed_merge or any(table.is_failed for table in self.tables) else 0

    @property
    def _failed_merge(self) -> MergeReport | None:
        found = self.work_branch
        return found if found is not None and found.outcome in _UNMERGED else None

    def raise_for_status(self) -> None:
        """Does nothing if everything due was done.

        Raises:
            IncompleteError: a table could not be read, or a commit failed or has an unknown outcome.
        """
        raise_for_first(table for table in self.tables if table.is_failed)
        raise_for_first([] if self._failed_merge is None else [self._failed_merge])

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "catalog": self.catalog,
            "dry_run": self.dry_run,
            "rewritten": self.rewritten,
            "input_bytes": self.input_bytes,
            "removed_bytes": sum(table.removed_bytes for table in self.tables),
            "added_bytes": sum(table.added_bytes for table in self.tables),
            "tables": [table.to_dict() for table in self.tables],
            "work_branch": None if self.work_branch is None else self.work_branch.to_dict(),
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal: what was compacted and what failed; of the rest how many there are."""
        would = "would be compacted" if self.dry_run else "compacted"
        lines = [f"{would}: {self.rewritten:,} of {plural(len(self.tables), 'table')}; {duration_text(self.seconds)}"]
        lines.extend([] if self.work_branch is None else [str(self.work_branch)])
        quiet = (Compacted.NOT_WORTH_IT, Compacted.GONE)
        shown = [table for table in self.tables if table.outcome not in quiet]
        return "\n".join([*lines, *table_lines(shown, [table for table in self.tables if table.outcome in quiet])])
