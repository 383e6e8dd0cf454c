"""What an identification of unreferenced assets found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import AssetType
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetsReport(ShownAsText):
    """The assets of one run, and what was read to find them."""

    table: str
    """The table, with its catalog."""
    branch: str
    """The branch on which it is, in Nessie."""
    dry_run: bool
    """Whether nothing was written."""
    found: AssetRun
    """The run; its number is 0 where nothing was written."""
    collection: GcReport
    """What was read, what is unknown, and how long it took."""
    by_type: Sequence[tuple[str, Tally]] = ()
    """How many assets of each type, and their bytes."""

    @property
    def left_out(self) -> int:
        """How many unreferenced files are not among the assets; 0 if the run was there already."""
        directories = sum(tally.files for name, tally in self.by_type if name == AssetType.TABLE)
        found = self.collection.outcomes[Outcome.WOULD_DELETE].files
        return max(0, found - self.found.assets + directories)

    @property
    def exit_code(self) -> int:
        """1 where something stayed unknown or could not be read, else 0."""
        return self.collection.exit_code

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "table": self.table,
            "branch": self.branch,
            "dry_run": self.dry_run,
            "runid": self.found.runid,
            "run": self.found.run,
            "assets": {"files": self.found.assets, "bytes": self.found.size_bytes},
            "by_type": [{"type": name, **tally.to_dict()} for name, tally in self.by_type],
            "collection": self.collection.to_dict(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A few lines."""
        where = "not written: this was a dry run" if self.dry_run else f"run {self.found.runid} ({self.found.run})"
        lines = [f"assets in {self.table}, {where}: {Tally(self.found.assets, self.found.size_bytes)}"]
        lines += [f"  {name}: {tally}" for name, tally in self.by_type]
        if left_out := self.left_out:
            lines.append(f"  left out: {plural(left_out, 'unreferenced file')} of this program's own tables")
        return "\n".join(lines)


@dataclass(slots=True, kw_only=True)
class PurgeReport(ShownAsText):
    """The outcome of the assets that enough runs agree on."""

    table: str
    """The table, with its catalog."""
    branch: str
    """The branch on which it is, in Nessie."""
    dry_run: bool
    """Whether nothing was deleted."""
    runs: int
    """How many complete runs the table has."""
    latest: AssetRun | None
    """The latest of them."""
    collection: GcReport
    """What was read to judge the assets again; its outcomes are those of all files, not only of the assets."""
    agreed: Tally = field(default_factory=Tally)
    """The assets that enough runs have seen, and that the predicate let through."""
    outcomes: dict[Outcome, Tally] = field(default_factory=lambda: {outcome: Tally() for outcome in Outcome})
    """Their outcomes."""
    tried: int = 0
    """How many files it tried to delete; what was gone before it began is not among them."""
    assets: Dataset | None = field(default=None, repr=False)
    """Each of them with its outcome (:data:`HANDLED_ASSETS`); ``None`` if none was agreed upon."""

    @property
    def failed(self) -> int:
        """How many of them could not be deleted."""
        return self.outcomes[Outcome.FAILED].files

    @property
    def exit_code(self) -> int:
        """1 where a deletion failed, something stayed unknown or could not be read, else 0."""
        return 1 if self.failed else self.collection.exit_code

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "table": self.table,
            "branch": self.branch,
            "dry_run": self.dry_run,
            "runs": self.runs,
            "latest_run": None if self.latest is None else self.latest.runid,
            "agreed": self.agreed.to_dict(),
            "tried": self.tried,
            "failed": self.failed,
            "outcomes": {outcome.value: tally.to_dict() for outcome, tally in self.outcomes.items()},
            "collection": self.collection.to_dict(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A few lines."""
        latest = "none" if self.latest is None else str(self.latest.runid)
        lines = [
            f"seen by enough of the {self.runs:,} runs of {self.table} (the latest: {latest}): {self.agreed}",
            *(
                f"  {outcome.value.replace('_', ' ')}: {tally}"
                for outcome, tally in self.outcomes.items()
                if tally.files
            ),
        ]
        return "\n".join(lines)
