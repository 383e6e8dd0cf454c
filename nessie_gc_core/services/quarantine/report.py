"""The reports of restore and purge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.model.text import plural, size_text
from nessie_gc_core.services.quarantine.by_table import FilesByTable
from nessie_gc_core.services.report import MAX_NAMES, NamedFile
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.tally import TableTally, Tally

_TALLIES = ("missing", "failed", "blocked", "unmoved", "visible", "released", "waiting", "kept")
_SHOWN = 20
"""So many names are printed."""


def _unnamed(file: HeldFile, outcome: str, reason: str | None) -> None:
    """Nobody wants to know."""


@dataclass(slots=True, kw_only=True)
class ReleaseReport(ShownAsText):
    """What became of files in quarantine."""

    verb: str
    """What was done with them: ``restored`` or ``purged``."""
    dry_run: bool = False
    """Whether nothing was changed."""
    done: Tally = field(default_factory=Tally)
    """Files that were restored or purged; in a dry run those that would be."""
    sidecars: int = 0
    """Checksum sidecars that were restored or purged with their files, or would be; no other figure has them."""
    missing: Tally = field(default_factory=Tally)
    """Files that are neither in quarantine nor where they were; their records stay until a purge."""
    failed: Tally = field(default_factory=Tally)
    """Files that stay in quarantine, with a reason."""
    blocked: Tally = field(default_factory=Tally)
    """Files that the other command has begun to release: they are not touched."""
    unmoved: Tally = field(default_factory=Tally)
    """Files that are still at their paths, because their move was interrupted or failed."""
    visible: Tally = field(default_factory=Tally)
    """Hidden files that somebody else made visible: they are left alone, and not in quarantine any more."""
    released: Tally = field(default_factory=Tally)
    """Tagged files that are not as they were recorded, or not there: they are not in quarantine any more."""
    waiting: Tally = field(default_factory=Tally)
    """Files that a purge does not take yet: their time is not over, or a tagged file waits, with the reason."""
    kept: Tally = field(default_factory=Tally)
    """Files that a veto keeps in quarantine, or that a reference needs."""
    repositories: set[str] = field(default_factory=set)
    """The identities of the repositories that the files are of."""
    files: list[NamedFile] = field(default_factory=list)
    """Some of the files of a dry run, by where they were."""
    failures: list[NamedFile] = field(default_factory=list)
    """Some of the files that are missing, failed or kept, or wait with a reason, by where they were."""
    warnings: list[str] = field(default_factory=list)
    """What else should be known."""

    by_table: FilesByTable | None = field(default=None, repr=False)
    """Counts files by table as well; ``None``: nobody wants to know."""
    named: Callable[[HeldFile, str, str | None], None] = field(default=_unnamed, repr=False, compare=False)
    """Takes every file with its outcome and the reason."""

    def count(self, tally: Tally, file: HeldFile, reason: str | None = None) -> None:
        """Adds a file, by name where there is a reason; a sidecar counts apart where all went well."""
        outcome = next(name for name in ("done", *_TALLIES) if getattr(self, name) is tally)
        self.named(file, outcome, reason)
        self.repositories.add(file.repository)
        if file.sidecar and reason is None:
            self.sidecars += tally is self.done
            return
        tally.add(1, file.size or 0)
        if self.by_table is not None:
            self.by_table.count(outcome, file)
        if reason is not None and len(self.failures) < MAX_NAMES:
            self.failures.append(NamedFile(file.location + file.path, reason))

    @property
    def tables(self) -> list[TableTally] | None:
        """The same table by table, with ``by_table`` of a purge; else ``None``."""
        return None if self.by_table is None else self.by_table.rows()

    @property
    def exit_code(self) -> int:
        """1 where a file is missing or stays against its will."""
        return 1 if self.failed.files or self.missing.files or self.blocked.files else 0

    @property
    def found_any(self) -> bool:
        """Whether any file was meant."""
        return bool(self.sidecars or any(getattr(self, name).files for name in ("done", *_TALLIES)))

    def tallies(self) -> dict[str, Tally]:
        """What became of files until now, by outcome."""
        return {
            self.verb: replace(self.done),
            "missing": replace(self.missing),
            "failed": replace(self.failed),
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "dry_run": self.dry_run,
            f"would_be_{self.verb}" if self.dry_run else self.verb: self.done.to_dict(),
            "sidecars": self.sidecars,
            **{name: getattr(self, name).to_dict() for name in _TALLIES},
            "repositories": [{"repository": identity} for identity in sorted(self.repositories)],
            "tables": None if self.tables is None else [table.to_dict() for table in self.tables],
            "files": [file.path for file in self.files],
            "failures": [{"path": file.path, "reason": file.reason} for file in self.failures],
            "warnings": self.warnings,
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        lines = [f"{plural(self.done.files, 'file')} ({size_text(self.done.bytes)}) {would}{self.verb}"]
        lines += [f"not counted above: {plural(self.sidecars, 'checksum sidecar')} (.crc)"] if self.sidecars else []
        said = {
            "missing: neither in quarantine nor where they were": self.missing,
            "failed: they stay in quarantine": self.failed,
            "blocked: see below": self.blocked,
            "still at their paths: they were never moved": self.unmoved,
            "visible again: they are not in quarantine any more": self.visible,
            "without their tag, changed or gone: they are not in quarantine any more": self.released,
            "waiting: they are not purged yet, and can still be restored": self.waiting,
            "kept by a veto or a reference": self.kept,
        }
        lines += [f"{plural(tally.files, 'file')} {text}" for text, tally in said.items() if tally.files]
        lines += _table_lines(self.tables or ())
        lines += [f"  {file.path}" for file in self.files[:_SHOWN]]
        lines += [f"  {file.path}: {file.reason}" for file in self.failures[:_SHOWN]]
        more = len(self.files) + len(self.failures) - 2 * _SHOWN
        lines += [f"  and {more:,} more names with --json"] if more > 0 else []
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)


def _table_lines(tables: Sequence[TableTally]) -> list[str]:
    """A line for each of the tables with the most bytes."""
    lines = []
    for table in tables[:_SHOWN]:
        said = [f"{outcome.value.replace('_', ' ')}: {tally}" for outcome, tally in table.outcomes.items()]
        lines.append(f"table {', '.join(table.tables) or table.location}: {'; '.join(said) or 'nothing to do yet'}")
    return lines + ([f"and {len(tables) - _SHOWN:,} more tables with --json"] if len(tables) > _SHOWN else [])
