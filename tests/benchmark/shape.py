"""What the lakes of the benchmark look like, and the options that say so."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from nessie_gc_memory.mock import MockLakeSpec

from nessie_gc_core.model import ICEBERG_TABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeShape:
    """The shape of a lake; the defaults are the lake of the measurements (20 x 100 x 50, 8 branches, 10 %)."""

    tables: int = 20
    appends: int = 100
    """Snapshots of each table, over all branches together."""
    files_per_append: int = 50
    branches: int = 8
    """How many branches there are beside ``main``; they fork from it at equal intervals."""
    branch_share: float = 0.2
    """Which share of the appends goes to the branches after they forked (0: forks without commits of their own)."""
    garbage_ratio: float = 0.1
    """Files that no commit ever named, per committed data file."""
    tables_per_commit: int = 1
    """How many tables one commit changes."""
    overwrite_every: int = 0
    """Each n-th append of a table replaces all its data instead of adding to it; 0: never."""

    def spec(self, root: str) -> MockLakeSpec:
        """The lake at a place: its metadata is as large as that of Spark's tables of two columns in four partitions."""
        own = round(self.appends * self.branch_share / self.branches) if self.branches else 0
        data_files = self.tables * self.appends * self.files_per_append
        return MockLakeSpec(
            lake="measured",
            seed=7,
            root=root,
            content_type=ICEBERG_TABLE,
            references=self.branches + 1,
            branches_every=1,
            commits=self._commits(self.appends - own * self.branches),
            branch_commits=self._commits(own),
            tables_per_commit=self.tables_per_commit,
            table_count=self.tables,
            files_per_commit=self.files_per_append,
            partitions=4,
            columns=2,
            compressed=True,
            overwrite_every=self.overwrite_every,
            listed_snapshots=self.appends,
            logged_metadata=100,
            garbage_files=round(data_files * self.garbage_ratio / self.tables),
            file_bytes=1000,
        )

    def _commits(self, appends: int) -> int:
        """How many commits every table gets so many appends by."""
        return -(-appends * self.tables // self.tables_per_commit)


def shape_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that shape a lake."""
    default = LakeShape()
    parser.add_argument("--tables", type=int, default=default.tables)
    parser.add_argument("--tables-per-commit", type=int, default=default.tables_per_commit)
    parser.add_argument("--appends", type=int, default=default.appends)
    parser.add_argument("--files", type=int, default=default.files_per_append, help="data files per append")
    parser.add_argument("--branches", type=int, default=default.branches)
    parser.add_argument("--branch-share", type=float, default=default.branch_share)
    parser.add_argument("--garbage", type=float, default=default.garbage_ratio, help="per committed data file")
    parser.add_argument("--overwrite-every", type=int, default=default.overwrite_every)


def shape_from(arguments: argparse.Namespace) -> LakeShape:
    """The lake that the options describe."""
    return LakeShape(
        tables=arguments.tables,
        tables_per_commit=arguments.tables_per_commit,
        appends=arguments.appends,
        files_per_append=arguments.files,
        branches=arguments.branches,
        branch_share=arguments.branch_share,
        garbage_ratio=arguments.garbage,
        overwrite_every=arguments.overwrite_every,
    )


def on_disk(folder: Path) -> str:
    """The root of a lake in a folder."""
    return f"file://{folder.absolute()}"
