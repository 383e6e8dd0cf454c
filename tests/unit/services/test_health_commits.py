"""Commits since an instant are counted, and a history is read no further than needed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from nessie_gc_core import Collector
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model import ContentVersion, LogEntry, Reference, ReferenceKind
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.health.commits import commits_since

NOW = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Logs(RepositoryConnector):
    """References with commits, of so many hours each; counts those that are read."""

    name = "logs"

    def __init__(self, logs: dict[str, list[tuple[str, int]]]) -> None:
        super().__init__(ConnectorOptions())
        self._logs = logs
        self.read: list[str] = []

    def identity(self) -> str:
        return "logs"

    def references(self) -> Iterator[Reference]:
        for name, log in self._logs.items():
            yield Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=log[0][0] if log else None)

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        return iter(())

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        for name, hours in self._logs[reference.name]:
            self.read.append(name)
            yield LogEntry(commit_id=name, parent_id=None, commit_time=NOW - hours * HOUR, operations=None)


def count(logs: Logs, *, hours: int, most: int = 100) -> int:
    return commits_since(logs, logs.references(), NOW - hours * HOUR, most=most)


def test_later_commits_count_and_one_that_two_references_have_counts_once() -> None:
    logs = Logs({"main": [("c", 1), ("b", 2), ("a", 3)], "dev": [("d", 1), ("b", 2), ("a", 3)], "empty": []})
    assert 3 == count(logs, hours=3)
    assert 0 == count(logs, hours=1)


def test_a_history_is_read_no_further_than_the_instant_and_the_number_that_is_asked_for() -> None:
    logs = Logs({"main": [(str(hours), hours) for hours in range(1000)], "dev": [("x", 0)]})
    assert 2 == count(logs, hours=2, most=2)
    assert ["0", "1"] == logs.read
    logs.read.clear()
    assert 4 == count(logs, hours=3)
    assert ["0", "1", "2", "3", "x"] == logs.read


def test_health_counts_them_on_request() -> None:
    with Collector(repository="mock", store="memory") as gc:
        assert gc.health().commits is None
        assert 3 == gc.health(commits_since=datetime(1970, 1, 1, tzinfo=UTC), max_commits=3).commits
        report = gc.health(commits_since=datetime(2999, 1, 1, tzinfo=UTC))
    assert ("0 commits since then" in str(report), 0) == (True, report.to_dict()["commits"])
