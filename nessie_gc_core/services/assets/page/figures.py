"""What there is to say about a table of unreferenced assets, in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.text import json_time

MOST_GROUPS = 20
"""How many groups of a grouping are named; the rest is one sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Assets that have something in common."""

    name: str
    """What they have in common; empty where it is not known."""
    files: int = 0
    bytes: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {"name": self.name, "files": self.files, "bytes": self.bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """Assets in groups."""

    rows: Sequence[Group] = ()
    """The groups that are named."""
    others: int = 0
    """How many more groups there are."""
    other_files: int = 0
    other_bytes: int = 0

    @classmethod
    def largest(cls, groups: Iterable[Group]) -> Grouping:
        """The groups with the most bytes, the largest first, and the sum of the others."""
        ranked = sorted(groups, key=lambda group: (-group.bytes, -group.files, group.name))
        rest = ranked[MOST_GROUPS:]
        return cls(
            rows=tuple(ranked[:MOST_GROUPS]),
            others=len(rest),
            other_files=sum(group.files for group in rest),
            other_bytes=sum(group.bytes for group in rest),
        )

    @property
    def files(self) -> int:
        """Those of all groups."""
        return sum(group.files for group in self.rows) + self.other_files

    @property
    def bytes(self) -> int:
        """Those of all groups."""
        return sum(group.bytes for group in self.rows) + self.other_bytes

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        other = {"groups": self.others, "files": self.other_files, "bytes": self.other_bytes}
        return {
            "files": self.files,
            "bytes": self.bytes,
            "groups": [group.to_dict() for group in self.rows],
            "other": other if self.others else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What a deletion would ask for."""

    seen_count: int
    """In how many runs an asset must have been seen."""
    seen_apart: str | None = None
    """How far apart runs must be to count as several, as an ISO duration; ``None``: any two do."""
    where: str | None = None
    """The predicate that lets assets through; ``None``: all."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {"seen_count": self.seen_count, "seen_apart": self.seen_apart, "where": self.where}


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestRun:
    """What the latest complete run saw, except rows that the table no longer has, such as those of deleted files."""

    run: AssetRun
    by_table: Grouping = Grouping()
    by_type: Grouping = Grouping()
    by_reason: Grouping = Grouping()
    by_age: Grouping = Grouping()
    """By the time since the files were modified, at the time of the run."""
    counted: int = 0
    """How many runs count: those that are complete and far enough apart."""
    sightings: Grouping = Grouping()
    """Those that the predicate lets through, by how many of these runs have seen them."""
    next_delete: Grouping = Grouping()
    """Those that enough of these runs have seen, by table: what a deletion would look at again, and take."""

    @property
    def files(self) -> int:
        """How many assets there are."""
        return self.by_table.files

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return self.by_table.bytes

    @property
    def gone(self) -> int:
        """How many that the run saw have left the table since."""
        return max(0, self.run.assets - self.files)

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        run = self.run
        return {
            "runid": run.runid,
            "run": run.run,
            "timestamp": json_time(run.timestamp),
            "repository": run.repository,
            "live_set": run.live_set,
            "engine": run.engine,
            "settings": dict(run.settings),
            "unknown": run.unknown,
            "files": self.files,
            "bytes": self.bytes,
            "left_the_table": self.gone,
            "by_table": self.by_table.to_dict(),
            "by_type": self.by_type.to_dict(),
            "by_reason": self.by_reason.to_dict(),
            "by_age": self.by_age.to_dict(),
            "counted_runs": self.counted,
            "sightings": self.sightings.to_dict(),
            "next_delete": self.next_delete.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetFigures:
    """All numbers of the page."""

    table: str
    """The table, with its catalog."""
    branch: str | None
    """The branch on which it is looked for; ``None``: the one that the catalog is configured for."""
    threshold: Threshold
    trend: Sequence[AssetRun] = ()
    """All complete runs, in the order of their times."""
    latest: LatestRun | None = None
    """``None`` if no run is complete."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "table": self.table,
            "branch": self.branch,
            "threshold": self.threshold.to_dict(),
            "latest": None if self.latest is None else self.latest.to_dict(),
            "trend": [
                {
                    "runid": run.runid,
                    "timestamp": json_time(run.timestamp),
                    "files": run.assets,
                    "bytes": run.size_bytes,
                    "unknown": run.unknown,
                }
                for run in self.trend
            ],
        }
