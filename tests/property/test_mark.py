"""Mark against the oracle, over random histories."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Identity, live_versions
from thoroughness import examples

from nessie_gc_core import model
from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.visited import ExactVisited, ExactVisitedOptions, NoneVisited
from nessie_gc_core.algorithms.walk import CommitWalker
from nessie_gc_core.connectors import RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import ReferencePolicies

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Commit:
    parent: int | None
    hour: int
    puts: tuple[str, ...]
    drops: tuple[str, ...]


class History(RepositoryConnector):
    """A tree of commits by number; counts what is fetched."""

    name = "history"

    def __init__(self, commits: list[Commit], heads: list[int | None], policies: list[str]) -> None:
        super().__init__(ConnectorOptions())
        self.commits = commits
        self.heads = heads
        self.policies = policies
        self.fetched: list[int] = []
        self._lock = threading.Lock()

    def identity(self) -> str:
        return "history"

    def references(self) -> Iterator[model.Reference]:
        for number, head in enumerate(self.heads):
            commit_id = None if head is None else str(head)
            yield model.Reference(name=f"r{number}", kind=model.ReferenceKind.BRANCH, commit_id=commit_id)

    def version(self, key: str, commit: int) -> model.ContentVersion:
        return model.ContentVersion(
            content_id=key,
            content_type=model.ICEBERG_TABLE,
            metadata_location=f"s3://b/{key}/{commit}.metadata.json",
            snapshot_id=commit,
            content_key=key,
            commit_id=str(commit),
        )

    def commit_log(self, reference: model.Reference) -> Iterator[model.LogEntry]:
        number = None if reference.commit_id is None else int(reference.commit_id)
        while number is not None:
            commit = self.commits[number]
            with self._lock:
                self.fetched.append(number)
            puts = [
                model.Operation(kind=model.OperationKind.PUT, content_key=key, content=self.version(key, number))
                for key in commit.puts
            ]
            drops = [model.Operation(kind=model.OperationKind.DELETE, content_key=key) for key in commit.drops]
            yield model.LogEntry(
                commit_id=str(number),
                parent_id=None if commit.parent is None else str(commit.parent),
                commit_time=EPOCH + timedelta(hours=commit.hour),
                operations=(*puts, *drops),
            )
            number = commit.parent

    def contents(self, reference: model.Reference) -> Iterator[model.ContentVersion]:
        assert reference.commit_id is not None
        chain: list[int] = []
        number: int | None = int(reference.commit_id)
        while number is not None:
            chain.append(number)
            number = self.commits[number].parent
        visible: dict[str, int] = {}
        for number in reversed(chain):
            for key in self.commits[number].drops:
                visible.pop(key, None)
            for key in self.commits[number].puts:
                visible[key] = number
        yield from (self.version(key, commit) for key, commit in visible.items())

    def reference_policies(self) -> ReferencePolicies:
        cutoffs = [f"r{number}={policy}" for number, policy in enumerate(self.policies)]
        return ReferencePolicies.parse("NONE", cutoffs, reference_time=EPOCH + timedelta(hours=100))


def by_the_letter(history: History) -> set[Identity]:
    return set(live_versions(history, history.reference_policies()))


@st.composite
def histories(draw: st.DrawFn) -> History:
    size = draw(st.integers(1, 25))
    keys = st.sets(st.sampled_from("abcd"), max_size=2)
    commits: list[Commit] = []
    for number in range(size):
        recent = st.integers(max(0, number - 3), number - 1) if number else st.none()
        puts = draw(keys)
        commits.append(
            Commit(
                parent=draw(recent) if draw(st.integers(0, 15)) else None,
                # mostly in order, sometimes far from it: merges and wrong clocks
                hour=draw(st.one_of(st.just(number), st.integers(0, 99))),
                puts=tuple(sorted(puts)),
                drops=tuple(sorted(draw(keys) - puts)),
            )
        )
    heads = draw(st.lists(st.one_of(st.none(), st.integers(0, size - 1)), min_size=1, max_size=6))
    policy = st.one_of(
        st.just("NONE"),
        st.integers(0, 12).map(str),
        st.integers(1, 101).map(lambda hours: f"PT{hours}H"),
        st.integers(0, 99).map(lambda hour: (EPOCH + timedelta(hours=hour)).isoformat()),
    )
    policies = draw(st.lists(policy, min_size=len(heads), max_size=len(heads)))
    return History(commits, heads, policies)


def marked(history: History, deduplicator: VisitedDeduplicator, parallelism: int) -> set[Identity]:
    found: list[model.ContentVersion] = []
    batches = BatchingContents(found.extend, batch_size=3)
    mark(
        history,
        history.reference_policies(),
        deduplicator,
        batches,
        references=list(history.references()),
        parallelism=parallelism,
    )
    batches.flush()
    return {version.identity for version in found}


def exact(capacity: int = 1000) -> ExactVisited:
    return ExactVisited(ExactVisitedOptions(capacity=capacity))


@given(histories(), st.sampled_from([1, 4]))
@settings(max_examples=examples(160), deadline=None)
def test_s16_the_live_set_is_that_of_the_specification_with_exact_deduplication(
    history: History, parallelism: int
) -> None:
    assert by_the_letter(history) == marked(history, exact(), parallelism)


@given(histories())
@settings(max_examples=examples(80), deadline=None)
def test_s16_the_live_set_is_the_same_without_deduplication(history: History) -> None:
    assert by_the_letter(history) == marked(history, NoneVisited(ConnectorOptions()), 1)


@given(histories(), st.integers(0, 6))
@settings(max_examples=examples(80), deadline=None)
def test_s16_a_deduplicator_that_is_full_misses_nothing(history: History, capacity: int) -> None:
    assert by_the_letter(history) == marked(history, exact(capacity), 2)


@given(histories(), st.integers(0, 6))
@settings(max_examples=examples(80), deadline=None)
def test_s16_a_full_commit_graph_misses_nothing(history: History, capacity: int) -> None:
    found: list[model.ContentVersion] = []
    walker = CommitWalker(history, exact(), lambda versions: found.extend(versions), graph_capacity=capacity)
    policies = history.reference_policies()
    for reference in history.references():
        walker.walk(reference, policies.for_reference(reference.name).reach)
    walker.close()
    assert by_the_letter(history) == {version.identity for version in found}


@given(histories())
@settings(max_examples=examples(80), deadline=None)
def test_each_commit_is_fetched_once_but_where_a_branch_meets_known_history(history: History) -> None:
    marked(history, exact(), 1)
    again = len(history.fetched) - len(set(history.fetched))
    references = sum(head is not None for head in history.heads)
    # a stream cannot know that its next commit is known before it has it: one look-ahead for each
    assert again <= references, history.fetched


def test_a_long_shared_history_is_fetched_once() -> None:
    commits = [Commit(parent=n - 1 if n else None, hour=n, puts=("a",), drops=()) for n in range(2000)]
    heads: list[int | None] = list(range(1000, 2000, 20))
    history = History(commits, heads, ["NONE"] * len(heads))
    marked(history, exact(2000), 4)
    assert len(history.fetched) <= 2000 + 2 * len(heads)


def test_s16_the_capacity_of_the_deduplicator_limits_the_commit_graph_as_well() -> None:
    commits = [Commit(parent=n - 1 if n else None, hour=n, puts=("a",), drops=()) for n in range(100)]
    fetched = {}
    for capacity in (10, 100):
        history = History(commits, [99, 50], ["NONE"] * 2)
        found = marked(history, exact(capacity), 1)
        fetched[capacity] = len(history.fetched)
        assert by_the_letter(history) == found
    assert {10: 151, 100: 100} == fetched


def test_a_parallelism_below_one_is_refused() -> None:
    history = History([Commit(None, 0, ("a",), ())], [0], ["NONE"])
    with pytest.raises(ValueError, match="`identify_parallelism`"):
        marked(history, exact(), 0)
