"""Puts the commits of a computed lake into a real Nessie, and its files onto a disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, MockOracle, commit_records, write_lake

from lakes.nessie import NessieCommits
from nessie_gc_core.model.repository import ICEBERG_TABLE

_ON_DISK = "file://"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLake:
    """A lake, and what is known of it without reading it."""

    spec: MockLakeSpec
    nessie_uri: str
    logs: dict[str, tuple[str, ...]]
    """For each reference the ids of all its commits, oldest first; the first one makes the namespace."""

    @property
    def folder(self) -> Path:
        """Where its files are on the disk."""
        return Path(self.spec.root.removeprefix(_ON_DISK))

    @property
    def commits(self) -> int:
        """Commits of tables that were made, on all branches together."""
        return len({commit for log in self.logs.values() for commit in log[1:]})

    @property
    def appends(self) -> int:
        """How many of them there are for each table."""
        return self.commits * self.spec.tables_per_commit // self.spec.table_count

    @property
    def stored_files(self) -> int:
        """How many files were written."""
        return MockOracle(self.spec).counts().stored

    def live_paths(self, keep_commits: int | None = None) -> set[str]:
        """The files that a policy keeps; ``None`` keeps every commit. Paths on a disk have no scheme."""
        return {path.removeprefix(_ON_DISK) for path in self._oracle(keep_commits).live_files()}

    def dead_paths(self, keep_commits: int | None = None) -> set[str]:
        """The files that a policy gives up, those that no commit ever named among them."""
        return {path.removeprefix(_ON_DISK) for path in self._oracle(keep_commits).garbage()}

    def _oracle(self, keep_commits: int | None) -> MockOracle:
        return MockOracle(self.spec, "NONE" if keep_commits is None else str(keep_commits))


def build_lake(spec: MockLakeSpec, nessie_uri: str) -> CommittedLake:
    """Writes a lake whose root is a new folder, and commits it to a server that does not have it."""
    write_lake(MockLake(spec, MockChanges()), Path(spec.root.removeprefix(_ON_DISK)))
    return commit_lake(spec, nessie_uri)


def commit_lake(spec: MockLakeSpec, nessie_uri: str, *, prefix: str = "") -> CommittedLake:
    """Commits a lake, and writes no file.

    Args:
        spec: the lake.
        nessie_uri: where it is committed.
        prefix: what the names of all references begin with; the one for ``main`` must exist, without commits.
    """
    logs: dict[str, list[str]] = {"main": []}
    ids: dict[tuple[str, ...], str] = {}
    with NessieCommits(nessie_uri) as nessie:
        for record in commit_records(replace(spec, content_type=ICEBERG_TABLE)):
            if "create" in record:
                logs[record["create"]] = list(logs[record["from"]])
                nessie.create(record["type"], prefix + record["create"], source=prefix + record["from"])
                continue
            contents = {tuple(each["key"]): each["content"] for each in record["contents"]}
            log, branch = logs[record["commit"]], prefix + record["commit"]
            if not log:
                log.append(_make_namespace(nessie, branch, next(iter(contents))[:-1]))
            with_ids = {key: {**content, **_id(ids, key)} for key, content in contents.items()}
            named = ".".join(next(iter(contents))) if len(contents) == 1 else f"{len(contents)} tables"
            commit, added = nessie.put(branch, with_ids, message=f"a snapshot of {named}")
            ids.update(added)
            log.append(commit)
    return CommittedLake(
        spec=spec, nessie_uri=nessie_uri, logs={prefix + name: tuple(log) for name, log in logs.items()}
    )


def _make_namespace(nessie: NessieCommits, branch: str, elements: tuple[str, ...]) -> str:
    namespace = {"type": "NAMESPACE", "elements": list(elements), "properties": {}}
    commit, _ = nessie.put(branch, {elements: namespace}, message="namespace")
    return commit


def _id(ids: dict[tuple[str, ...], str], key: tuple[str, ...]) -> dict[str, Any]:
    """Nessie gives a new content its id, and asks for it afterwards."""
    return {"id": ids[key]} if key in ids else {}
