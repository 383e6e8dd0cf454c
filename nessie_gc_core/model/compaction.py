"""What is rewritten of the data files and delete files of a table, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from nessie_gc_core.model.manifests import PartitionValue
from nessie_gc_core.model.tables import CurrentTable


class Strategy(StrEnum):
    """How rows are arranged in new files."""

    BINPACK = "binpack"
    """In their existing order: files are combined up to the target size."""
    SORT = "sort"
    """By a sort order: the given one, or the table's own."""
    ZORDER = "zorder"
    """By several columns at once, along a Z-order curve."""


class Partition(NamedTuple):
    """One partition: all files with the same spec and the same values."""

    spec_id: int
    """The partition spec."""
    values: tuple[PartitionValue | None, ...] = ()
    """The value of each field of the spec, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortField:
    """One column of a sort order."""

    column: str
    """Its dotted name."""
    ascending: bool = True
    """The least value first."""
    nulls_first: bool = True
    """Null before all values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRewrite:
    """How files are rewritten."""

    target_bytes: int
    """Size of new data files in bytes."""
    small_bytes: int
    """Data files of fewer bytes are rewritten."""
    strategy: Strategy = Strategy.BINPACK
    """How rows are arranged in new files."""
    sort_order: Sequence[SortField] = ()
    """Of the strategy ``sort``; empty: the table's own."""
    zorder_columns: Sequence[str] = ()
    """Of the strategy ``zorder``."""
    partial_progress: bool = False
    """Whether to make several commits, each with a part of the files."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Additional entries for the summary of each new snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSet:
    """Partitions of one state of a table that are rewritten together."""

    partitions: Set[Partition]
    """Which."""
    is_all: bool
    """Whether no other partition has files."""
    with_deletes: bool
    """Whether to rewrite data files of any size to which deletes apply, and to merge delete files."""
    largest_bytes: int
    """Size of their largest data file in bytes, so that no file is rewritten for being too large."""


class RewriteFailure(StrEnum):
    """What is known of a commit that was not made upon others that were."""

    CONFLICT = "conflict"
    """The table changed; the rest may be planned again."""
    UNKNOWN = "unknown"
    """It is unknown whether it was made; nothing is committed on top of it (S19)."""
    REFUSED = "refused"
    """It was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenFiles:
    """The effect of commits, by the summaries of their snapshots."""

    after: CurrentTable
    """The state after the last of them."""
    snapshot_ids: Sequence[int] = ()
    """The new snapshots, in order; empty if there was nothing to do."""
    removed_data_files: int = 0
    """Data files that were replaced."""
    added_data_files: int = 0
    """Data files that replaced them."""
    removed_delete_files: int = 0
    """Delete files and deletion vectors that were removed."""
    added_delete_files: int = 0
    """Delete files that they were merged into."""
    removed_bytes: int = 0
    """Size of all files that were removed, in bytes."""
    added_bytes: int = 0
    """Size of all new files in bytes."""
    failed: str | None = None
    """Why not everything was committed."""
    failure: RewriteFailure | None = None
    """What is known about the failed commit; ``None``: none failed."""
    kept: str | None = None
    """Why dangling delete files stay; ``None``: none stay."""
