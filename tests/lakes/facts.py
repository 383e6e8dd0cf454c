"""What is known about a lake that was built: every state, every file, and what a policy keeps."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakes.spec import LakeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What one append made. Paths are absolute, without a scheme."""

    table: int
    snapshot_id: int
    parent: int | None
    """Index of the state before it; ``None`` for the first append of a table."""
    replaces: bool
    """Whether it names none of the files before it."""
    metadata: str
    manifest_list: str
    manifest: str
    data_prefix: str
    """Data file i is ``data_prefix.format(partition=i % partitions, number=i)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedState:
    """One commit of a branch."""

    commit_id: str
    states: tuple[int, ...]
    """Indexes of the states that it put; none for the commit that made the namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFacts:
    """A lake, file by file."""

    spec: LakeSpec
    directory: str
    """Absolute; every file of the lake lies below."""
    nessie_uri: str
    commits: int
    """Commits of tables that were made, on all branches together."""
    states: tuple[TableState, ...]
    branches: dict[str, tuple[CommittedState, ...]]
    """For each branch all its commits, oldest first, those from before its fork included."""
    content_ids: dict[str, str]
    """Dotted table name to content id."""
    garbage: tuple[str, ...]
    """Files that no commit ever named."""

    def table_location(self, table: int) -> str:
        """The absolute path of a table's directory."""
        return table_directory(self.spec, Path(self.directory), table)

    def data_files(self, state: TableState) -> Iterator[str]:
        """The data files that an append added."""
        for number in range(self.spec.files_per_append):
            yield state.data_prefix.format(partition=number % self.spec.partitions, number=number)

    def committed_paths(self) -> Iterator[str]:
        """Every file that some commit names."""
        for state in self.states:
            yield from (state.metadata, state.manifest_list, state.manifest)
            yield from self.data_files(state)

    @property
    def stored_files(self) -> int:
        """How many files are on the disk."""
        return len(self.states) * (3 + self.spec.files_per_append) + len(self.garbage)

    def live_states(self, keep_commits: int | None = None) -> set[int]:
        """Indexes of the states that a policy keeps on every branch; ``None`` keeps every commit.

        The newest commits of each branch, and whatever is visible at the oldest of them.
        """
        live: set[int] = set()
        for history in self.branches.values():
            cut = 0 if keep_commits is None else max(len(history) - max(keep_commits, 1), 0)
            visible: dict[int, int] = {}
            for number, commit in enumerate(history):
                if number <= cut:
                    visible.update((self.states[state].table, state) for state in commit.states)
                else:
                    live.update(commit.states)
            live.update(visible.values())
        return live

    def live_paths(self, keep_commits: int | None = None) -> set[str]:
        """The files that a policy keeps: of each live state all that its snapshot needs."""
        live: set[str] = set()
        walked: set[int] = set()
        for index in self.live_states(keep_commits):
            live.update((self.states[index].metadata, self.states[index].manifest_list))
            at: int | None = index
            while at is not None and at not in walked:
                walked.add(at)
                state = self.states[at]
                live.add(state.manifest)
                live.update(self.data_files(state))
                at = None if state.replaces else state.parent
        return live

    def dead_paths(self, keep_commits: int | None = None) -> set[str]:
        """The files that a policy gives up, the garbage among them."""
        return set(self.committed_paths()) - self.live_paths(keep_commits) | set(self.garbage)

    def save(self, path: Path) -> None:
        """Writes the facts as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> LakeFacts:
        """Reads what :meth:`save` wrote."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        branches = {
            name: tuple(CommittedState(commit_id=one["commit_id"], states=tuple(one["states"])) for one in history)
            for name, history in values["branches"].items()
        }
        return cls(
            **{
                **values,
                "spec": LakeSpec(**values["spec"]),
                "states": tuple(TableState(**state) for state in values["states"]),
                "branches": branches,
                "garbage": tuple(values["garbage"]),
            }
        )


def table_directory(spec: LakeSpec, directory: Path, table: int) -> str:
    """The absolute path of a table's directory: ``t1`` and ``t10`` are neighbours on purpose."""
    return f"{directory}/{spec.namespace}/t{table}"
