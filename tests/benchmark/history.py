"""One mark over the repository of a computed lake, in this process."""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from nessie_gc_memory.mock import MockLakeSpec, MockRepository
from nessie_gc_memory.mock.history import MockHistory

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.visited import ExactVisited
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model import ICEBERG_TABLE, LogEntry, Reference
from nessie_gc_core.model.policies import ReferencePolicies


def history_of(commits: int, references: int, *, fork_commits: int = 10) -> MockLakeSpec:
    """Almost all commits are on ``main``; of ten other references one is a branch with commits of its own."""
    return MockLakeSpec(
        lake="history",
        root="s3://lake/warehouse",
        content_type=ICEBERG_TABLE,
        references=references,
        branches_every=10,
        commits=commits,
        branch_commits=fork_commits,
        table_count=1000,
        interval=timedelta(seconds=1),
    )


def commits_of(spec: MockLakeSpec) -> int:
    """Commits that references reach."""
    return spec.commits + len(MockHistory(spec).branches) * spec.branch_commits


class CountingRepository(MockRepository):
    """Counts the commits that walks read, from any thread."""

    name = "counting"
    reads: ClassVar[Iterator[int]] = itertools.count()

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """Computes one commit after the other."""
        for entry in super().commit_log(reference):
            next(self.reads)
            yield entry


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


def measured(size: MockLakeSpec, *, database: Path | None, parallelism: int) -> MarkCost:
    """Marks everything, and says what it cost; without a database, content versions are counted, and not stored."""

    class Counted(CountingRepository):
        reads = itertools.count()

    before, started = _peak_megabytes(), time.perf_counter()
    result = _marked(Counted(size), parallelism) if database is None else _stored(Counted, size, database, parallelism)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    return MarkCost(
        commits=result[0],
        expected=commits_of(size),
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


def _marked(history: MockRepository, parallelism: int) -> tuple[int, int]:
    """Only the walk; gives how many commits and versions there are."""
    sizes: list[int] = []
    batches = BatchingContents(lambda versions: sizes.append(len(versions)))
    with closing(ExactVisited.from_options({})) as deduplicator:
        result = mark(
            history,
            ReferencePolicies.parse("NONE", reference_time=MockLakeSpec().newest),
            deduplicator,
            batches,
            references=list(history.references()),
            parallelism=parallelism,
        )
    batches.flush()
    return result.commits, sum(sizes)


def _stored(kind: type[MockRepository], size: MockLakeSpec, database: Path, parallelism: int) -> tuple[int, int]:
    """The whole service, with a live-set store in SQLite."""
    from nessie_gc_core import Collector
    from nessie_gc_core.plugins import PluginRegistry

    class Plugin:
        @hookimpl
        def nessie_gc_register_repository_connector(self) -> type[RepositoryConnector]:
            return kind

    registry = PluginRegistry.discover()
    registry.register(Plugin(), name="benchmark")
    options, url = size.as_options(), f"sqlite:///{database}"
    with Collector(plugins=registry, repository=kind.name, repository_option=options, jdbc_url=url) as collector:
        report = collector.mark(identify_parallelism=parallelism)
    return report.commits, report.content_versions


def main() -> None:
    """Marks once, as the arguments say, and prints the costs as JSON."""
    given = json.loads(sys.argv[1])
    size = history_of(given["commits"], given["references"])
    database = None if given["database"] is None else Path(given["database"])
    sys.stdout.write(json.dumps(asdict(measured(size, database=database, parallelism=given["parallelism"]))))


if __name__ == "__main__":
    main()
