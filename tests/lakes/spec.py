"""What a simulated lake looks like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSpec:
    """The shape of a lake; the defaults are the lake of the measurements (20 x 100 x 50, 8 branches, 10 %)."""

    tables: int = 20
    appends: int = 100
    """Commits per table, over all branches together: the lake has ``tables * appends`` table commits."""
    files_per_append: int = 50
    branches: int = 8
    """How many branches there are beside ``main``; they fork from it at equal intervals."""
    branch_share: float = 0.2
    """Which share of the appends goes to the branches after they forked (0: forks without commits of their own)."""
    garbage_ratio: float = 0.1
    """Files that no commit ever named, per committed data file."""
    tables_per_commit: int = 1
    """How many tables one commit puts at once."""
    overwrite_every: int = 0
    """Each n-th append of a table replaces all its data instead of adding to it; 0: never."""
    data_file_bytes: int = 1000
    """Size of a data file; it is sparse and takes no room on the disk."""
    partitions: int = 4
    age_days: float = 30.0
    """How long ago every file was last modified."""
    namespace: str = "lake"
    branch_prefix: str = "branch-"
    main: str = "main"
    scheme: str = "file://"
    """What stands before a file's absolute path in metadata."""
    seed: int = 7
    """File names and ids come from this."""

    def __post_init__(self) -> None:
        if min(self.tables, self.appends, self.files_per_append, self.partitions, self.tables_per_commit) < 1:
            raise ValueError("a lake has at least one table (in a commit), append, file an append and partition")

    @property
    def data_files(self) -> int:
        """How many data files its commits name."""
        return self.tables * self.appends * self.files_per_append

    def branch_name(self, number: int) -> str:
        """The name of the n-th branch, counted from 1."""
        return f"{self.branch_prefix}{number}"

    def steps(self) -> Iterator[tuple[Literal["fork", "append"], str]]:
        """What happens in turn: a branch forks from main, or every table gets one append on a branch."""
        own = round(self.appends * self.branch_share / self.branches) if self.branches else 0
        on_main = self.appends - own * self.branches
        forked = 0
        for done in range(1, on_main + 1):
            yield "append", self.main
            while forked < self.branches and done * (self.branches + 1) >= on_main * (forked + 1):
                forked += 1
                yield "fork", self.branch_name(forked)
                for _ in range(own):
                    yield "append", self.branch_name(forked)
