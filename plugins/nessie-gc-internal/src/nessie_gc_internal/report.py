"""What a cleaning of Nessie's database found and did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.text import duration_text, json_time, shown, size_text

_SHOWN = 20
"""So many contents a terminal shows."""


@dataclass(slots=True)
class RecordTally:
    """A number of records, and the bytes that they hold."""

    records: int = 0
    """How many."""
    bytes: int = 0
    """What they hold, in bytes, as Nessie wrote it; the database may keep it in fewer."""

    def add(self, size: int) -> None:
        """Counts a record."""
        self.records += 1
        self.bytes += size

    def to_dict(self) -> dict[str, int]:
        """As JSON shows it."""
        return {"records": self.records, "bytes": self.bytes}


@dataclass(slots=True, kw_only=True)
class KindTally:
    """The records of one kind."""

    scanned: RecordTally = field(default_factory=RecordTally)
    """All of them."""
    live: RecordTally = field(default_factory=RecordTally)
    """Those that references reach."""
    too_young: RecordTally = field(default_factory=RecordTally)
    """Those that nothing reaches, but that are younger than the grace period, named by such a one, or reached by a
    reference within it."""
    unstamped: RecordTally = field(default_factory=RecordTally)
    """Those that nothing reaches and whose age nobody knows; they stay, unless `purge_unstamped` says otherwise."""
    unknown: RecordTally = field(default_factory=RecordTally)
    """Those that nothing reaches but whose purpose is unknown; they stay."""
    not_planned: RecordTally = field(default_factory=RecordTally)
    """Those that nothing reaches, but that the plan which is applied does not have; they stay."""
    unreferenced: RecordTally = field(default_factory=RecordTally)
    """Those that nothing reaches and that are old enough to go."""
    purged: RecordTally = field(default_factory=RecordTally)
    """Those of them that were deleted."""
    referenced_again: RecordTally = field(default_factory=RecordTally)
    """Those of them that stay because they were written or reached again while this ran."""
    already_gone: RecordTally = field(default_factory=RecordTally)
    """Those of them that someone else had deleted."""
    uncertain: RecordTally = field(default_factory=RecordTally)
    """Those of them whose deletion the database did not confirm, so that they are gone or still there."""

    def to_dict(self) -> dict[str, dict[str, int]]:
        """As JSON shows it."""
        return {each.name: getattr(self, each.name).to_dict() for each in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenContent:
    """A content that no live commit sees."""

    content_id: str
    """Its stable id."""
    content_type: str
    """Nessie's name of its type, such as ``ICEBERG_TABLE``."""
    metadata_location: str | None
    """The metadata file of its latest state that is still stored, for types that have one."""

    def to_dict(self) -> dict[str, str | None]:
        """As JSON shows it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(slots=True, kw_only=True)
class InternalGcReport:
    """What a cleaning of Nessie's database found and did."""

    database: str
    """Where it is, without credentials."""
    repository_id: str
    """Which repository of the database; Nessie's default is the empty text."""
    dry_run: bool
    """Whether nothing was deleted."""
    started: datetime
    """When the references were read, UTC; the earlier of this machine's clock and the database's."""
    cutoff: datetime
    """Records whose stamp is later stay."""
    references: int = 0
    """How many references there were, internal ones included."""
    kinds: dict[str, KindTally] = field(default_factory=dict)
    """Records by what they are."""
    contents: Sequence[UnseenContent] | None = None
    """The first contents, by id, that no live commit sees; ``None`` if nobody asked."""
    contents_found: int | None = None
    """How many such contents there are; ``None`` if nobody asked."""
    failed: str | None = None
    """Why the purge ended early; what was purged by then is counted."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase: ``mark``, ``purge``."""

    def tally(self, kind: str) -> KindTally:
        """The counts of a kind, made if there are none yet."""
        if kind not in self.kinds:
            self.kinds[kind] = KindTally()
        return self.kinds[kind]

    def total(self, name: str) -> RecordTally:
        """The sum of one count over all kinds, such as ``unreferenced``."""
        found = [getattr(tally, name) for tally in self.kinds.values()]
        return RecordTally(sum(each.records for each in found), sum(each.bytes for each in found))

    @property
    def exit_code(self) -> int:
        """1 where the purge ended early."""
        return 0 if self.failed is None else 1

    def raise_for_status(self) -> None:
        """Raises where not everything was done.

        Raises:
            IncompleteError: the purge ended early.
        """
        if self.failed is not None:
            raise IncompleteError(f"{self.total('purged').records:,} records were purged, then: {self.failed}")

    def to_dict(self) -> Mapping[str, Any]:
        """As JSON shows it."""
        return {
            "database": self.database,
            "repository_id": self.repository_id,
            "dry_run": self.dry_run,
            "started": json_time(self.started),
            "cutoff": json_time(self.cutoff),
            "references": self.references,
            **{name: self.total(name).to_dict() for name in _COUNTS},
            "kinds": {kind: tally.to_dict() for kind, tally in sorted(self.kinds.items())},
            "contents": None if self.contents is None else [each.to_dict() for each in self.contents],
            "contents_found": self.contents_found,
            "failed": self.failed,
            "phases": dict(self.phases),
        }

    def __rich__(self) -> RenderableType:
        """What a terminal shows."""
        return Group(*self._parts())

    def _parts(self) -> Iterator[RenderableType]:
        dry = ", dry run" if self.dry_run else ""
        repository = f", repository {self.repository_id!r}" if self.repository_id else ""
        yield _line(f"internal-gc of {self.database}{repository}{dry}", "bold")
        read = (_plural(self.references, "reference"), _plural(self.total("scanned").records, "record"))
        yield _line(f"read: {', '.join(read)}")
        yield _line("time: " + ", ".join(f"{name} {duration_text(seconds)}" for name, seconds in self.phases.items()))
        yield Text()
        yield self._table()
        yield Text()
        if self.contents is not None:
            yield from self._unseen(self.contents)
        for name, words in _REMARKS.items():
            if count := self.total(name).records:
                yield _line(f"{_plural(count, 'record')} {words}", "yellow")
        if self.failed is not None:
            yield _line(f"stopped early: {self.failed}", "bold red")
        elif self.dry_run:
            yield _line("nothing was deleted: this was a dry run", "bold green")
        else:
            yield _line("done", "bold green")

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        last = "unreferenced" if self.dry_run else "purged"
        table.add_column("records")
        for column in ("scanned", "live", "too young", last, "bytes"):
            table.add_column(column, justify="right")
        rows = [(shown(kind), tally) for kind, tally in sorted(self.kinds.items())]
        for name, tally in rows:
            table.add_row(name, *_row(tally.scanned, tally.live, tally.too_young, getattr(tally, last)))
        totals = [self.total(name) for name in ("scanned", "live", "too_young", last)]
        table.add_row("all", *_row(*totals), style="bold")
        return table

    def _unseen(self, contents: Sequence[UnseenContent]) -> Iterator[Text]:
        yield _line(f"contents that no live commit references ({self.contents_found or 0:,})", "cyan")
        for each in contents[:_SHOWN]:
            yield _line(f"  {each.content_id} {each.content_type} {each.metadata_location or ''}".rstrip())
        if (more := (self.contents_found or 0) - _SHOWN) > 0:
            yield _line(f"  and {more:,} more (--json has the first {len(contents):,})")


_COUNTS = tuple(each.name for each in fields(KindTally))
_REMARKS = {
    "unstamped": "kept: no timestamp, so age unknown (--purge-unstamped)",
    "unknown": "kept: unreferenced, of an unknown kind",
    "not_planned": "kept: became unreferenced after the plan was made",
    "referenced_again": "kept: written or reached again while this ran",
    "already_gone": "already deleted by another process",
    "uncertain": "of unknown outcome: the database did not confirm the deletion; run again",
}


def _row(*tallies: RecordTally) -> list[str]:
    return [*(f"{tally.records:,}" for tally in tallies), size_text(tallies[-1].bytes)]


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _line(text: str, style: str = "") -> Text:
    return Text(shown(text), style=style)
