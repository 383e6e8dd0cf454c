"""A repository history in memory: references, commits, merges, and what is visible at each commit."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.errors import ReferenceNotFoundError, RepositoryError
from nessie_gc_core.model.repository import (
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)
from nessie_gc_core.model.times import in_zone

_STATE_INTERVAL = 64
"""Every so many commits the visible contents are remembered, so that asking for them stays cheap."""

State = Mapping[str, ContentVersion]
"""What is visible at a commit, by content key."""


def put(content: ContentVersion, *, key: str | None = None) -> Operation:
    """Puts a content at its own key, or at another one."""
    content_key = content.content_key if key is None else key
    return Operation(kind=OperationKind.PUT, content_key=content_key, content=replace(content, content_key=content_key))


def put_namespace(key: str) -> Operation:
    """Puts a content without files."""
    return Operation(kind=OperationKind.PUT, content_key=key)


def delete(key: str) -> Operation:
    """Deletes a key."""
    return Operation(kind=OperationKind.DELETE, content_key=key)


def unchanged(key: str) -> Operation:
    """Says that a key was read and not changed."""
    return Operation(kind=OperationKind.UNCHANGED, content_key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as the history keeps it."""

    commit_id: str
    parent_id: str | None
    commit_time: datetime
    operations: tuple[Operation, ...]
    merged_id: str | None = None
    """The commit that was merged, where it is a merge."""
    hides_operations: bool = False
    """Its log entry gives no operations, as a server may do; its contents are known all the same."""

    def entry(self) -> LogEntry:
        """What a log shows of it."""
        return LogEntry(
            commit_id=self.commit_id,
            parent_id=self.parent_id,
            commit_time=self.commit_time,
            operations=None if self.hides_operations else self.operations,
        )


