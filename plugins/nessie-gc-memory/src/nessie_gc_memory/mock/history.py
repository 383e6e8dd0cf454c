"""The history of a computed lake: which commit puts what, by arithmetic alone.

A state of a table is a position on a line; as many as a commit puts follow one another, and the last one is the commit.
Line 0 is ``main``; the line of another branch is the number of the branch, and has only those positions that come after
the one where it leaves ``main``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from nessie_gc_core.model.repository import ReferenceKind
from nessie_gc_memory.mock.numbers import mixed
from nessie_gc_memory.mock.spec import MockLakeSpec


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a table that a commit puts; the last state that it puts is the commit itself."""

    line: int
    """0 for ``main``, otherwise the number of the branch."""
    position: int
    """How many states come before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A reference."""

    name: str
    kind: ReferenceKind
    line: int
    position: int


class MockHistory:
    """Commits and references of a lake.

    Args:
        spec: the lake.
        more_commits: commits that ``main`` got since.
    """

    def __init__(self, spec: MockLakeSpec, more_commits: int = 0) -> None:
        self._spec = spec
        self._each = spec.tables_per_commit
        self._last = (spec.commits + more_commits) * self._each - 1
        self._own = spec.branch_commits * self._each
        self._ids = f"{mixed(spec.seed, 1):016x}"

    def heads(self) -> Iterator[Head]:
        """All references; ``main`` is the first."""
        yield Head(name="main", kind=ReferenceKind.BRANCH, line=0, position=self._last)
        for number in range(1, self._spec.references):
            if self._is_tag(number):
                yield Head(name=f"tag-{number}", kind=ReferenceKind.TAG, line=0, position=self.base(number))
            else:
                line, last = number if self._own else 0, self.base(number) + self._own
                yield Head(name=f"branch-{number}", kind=ReferenceKind.BRANCH, line=line, position=last)

    def _is_tag(self, number: int) -> bool:
        every = self._spec.branches_every
        return every == 0 or (number - 1) % every > 0

    def base(self, number: int) -> int:
        """The commit of ``main`` from which a reference was created."""
        return self.end_of(number * self._spec.commits // self._spec.references * self._each)

    def end_of(self, position: int) -> int:
        """The commit that puts the state at a position."""
        return position // self._each * self._each + self._each - 1

    def put_by(self, commit: Snapshot) -> Iterator[Snapshot]:
        """The states that a commit puts."""
        last = commit.position
        return (Snapshot(commit.line, position) for position in range(last - self._each + 1, last + 1))

    @cached_property
    def branches(self) -> Sequence[int]:
        """The lines beside ``main``."""
        return [number for number in range(1, self._spec.references) if self._own and not self._is_tag(number)]

    def owner(self, line: int, position: int) -> Snapshot:
        """The commit at a position of a line, whichever line it is on."""
        return Snapshot(0 if position <= self.base(line) else line, position) if line else Snapshot(0, position)

    def exists(self, snapshot: Snapshot) -> bool:
        """Whether there is such a state."""
        line, position = snapshot.line, snapshot.position
        if line == 0:
            return 0 <= position <= self._last
        if not 0 < line < self._spec.references or self._is_tag(line):
            return False
        return self.base(line) < position <= self.base(line) + self._own

    def parent(self, commit: Snapshot) -> Snapshot | None:
        """The first parent."""
        earlier = commit.position - self._each
        return self.owner(commit.line, earlier) if earlier >= 0 else None

    def commits_between(self, earlier: int, later: int) -> int:
        """How many commits after that of one state another state was put."""
        return later // self._each - earlier // self._each

    def time_of(self, position: int) -> datetime:
        """When a state was put."""
        return self._spec.newest + (position // self._each - self._spec.commits + 1) * self._spec.interval

    def commit_id(self, commit: Snapshot) -> str:
        """The id of the commit that puts a state."""
        return f"{self._ids}{commit.line:016x}{commit.position // self._each:032x}"

    def commit_of(self, commit_id: str) -> Snapshot | None:
        """The commit with an id, if there is one."""
        try:
            commit = Snapshot(int(commit_id[16:32], 16), self.end_of(int(commit_id[32:], 16) * self._each))
        except ValueError:
            return None
        return commit if self.exists(commit) and self.commit_id(commit) == commit_id else None

    # ---- tables ---------------------------------------------------------------------------------------
    def table_of(self, snapshot: Snapshot) -> int:
        """The table whose state it is."""
        return snapshot.position % self._spec.table_count

    def number_of(self, snapshot: Snapshot) -> int:
        """How many snapshots of its table come before it."""
        return snapshot.position // self._spec.table_count

    def snapshots(self, table: int) -> Iterator[Snapshot]:
        """All snapshots of a table: those of ``main``, and then branch after branch."""
        step = self._spec.table_count
        yield from (Snapshot(0, position) for position in range(table, self._last + 1, step))
        for line in self.branches:
            first = self.base(line) + 1
            start = first + (table - first) % step
            yield from (Snapshot(line, position) for position in range(start, first + self._own, step))

    def visible(self, commit: Snapshot) -> Iterator[Snapshot]:
        """The newest state of each table at a commit."""
        for position in range(max(commit.position - self._spec.table_count + 1, 0), commit.position + 1):
            yield self.owner(commit.line, position)

    def sharing(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        """The snapshots whose manifests a snapshot has, oldest first; the last is itself."""
        number, every = self.number_of(snapshot), self._spec.overwrite_every
        yield from self._back(snapshot, number % every if every else number)

    def replaces(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot has no manifest of an earlier one."""
        number, every = self.number_of(snapshot), self._spec.overwrite_every
        return number == 0 or (every > 0 and number % every == 0)

    def logged(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        """The snapshots whose metadata files the metadata file of a snapshot names, oldest first."""
        *earlier, _ = self._back(snapshot, min(self._spec.logged_metadata, self.number_of(snapshot)))
        yield from earlier

    def listed(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        """The snapshots that its metadata file lists, oldest first; the last is itself."""
        yield from self._back(snapshot, min(self._spec.listed_snapshots - 1, self.number_of(snapshot)))

    def _back(self, snapshot: Snapshot, steps: int) -> Iterator[Snapshot]:
        for step in range(steps, -1, -1):
            yield self.owner(snapshot.line, snapshot.position - step * self._spec.table_count)

    # ---- what a snapshot has --------------------------------------------------------------------------
    def format_version(self, table: int) -> int:
        """The format version of a table."""
        return int(self._spec.format_versions[table % len(self._spec.format_versions)])

    def has_deletes(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot deletes rows of its own data files."""
        return self._is_nth(snapshot, self._spec.deletes_every) and self.format_version(self.table_of(snapshot)) > 1

    def has_statistics(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot has a statistics file."""
        return self._is_nth(snapshot, self._spec.statistics_every)

    def _is_nth(self, snapshot: Snapshot, every: int) -> bool:
        return every > 0 and self.number_of(snapshot) % every == every - 1

    def snapshot_id(self, snapshot: Snapshot) -> int:
        """Its id in Iceberg's metadata."""
        return mixed(self._spec.seed, 2, snapshot.line, snapshot.position) >> 2 | 1 << 61
