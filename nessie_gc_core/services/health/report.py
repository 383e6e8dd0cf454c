"""What a look at the metadata of tables found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.model.text import duration_text, json_time, plural, shown, size_text

_SHOWN = 20
"""So many tables a terminal shows."""
_COLUMNS = ("table", "snapshots", "average file", "deletes", "manifests", "metadata", "due")
_UNKNOWN = "not known"


class FindingName(StrEnum):
    """What can be due."""

    SNAPSHOTS = "snapshots"
    """Snapshots can expire."""
    SMALL_FILES = "small-files"
    """There are too many small data files, by the rule of ``compact``."""
    DELETE_FILES = "delete-files"
    """There are too many delete files, by the rule of ``compact``."""
    HELD_BACK = "held-back"
    """Partitions are due that ``compact`` leaves as they are; known where manifests were read."""
    DELETE_RATIO = "delete-ratio"
    """There are many deletes for the number of records."""
    MANIFESTS = "manifests"
    """Some manifests would be rewritten by ``rewrite-manifests``; where they were not read: there are many."""
    METADATA_SIZE = "metadata-size"
    """The metadata file is large, or lists very many snapshots."""
    METADATA_VERSIONS = "metadata-versions"
    """Earlier metadata files fall out of the metadata log, and nothing deletes them."""
    UNREAD = "unread"
    """No plugin reads the content, or someone else manages it: it is left alone."""
    INVALID_PROPERTY = "invalid-property"
    """A property of the table is invalid."""
    ORPHANS = "orphans"
    """The repository was not swept for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is due."""

    name: FindingName
    """What it is."""
    value: float | str | None
    """What was found; a number of seconds for a time, ``None`` for what never happened."""
    limit: float | None
    """From when on it is due; ``None`` if there is no such limit."""
    text: str
    """The same as a sentence."""
    action: str
    """What to do."""

    @property
    def times_over(self) -> float:
        """How far beyond its limit it is, 1 where that cannot be said."""
        value, limit = self.value, self.limit
        if isinstance(value, str) or not value or not limit:
            return 1.0
        return max(value / limit, limit / value)

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "name": self.name.value,
            "value": self.value,
            "limit": self.limit,
            "text": self.text,
            "action": self.action,
        }

    def __str__(self) -> str:
        """One line."""
        return f"{self.text}: {self.action}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """What the metadata file of one table says, and its manifests where they were read; ``None``: not known."""

    table: str
    """Its dotted name."""
    reference: str
    """The reference at which it was seen."""
    metadata_location: str | None = None
    """The metadata file that was read."""
    problem: str | None = None
    """Why the metadata file, or with ``metadata_location`` why a manifest, could not be read."""
    unread: Sequence[str] = ()
    """Content types by which the repository says that nobody collects it, such as that of another manager."""
    gc_enabled: bool | None = None
    """The property ``gc.enabled``; Nessie turns it off on its tables, so that Spark's own procedures keep off."""
    snapshots: int | None = None
    """How many snapshots it lists."""
    expirable: int | None = None
    """How many of them can expire by the table's own retention rules."""
    reclaimable_bytes: int | None = None
    """Size of the data files and delete files that these alone need, as writers say it; ``None``: not known, as where
    another branch or tag may need them."""
    oldest_snapshot: datetime | None = None
    """When the oldest of them was made, UTC."""
    data_files: int | None = None
    """Data files of the current snapshot."""
    small_files: int | None = None
    """How many of them are small; a lower bound if the manifests were not read."""
    partitioned: bool | None = None
    """Whether any of its partition specs has fields."""
    partitions: int | None = None
    """How many partitions have files; known where manifests were read."""
    due_partitions: int | None = None
    """How many partitions ``compact`` would rewrite; known where manifests were read."""
    held_partitions: int | None = None
    """How many partitions are due that it would leave as they are; known where manifests were read."""
    due_bytes: int | None = None
    """Size of the data files that ``compact`` would rewrite at most."""
    average_file_bytes: int | None = None
    """Their size on average in bytes; delete files count in it where manifests were not read."""
    target_file_bytes: int | None = None
    """The size in bytes that writers aim at (``write.target-file-size-bytes``)."""
    records: int | None = None
    """Records of the current snapshot, deleted ones included."""
    delete_files: int | None = None
    """Its delete files."""
    position_deletes: int | None = None
    """Records that they delete by position."""
    equality_deletes: int | None = None
    """Rows by which they delete; each may delete any number of records."""
    delete_file_share: float | None = None
    """Delete files for each data file."""
    delete_ratio: float | None = None
    """Deletes for each record."""
    manifests: int | None = None
    """Manifests of the current snapshot; only some writers say, where they were not read."""
    manifests_read: bool = False
    """Whether the manifests of the current snapshot were read."""
    manifest_overlap: float | None = None
    """How many of them a query for one partition opens on average; ``None``: not known, or unpartitioned."""
    metadata_bytes: int | None = None
    """Size of the metadata file in bytes, as it is stored."""
    metadata_versions: int | None = None
    """Earlier metadata files in the metadata log."""
    max_metadata_versions: int | None = None
    """How many the log holds (``write.metadata.previous-versions-max``)."""
    delete_after_commit: bool | None = None
    """Whether writers delete those that fall out (``write.metadata.delete-after-commit.enabled``)."""
    findings: Sequence[Finding] = ()
    """What is due."""

    @property
    def rank(self) -> tuple[bool, int, float, str]:
        """Sorts the worst first: unreadable, then with the most findings, then furthest beyond a limit."""
        furthest = max((finding.times_over for finding in self.findings), default=0.0)
        return (self.problem is None, -len(self.findings), -furthest, self.table)

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        oldest = json_time(self.oldest_snapshot)
        findings = [finding.to_dict() for finding in self.findings]
        return {**found, "unread": list(self.unread), "oldest_snapshot": oldest, "findings": findings}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """What is due where, the worst tables first."""

    repository: str
    """The address of the repository."""
    checked: datetime
    """The time from which ages count, UTC."""
    last_sweep: datetime | None
    """When the last sweep of the whole repository that this live-set store knows ended, UTC."""
    findings: Sequence[Finding]
    """What is due for the repository as a whole."""
    tables: Sequence[TableHealth]
    """Every table that was looked at."""
    commits: int | None = None
    """How many commits were made since the instant that was asked for, or as many as were counted; ``None``: they were
    not counted."""
    warnings: Sequence[str] = ()
    """What is probably not as it was meant."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def due(self) -> int:
        """How many tables have something that is due."""
        return sum(1 for table in self.tables if table.findings)

    @property
    def unreadable(self) -> int:
        """How many tables could not be read."""
        return sum(1 for table in self.tables if table.problem is not None)

    @property
    def exit_code(self) -> int:
        """1 where a table could not be read, else 0: what is due is not a failure."""
        return 1 if self.unreadable else 0

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "repository": self.repository,
            "checked": json_time(self.checked),
            "last_sweep": json_time(self.last_sweep),
            "findings": [finding.to_dict() for finding in self.findings],
            "tables": [table.to_dict() for table in self.tables],
            "due": self.due,
            "unreadable": self.unreadable,
            "commits": self.commits,
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page of text, without the table."""
        return "\n".join([*self._head(), *self._due()])

    def __rich__(self) -> RenderableType:
        """The same with a table, in which nothing acts upon a terminal."""
        head, due = (
            Text("\n".join(shown(with_flags(line)) for line in lines), no_wrap=True, overflow="ignore")
            for lines in (self._head(), self._due())
        )
        return Group(head, "", self._table(), "", due) if self.tables else head

    def _head(self) -> Iterator[str]:
        unreadable = f", {self.unreadable:,} cannot be read" if self.unreadable else ""
        yield f"health of {self.repository}"
        took = duration_text(self.seconds)
        yield f"{plural(len(self.tables), 'table')}, {self.due:,} with something due{unreadable}; {took}"
        if self.last_sweep is not None:
            yield f"last sweep: {duration_text(self.checked - self.last_sweep)} ago"
        if self.commits is not None:
            yield f"{plural(self.commits, 'commit')} since then"
        yield from (f"due: {finding}" for finding in self.findings)
        yield from (f"warning: {warning}" for warning in self.warnings)

    def _due(self) -> Iterator[str]:
        """What is due at the worst tables, and what to do."""
        worst = [table for table in self.tables if table.findings or table.problem is not None]
        for table in worst[:_SHOWN]:
            if table.problem is not None:
                what = "" if table.metadata_location is None else "its manifests "
                yield f"{table.table}: {what}cannot be read: {table.problem}"
            yield from (f"{table.table}: {finding}" for finding in table.findings)
        if len(worst) > _SHOWN:
            yield f"and {plural(len(worst) - _SHOWN, 'more table')}; --json has them all"

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in _COLUMNS:
            table.add_column(column, overflow="fold")
        for each in self.tables[:_SHOWN]:
            table.add_row(*(Text(shown(cell)) for cell in _cells(each)))
        return table


def _cells(table: TableHealth) -> Iterator[str]:
    yield table.table
    if table.metadata_location is None and table.problem is not None:
        yield from (*[""] * (len(_COLUMNS) - 2), "cannot be read")
        return
    expirable = f", {table.expirable:,} can expire" if table.expirable else ""
    yield "" if table.snapshots is None else f"{table.snapshots:,}{expirable}"
    yield _bytes(table.average_file_bytes)
    yield "" if table.delete_files is None else plural(table.delete_files, "file")
    yield _UNKNOWN if table.manifests is None else f"{table.manifests:,}"
    yield _bytes(table.metadata_bytes)
    due = ", ".join(finding.name.value for finding in table.findings) or "nothing"
    yield due if table.problem is None else f"{due}; manifests cannot be read"


def _bytes(size: int | None) -> str:
    return "" if size is None else size_text(size)