class MemoryHistory:
    """References and commits; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._references: dict[str, Reference] = {}
        self._commits: dict[str, Commit] = {}
        self._states: dict[str, State] = {}

    def writing(self) -> AbstractContextManager[object]:
        """A time in which no other thread changes anything."""
        return self._lock

    # ---- reading --------------------------------------------------------------------------------------
    def references(self) -> list[Reference]:
        """All references as they are now."""
        with self._lock:
            return list(self._references.values())

    def reference(self, name: str) -> Reference:
        """The named reference.

        Raises:
            ReferenceNotFoundError: there is none.
        """
        with self._lock:
            if name not in self._references:
                raise ReferenceNotFoundError(f"unknown reference {name!r}")
            return self._references[name]

    def commits(self) -> list[Commit]:
        """All commits, parents before children, those that no reference leads to as well."""
        with self._lock:
            return list(self._commits.values())

    def commit_of(self, commit_id: str) -> Commit:
        """The commit with this id.

        Raises:
            ReferenceNotFoundError: there is none.
        """
        commit = self._commits.get(commit_id)
        if commit is None:
            raise ReferenceNotFoundError(f"unknown commit {commit_id}")
        return commit

    def log(self, commit_id: str | None) -> Iterator[Commit]:
        """First-parent history, newest first."""
        while commit_id is not None:
            commit = self.commit_of(commit_id)
            yield commit
            commit_id = commit.parent_id

    def state_at(self, commit_id: str | None) -> State:
        """What is visible at a commit, contents without files left out."""
        waiting: list[Commit] = []
        visible: dict[str, ContentVersion] = {}
        for commit in self.log(commit_id):
            known = self._states.get(commit.commit_id)
            if known is not None:
                visible = dict(known)
                break
            waiting.append(commit)
        for number, commit in enumerate(reversed(waiting), start=1):
            _apply(visible, commit.operations)
            if number % _STATE_INTERVAL == 0:
                self._states[commit.commit_id] = dict(visible)
        return visible

    # ---- writing --------------------------------------------------------------------------------------
    def branch(self, name: str, at: str | None = None) -> Reference:
        """Creates a branch at a reference or commit; without one it has no commit yet."""
        return self._create(name, ReferenceKind.BRANCH, at)

    def tag(self, name: str, at: str) -> Reference:
        """Creates a tag at a reference or commit."""
        return self._create(name, ReferenceKind.TAG, at)

    def drop(self, name: str) -> Reference:
        """Drops a reference; its commits stay, detached. Gives the reference as it was."""
        with self._lock:
            dropped = self.reference(name)
            del self._references[name]
            return dropped

    def assign(self, name: str, at: str | None) -> Reference:
        """Moves a reference to another reference's commit, or to a commit."""
        with self._lock:
            moved = replace(self.reference(name), commit_id=self.resolve(at))
            self._references[name] = moved
            return moved

    def commit(
        self,
        branch: str,
        *operations: Operation,
        time: datetime,
        hides_operations: bool = False,
        merged_id: str | None = None,
    ) -> str:
        """Commits to a branch, which is made if there is none; returns the commit's id.

        Ids follow from content and parents: the same history always has the same ids.
        """
        with self._lock:
            if branch not in self._references:
                self.branch(branch)
            reference = self._references[branch]
            if reference.kind is not ReferenceKind.BRANCH:
                raise RepositoryError(f"{branch!r} is a tag and takes no commits; commit to a branch")
            commit_id = _commit_id(reference.commit_id, merged_id, time, operations)
            commit = Commit(
                commit_id=commit_id,
                parent_id=reference.commit_id,
                commit_time=in_zone(time),
                operations=tuple(_at_commit(operation, commit_id, in_zone(time)) for operation in operations),
                merged_id=merged_id,
                hides_operations=hides_operations,
            )
            self._commits[commit_id] = commit
            self._references[branch] = replace(reference, commit_id=commit_id)
            return commit_id

    def merge(self, source: str, *, into: str, time: datetime) -> str:
        """Merges all that a reference changed since both parted, as one commit; returns the commit's id."""
        with self._lock:
            merged, target = self.resolve(source), self.reference(into).commit_id
            theirs, base = self.state_at(merged), self.state_at(self.common_ancestor(merged, target))
            changed = [put(content) for key, content in theirs.items() if base.get(key) != content]
            dropped = [delete(key) for key in base if key not in theirs]
            return self.commit(into, *changed, *dropped, time=time, merged_id=merged)

    def common_ancestor(self, one: str | None, other: str | None) -> str | None:
        """The newest commit that two commits have in common, over merges too."""
        known = set(self._ancestors(one))
        return next((commit_id for commit_id in self._ancestors(other) if commit_id in known), None)

    def forget(self, commit_id: str) -> None:
        """Removes a commit, as a damaged or cut-off repository has it."""
        with self._lock:
            self._commits.pop(commit_id, None)
            self._states.clear()

    def restore(self, references: Sequence[Reference], commits: Sequence[Commit]) -> None:
        """Replaces everything (what :mod:`nessie_gc_memory.saved` reads)."""
        with self._lock:
            self._references = {reference.name: reference for reference in references}
            self._commits = {commit.commit_id: commit for commit in commits}
            self._states.clear()

    def resolve(self, at: str | None) -> str | None:
        """The commit that a reference name or commit id stands for."""
        with self._lock:
            if at is None:
                return None
            return self._references[at].commit_id if at in self._references else self.commit_of(at).commit_id

    def _create(self, name: str, kind: ReferenceKind, at: str | None) -> Reference:
        with self._lock:
            if name in self._references:
                raise RepositoryError(f"the reference {name!r} already exists; drop it first, or assign it")
            reference = Reference(name=name, kind=kind, commit_id=self.resolve(at))
            self._references[name] = reference
            return reference

    def _ancestors(self, commit_id: str | None) -> Iterator[str]:
        """The commit and all before it, nearest first."""
        waiting, seen = [commit_id], set[str]()
        for found in waiting:
            if found is not None and found not in seen:
                seen.add(found)
                yield found
                commit = self.commit_of(found)
                waiting += [commit.parent_id, commit.merged_id]


def _apply(visible: dict[str, ContentVersion], operations: Sequence[Operation]) -> None:
    for operation in operations:
        if operation.kind is OperationKind.UNCHANGED:
            continue
        if operation.content is not None:
            visible[operation.content_key] = operation.content
        else:
            visible.pop(operation.content_key, None)


def _at_commit(operation: Operation, commit_id: str, time: datetime) -> Operation:
    if operation.content is None:
        return operation
    return replace(operation, content=replace(operation.content, commit_id=commit_id, commit_time=time))


def _commit_id(parent_id: str | None, merged_id: str | None, time: datetime, operations: Sequence[Operation]) -> str:
    facts = (
        parent_id,
        merged_id,
        time.isoformat(),
        [
            (each.kind.value, each.content_key, each.content.identity if each.content is not None else None)
            for each in operations
        ],
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()
