from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from nessie_gc_core.algorithms.mark import mark
from nessie_gc_core.algorithms.visited import NoneVisited
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference, ReferenceKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class LongHistory(RepositoryConnector):
    """Each history has many commits; one reference has none. Waits once until the interrupt has been raised."""

    name = "long"
    length = 10_000

    def __init__(self) -> None:
        super().__init__(ConnectorOptions())
        self.interrupted = threading.Event()
        self.fetched = 0

    def identity(self) -> str:
        return "long"

    def references(self) -> Iterator[Reference]:
        yield Reference(name="empty", kind=ReferenceKind.BRANCH, commit_id=None)
        yield Reference(name="long", kind=ReferenceKind.BRANCH, commit_id="0")

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        assert self.interrupted.wait(10)
        for number in range(self.length):
            self.fetched += 1
            if number == 0:
                threading.Event().wait(0.2)  # the waiting thread passes the interrupt on meanwhile
            yield LogEntry(commit_id=f"{number}", parent_id=f"{number + 1}", commit_time=NOW, operations=())

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        return iter(())


def test_an_interrupt_ends_the_walks_that_are_under_way() -> None:
    repository = LongHistory()

    def interrupt(done: int) -> None:
        repository.interrupted.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mark(
            repository,
            ReferencePolicies.parse("NONE", reference_time=NOW),
            NoneVisited(ConnectorOptions()),
            lambda versions: None,
            references=list(repository.references()),
            parallelism=2,
            progress=interrupt,
        )
    assert repository.fetched < repository.length
