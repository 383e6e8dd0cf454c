"""A repository that computes its commits, and one mark over it in this process.

``main`` has almost all commits. The other references are at evenly spaced commits of it; every tenth is a fork with
commits of its own. Every commit writes a new state of one table. What is stored is a few numbers, whatever the size.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from nessie_gc_core import ConnectorOptions, hookimpl, option, options
from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.visited import ExactVisited
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model import (
    ICEBERG_TABLE,
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)
from nessie_gc_core.model.policies import ReferencePolicies

_FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_ROOT = "s3://lake/warehouse"


@options
class HistoryOptions(ConnectorOptions):
    """How large the repository is."""

    commits: int = option(1000, help="of the default branch", minimum=1)
    references: int = option(10, help="branches and tags, with the default branch", minimum=1)
    fork_commits: int = option(10, help="of each fork")
    tables: int = option(1000, help="to which commits write", minimum=1)


class SimulatedHistory(RepositoryConnector):
    """A commit is a number: those of ``main`` count from 0, and those of the forks go on, fork after fork."""

    name = "simulated"
    Options = HistoryOptions

    reads: ClassVar[Iterator[int]] = itertools.count()
    """Counts the commits that walks read, from any thread."""

    def __init__(self, options: HistoryOptions) -> None:
        super().__init__(options)
        self._size = options

    def identity(self) -> str:
        """Always the same."""
        return "simulated"

    @property
    def forks(self) -> int:
        """References with commits of their own."""
        return (self._size.references - 1) // 10

    @property
    def all_commits(self) -> int:
        """Commits that references reach."""
        return self._size.commits + self.forks * self._size.fork_commits

    def references(self) -> Iterator[Reference]:
        """``main``, forks, and tags of its commits."""
        size = self._size
        yield Reference(name="main", kind=ReferenceKind.BRANCH, commit_id=_id(size.commits - 1))
        for number in range(size.references - 1):
            if number < self.forks:
                head = size.commits + (number + 1) * size.fork_commits - 1 if size.fork_commits else self._base(number)
                yield Reference(name=f"fork-{number}", kind=ReferenceKind.BRANCH, commit_id=_id(head))
            else:
                yield Reference(name=f"tag-{number}", kind=ReferenceKind.TAG, commit_id=_id(self._base(number)))

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """Computes one commit after the other."""
        number = None if reference.commit_id is None else int(reference.commit_id, 16)
        while number is not None:
            parent = self._parent(number)
            next(self.reads)
            put = Operation(kind=OperationKind.PUT, content_key=f"t{number}", content=self._state(number, number))
            yield LogEntry(
                commit_id=_id(number),
                parent_id=None if parent is None else _id(parent),
                commit_time=_FIRST + timedelta(seconds=min(number, self._size.commits)),
                operations=(put,),
            )
            number = parent

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """What is visible at a commit of ``main``: the newest state of each table."""
        head = -1 if reference.commit_id is None else int(reference.commit_id, 16)
        while head >= self._size.commits:
            head = self._base((head - self._size.commits) // self._size.fork_commits)
        for number in range(max(head - self._size.tables, -1) + 1, head + 1):
            yield self._state(number, head)

    def _base(self, number: int) -> int:
        """The commit of ``main`` of a reference."""
        return (number + 1) * self._size.commits // self._size.references

    def _parent(self, number: int) -> int | None:
        fork, place = divmod(number - self._size.commits, max(self._size.fork_commits, 1))
        if number < self._size.commits:
            return number - 1 if number else None
        return number - 1 if place else self._base(fork)

    def _state(self, number: int, commit: int) -> ContentVersion:
        table = number % self._size.tables
        return ContentVersion(
            content_id=f"00000000-0000-0000-0000-{table:012x}",
            content_type=ICEBERG_TABLE,
            metadata_location=f"{_ROOT}/table-{table}/metadata/{number:010}-{number:036x}.metadata.json",
            snapshot_id=number,
            content_key=f"t{table}",
            commit_id=_id(commit),
            commit_time=_FIRST + timedelta(seconds=commit) if number == commit else None,
        )


def _id(number: int) -> str:
    return f"{number:064x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkCost:
    """What one mark took."""

    commits: int
    """Live commits that it counted."""
    expected: int
    """Commits that there are."""
    references: int
    fetched: int
    """Commits that it read: each once, and one more for each walk that ran into another one."""
    versions: int
    """Content versions for the live-set store."""
    seconds: float
    processor_seconds: float
    """Of the whole process, including its start."""
    peak_megabytes: float
    """Of the whole process."""
    grown_megabytes: float
    """By how much the peak grew during the mark."""

    @property
    def is_right(self) -> bool:
        """Whether each commit was counted once, and was read once but where a walk looked ahead."""
        return self.commits == self.expected <= self.fetched <= self.expected + self.references


def measured(size: HistoryOptions, *, database: Path | None, parallelism: int) -> MarkCost:
    """Marks everything, and says what it cost; without a database, content versions are counted, and not stored."""

    class Counted(SimulatedHistory):
        reads = itertools.count()

    before, started = _peak_megabytes(), time.perf_counter()
    result = _marked(Counted(size), parallelism) if database is None else _stored(Counted, size, database, parallelism)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    return MarkCost(
        commits=result[0],
        expected=Counted(size).all_commits,
        references=size.references,
        fetched=next(Counted.reads),
        versions=result[1],
        seconds=seconds,
        processor_seconds=used.ru_utime + used.ru_stime,
        peak_megabytes=_peak_megabytes(),
        grown_megabytes=_peak_megabytes() - before,
    )


def _peak_megabytes() -> float:
    """Of this process so far; macOS counts in bytes, Linux in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _marked(history: SimulatedHistory, parallelism: int) -> tuple[int, int]:
    """Only the walk; gives how many commits and versions there are."""
    sizes: list[int] = []
    batches = BatchingContents(lambda versions: sizes.append(len(versions)))
    with closing(ExactVisited.from_options({})) as deduplicator:
        result = mark(
            history,
            ReferencePolicies.parse("NONE", reference_time=_FIRST),
            deduplicator,
            batches,
            references=list(history.references()),
            parallelism=parallelism,
        )
    batches.flush()
    return result.commits, sum(sizes)


def _stored(kind: type[SimulatedHistory], size: HistoryOptions, database: Path, parallelism: int) -> tuple[int, int]:
    """The whole service, with a live-set store in SQLite."""
    from nessie_gc_core import Collector
    from nessie_gc_core.plugins import PluginRegistry

    class Plugin:
        @hookimpl
        def nessie_gc_register_repository_connector(self) -> type[RepositoryConnector]:
            return kind

    registry = PluginRegistry.discover()
    registry.register(Plugin(), name="benchmark")
    options = {name: str(value) for name, value in asdict(size).items()}
    with Collector(
        plugins=registry, repository=kind.name, repository_option=options, jdbc_url=f"sqlite:///{database}"
    ) as collector:
        report = collector.mark(identify_parallelism=parallelism)
    return report.commits, report.content_versions


def main() -> None:
    """Marks once, as the arguments say, and prints the costs as JSON."""
    given = json.loads(sys.argv[1])
    size = HistoryOptions(commits=given["commits"], references=given["references"])
    database = None if given["database"] is None else Path(given["database"])
    sys.stdout.write(json.dumps(asdict(measured(size, database=database, parallelism=given["parallelism"]))))


if __name__ == "__main__":
    main()
