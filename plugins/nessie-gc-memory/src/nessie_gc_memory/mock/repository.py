"""The repository connector ``mock``."""

from __future__ import annotations

from collections.abc import Iterator

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ReferenceNotFoundError
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Operation, OperationKind, Reference
from nessie_gc_memory.mock.changes import MockChanges
from nessie_gc_memory.mock.history import MockHistory, Snapshot
from nessie_gc_memory.mock.layout import MockLayout, Role
from nessie_gc_memory.mock.numbers import mixed
from nessie_gc_memory.mock.spec import MockLakeSpec


class MockRepository(RepositoryConnector):
    """Computes the history of a lake from its options; nothing of it is stored."""

    name = "mock"
    Options = MockLakeSpec

    def __init__(self, options: MockLakeSpec) -> None:
        super().__init__(options)
        self._spec = options
        self._changes = MockChanges.of(options)
        self._content_ids = f"{mixed(options.seed, 11):016x}"

    def identity(self) -> str:
        """The lake's name."""
        return f"mock:{self._spec.lake}"

    def default_reference(self) -> str:
        """Always ``main``."""
        return "main"

    def references(self) -> Iterator[Reference]:
        """All references."""
        history = self._history()
        for head in history.heads():
            commit = history.owner(head.line, head.position)
            yield Reference(name=head.name, kind=head.kind, commit_id=history.commit_id(commit))

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """Computes one commit after the other."""
        history = self._history()
        layout, commit = MockLayout(self._spec, history), self._found(history, reference)
        while commit is not None:
            parent = history.parent(commit)
            versions = [self._version(history, layout, snapshot, commit) for snapshot in history.put_by(commit)]
            yield LogEntry(
                commit_id=history.commit_id(commit),
                parent_id=None if parent is None else history.commit_id(parent),
                commit_time=history.time_of(commit.position),
                operations=tuple(
                    Operation(kind=OperationKind.PUT, content_key=version.content_key, content=version)
                    for version in versions
                ),
            )
            commit = parent

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """The newest state of each table."""
        history = self._history()
        layout, commit = MockLayout(self._spec, history), self._found(history, reference)
        if commit is not None:
            for snapshot in history.visible(commit):
                yield self._version(history, layout, snapshot, commit)

    def _history(self) -> MockHistory:
        """With the commits so far."""
        return MockHistory(self._spec, self._changes.commits)

    def _found(self, history: MockHistory, reference: Reference) -> Snapshot | None:
        if reference.commit_id is None:
            return None
        commit = history.commit_of(reference.commit_id)
        if commit is None:
            raise ReferenceNotFoundError(f"the lake {self._spec.lake!r} has no commit {reference.commit_id}")
        return commit

    def _version(
        self, history: MockHistory, layout: MockLayout, snapshot: Snapshot, commit: Snapshot
    ) -> ContentVersion:
        table = history.table_of(snapshot)
        return ContentVersion(
            content_id=f"{self._content_ids}-{table:06}",
            content_type=self._spec.content_type,
            metadata_location=layout.path(layout.block(snapshot, Role.METADATA)),
            snapshot_id=history.snapshot_id(snapshot),
            content_key=".".join(layout.key(table)),
            commit_id=history.commit_id(commit),
            commit_time=history.time_of(commit.position) if snapshot in history.put_by(commit) else None,
        )
