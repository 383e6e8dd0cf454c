"""What a case is: how its tables are written, what both sides are asked, and what they are known to differ in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from versus.stage import Stage


class Procedure(StrEnum):
    """Which procedure of Iceberg's runs."""

    EXPIRE = "expire_snapshots"
    ORPHANS = "remove_orphan_files"
    JAVA_API = "Table.expireSnapshots()"
    """Expiry without Spark, whose incremental clean-up is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A difference that is known."""

    reason: str
    """Why, with the place that names the procedure's defect."""
    only_theirs: frozenset[str] = frozenset()
    """Exactly the files that the procedure deletes and ours keeps."""
    only_ours: frozenset[str] = frozenset()
    """Exactly the files that ours deletes and the procedure leaves."""
    keeps_more: bool = False
    """Whether this is no defect of the procedure: ours keeps files by a rule of its own, and says so."""
    they_fail: bool = False
    """Whether the procedure ends with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What both sides are asked to do, once the tables are written."""

    older_than: datetime | None = None
    retain_last: int | None = None
    snapshot_ids: Sequence[int] = ()
    tables: Sequence[str] = ("t",)
    """The tables for which the procedure is called, in this order; ours is called once."""
    more: str = ""
    """More arguments of the procedure."""
    then_orphans: bool = False
    """Whether ``remove_orphan_files`` runs after ``expire_snapshots``."""
    dry_run: bool = False
    """Whether nothing is to be deleted, only named."""
    names: bool = True
    """Whether ours writes the names of what a dry run would delete; without them it only counts."""
    only_plan: str = ""
    """Why ours is not to delete, only to name; the procedure does."""
    allow: Sequence[str] = ()
    """What ours is allowed by name."""
    known: Known | None = None
    left_out: Callable[[str], bool] = field(default=lambda path: False)
    """Files that are not compared."""
    why_left_out: str = ""
    both_refuse: bool = False
    """Whether neither side is to delete anything, the procedure with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One comparison."""

    name: str
    procedure: Procedure
    write: Callable[[Stage], Asked]
    """Writes the tables, and says what is asked of both sides."""
    young: Callable[[str], bool] = field(default=lambda path: False)
    """Files that are not old."""
    quick: bool = False
    """Whether it runs in the ordinary tests, too."""

    @property
    def title(self) -> str:
        """How it is called in a listing."""
        return f"{self.procedure.value}: {self.name}"


def now() -> datetime:
    """An instant after every snapshot that was written."""
    return datetime.now(UTC) + timedelta(seconds=1)


def days_ago(days: float) -> datetime:
    """An instant some days back."""
    return datetime.now(UTC) - timedelta(days=days)
