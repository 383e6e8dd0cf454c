"""What every deduplicator must do (:class:`nessie_gc_core.connectors.VisitedDeduplicator`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nessie_gc_core.connectors import SupportsCapacity, VisitedDeduplicator
from nessie_gc_core.model.policies import Reach
from nessie_gc_core.testing.demands import demands, not_defined, skip_without
from nessie_gc_core.testing.options import OptionsTests

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_COMMIT = bytes(range(16))

reaches = st.builds(
    Reach,
    everything=st.booleans(),
    since=st.none() | st.integers(-3, 3).map(lambda days: _EPOCH + timedelta(days=days)),
    commits=st.integers(0, 4),
)
"""Reaches that often cover each other."""
commits = st.integers(0, 3).map(lambda number: number.to_bytes(16))
"""A few commits."""


class VisitedDeduplicatorContract(OptionsTests):
    """Inherit it and give it one fixture.

    Required:
        ``open_deduplicator``: a function that makes a new one, which has seen nothing.

    Set ``remembers = False`` for one that never answers no.
    """

    remembers: ClassVar[bool] = True

    opener: ClassVar[str] = "open_deduplicator"

    @pytest.fixture
    def open_deduplicator(self) -> Callable[[], VisitedDeduplicator]:
        raise not_defined("open_deduplicator")

    @demands("S16: a commit that was not seen must be walked. Answer True.")
    def test_a_new_commit_has_to_be_walked(self, open_deduplicator: Callable[[], VisitedDeduplicator]) -> None:
        with open_deduplicator() as visited:
            assert visited.should_walk(_COMMIT, Reach(commits=1))
            assert visited.should_walk(bytes(16), Reach(commits=1))

    @demands("The same reach again is covered: answer False, or set remembers = False if nothing is remembered.")
    @pytest.mark.parametrize(
        "reach",
        [Reach(everything=True), Reach(since=_EPOCH), Reach(commits=3), Reach(since=_EPOCH, commits=2)],
        ids=repr,
    )
    def test_the_same_reach_again_is_covered(
        self, open_deduplicator: Callable[[], VisitedDeduplicator], reach: Reach
    ) -> None:
        with open_deduplicator() as visited:
            visited.should_walk(_COMMIT, reach)
            assert self.remembers is not visited.should_walk(_COMMIT, reach)

    @demands("S16: a commit must be walked again with a reach that no earlier one covers. Use Reach.covers.")
    @pytest.mark.parametrize(
        ("known", "wider"),
        [
            (Reach(commits=1), Reach(commits=2)),
            (Reach(since=_EPOCH), Reach(since=_EPOCH - timedelta(microseconds=1))),
            (Reach(commits=1_000_000), Reach(since=_EPOCH)),
            (Reach(since=_EPOCH), Reach(commits=1)),
            (Reach(since=_EPOCH, commits=9), Reach(everything=True)),
        ],
    )
    def test_a_reach_that_is_not_covered_has_to_be_walked(
        self, open_deduplicator: Callable[[], VisitedDeduplicator], known: Reach, wider: Reach
    ) -> None:
        with open_deduplicator() as visited:
            visited.should_walk(_COMMIT, known)
            assert visited.should_walk(_COMMIT, wider)

    # The fixture only makes deduplicators, and each example makes its own.
    @settings(
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(asked=st.lists(st.tuples(commits, reaches), max_size=30))
    @demands(
        "S11 and S16: answer False only if a recorded reach of the same commit covers the given one. In case of "
        "doubt, answer True."
    )
    def test_it_never_answers_no_where_nothing_recorded_covers(
        self, open_deduplicator: Callable[[], VisitedDeduplicator], asked: Sequence[tuple[bytes, Reach]]
    ) -> None:
        walked: dict[bytes, Reach] = {}
        with open_deduplicator() as visited:
            for commit, reach in asked:
                recorded = walked.get(commit, Reach())
                if not visited.should_walk(commit, reach):
                    assert (commit in walked, recorded.covers(reach)) == (True, True)
                walked[commit] = recorded.merge(reach)

    @demands("S16: asking and recording are one step. Hold a lock over both.")
    def test_threads_that_ask_at_once_leave_no_commit_unwalked(
        self, open_deduplicator: Callable[[], VisitedDeduplicator]
    ) -> None:
        keys = [number.to_bytes(16) for number in range(500)]
        with open_deduplicator() as visited, ThreadPoolExecutor(8) as pool:

            def ask(commits_left: int) -> list[bool]:
                return [visited.should_walk(key, Reach(commits=commits_left)) for key in keys]

            answers = list(pool.map(ask, [3, 3, 3, 3, 9, 9, 9, 9]))
            assert all(any(column[4:]) for column in zip(*answers, strict=True))
            if self.remembers:
                assert all(sum(column) <= 2 for column in zip(*answers, strict=True))

    @demands("SupportsCapacity: it remembers as many commits as capacity() says; say fewer, or remember more.")
    def test_it_remembers_as_many_commits_as_it_says(
        self, open_deduplicator: Callable[[], VisitedDeduplicator]
    ) -> None:
        with open_deduplicator() as visited:
            if not isinstance(visited, SupportsCapacity):
                skip_without(visited, SupportsCapacity)
            keys = [number.to_bytes(16) for number in range(min(visited.capacity(), 1000))]
            for key in keys:
                visited.should_walk(key, Reach(commits=1))
            assert [key for key in keys if visited.should_walk(key, Reach(commits=1))] == []

    @demands("A deduplicator can be closed twice.")
    def test_closing_twice_does_no_harm(self, open_deduplicator: Callable[[], VisitedDeduplicator]) -> None:
        visited = open_deduplicator()
        visited.close()
        visited.close()
