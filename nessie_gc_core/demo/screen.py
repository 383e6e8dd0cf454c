"""What the demo prints: ticked-off steps and two tables; plain text where it is not a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nessie_gc_core.demo.collector import Collection
from nessie_gc_core.model.text import duration_text, size_text

_OUTCOMES = (
    "deleted",
    "quarantined",
    "restored",
    "already_gone",
    "failed",
    "spared",
    "too_young",
    "deferred",
    "would_delete",
)
_READ = ("references", "commits", "content_versions", "files_expanded", "files_listed")
_PLAIN_WIDTH = 110
_TITLE_WIDTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderCount:
    """One table's folder before and after the collection."""

    name: str
    before: int
    """Files, without checksum sidecars."""
    after: int
    after_bytes: int
    why: str
    """Why what is left is left."""


class Screen:
    """Prints the demo's progress and results."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        if not self.console.is_terminal:
            self.console.width = _PLAIN_WIDTH

    @contextmanager
    def step(self, title: str, *, done: str | None = None) -> Iterator[None]:
        """Shows that a step runs, and then how long it took."""
        started = time.monotonic()
        with self.console.status(title):
            yield
        tick = ("✓ ", "green") if self.console.is_terminal else "- "
        seconds = (f"{duration_text(time.monotonic() - started):>8}", "dim")
        self.console.print(Text.assemble(tick, f"{done or title:<{_TITLE_WIDTH}}", seconds), soft_wrap=True)

    def heading(self, text: str) -> None:
        """A heading with a line of space above."""
        self.console.print()
        self.console.print(Text(text, style="bold"), soft_wrap=True)

    def line(self, text: str, *, style: str = "") -> None:
        """One line of text."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def report(self, collection: Collection) -> None:
        """What the collector says it read and did."""
        report = collection.report
        read = [f"{_shown(report[name])} {name.replace('_', ' ')}" for name in _READ if name in report]
        if read:
            self.line(f"  read: {', '.join(read)}")
        phases = [f"{name} {duration_text(seconds)}" for name, seconds in report.get("phases", {}).items()]
        if phases:
            self.line(f"  time: {', '.join(phases)}")
        for outcome in _OUTCOMES:
            if collection.count(outcome):
                size = size_text(collection.size(outcome))
                self.line(f"  {outcome.replace('_', ' ')}: {collection.count(outcome)} files, {size}")

    def folders(self, counts: Sequence[FolderCount], *, gone: str = "deleted") -> None:
        """What is stored now, and why; ``gone`` says what became of the rest."""
        table = Table(box=None, pad_edge=False, padding=(0, 2))
        for name in ("", "before", gone, "left"):
            table.add_column(name, justify="right" if name else "left", no_wrap=True)
        table.add_column("why it stays")
        for count in counts:
            missing = str(count.before - count.after)
            left = f"{count.after} ({size_text(count.after_bytes)})"
            table.add_row(f"  {count.name}", str(count.before), missing, left, count.why)
        self.console.print(table)

    def verdict(self, *, good: bool, text: str) -> None:
        """The last line."""
        self.console.print()
        self.line(text, style="bold green" if good else "bold red")


def _shown(value: object) -> str:
    """A count, also where the report has a count with its size."""
    return str(value["files"] if isinstance(value, dict) and "files" in value else value)
