"""The compact tables of commits do what plain dictionaries do, whatever the keys and their order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from nessie_gc_core.algorithms.commit_graph import CommitGraph
from nessie_gc_core.algorithms.key_table import KeyTable
from nessie_gc_core.algorithms.suspicion import commit_key
from nessie_gc_core.algorithms.visited import ExactVisited, ExactVisitedOptions
from nessie_gc_core.model.policies import Reach

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
halves = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 3),
    st.integers(0, 40).map(lambda number: number << 8),  # one segment of the index
    st.integers(0, 40).map(lambda number: (number << 12) + (15 << 8)),  # the last slot of one segment
)
keys = st.one_of(
    st.builds(lambda first, second: first.to_bytes(8, "little") + second.to_bytes(8, "little"), halves, halves),
    st.integers(0, 2**64 - 1).map(lambda half: half.to_bytes(8) * 2),  # all in one slot
    st.binary(min_size=16, max_size=16),
)
"""Keys of which many share a place in the index."""
few_keys = st.integers(0, 6).map(lambda number: number.to_bytes(16))
times = st.datetimes(timezones=st.just(UTC))
reaches = st.builds(
    Reach,
    everything=st.booleans(),
    since=st.none() | times | st.integers(-2, 2).map(lambda hours: _EPOCH + timedelta(hours=hours)),
    commits=st.one_of(st.integers(0, 3), st.integers(2**32 - 3, 2**32 - 1)),
)


def expected_rows(added: Sequence[bytes]) -> dict[bytes, int]:
    """Each key with its number by first occurrence."""
    return {key: row for row, key in enumerate(dict.fromkeys(added), start=1)}


@given(st.lists(keys, max_size=200), st.lists(keys, max_size=20))
@settings(max_examples=examples(120), deadline=None)
def test_keys_are_numbered_in_the_order_in_which_they_come(added: list[bytes], asked: list[bytes]) -> None:
    table, expected = KeyTable(), expected_rows(added)
    assert [expected[key] for key in added] == [table.add(key) for key in added]
    assert [expected.get(key, 0) for key in added + asked] == [table.row(key) for key in added + asked]
    assert [key in expected for key in asked] == [key in table for key in asked]
    assert list(expected) == [table.key(row) for row in range(1, len(table) + 1)]


@pytest.mark.parametrize("spread", [1, 256, 4096, 2**40])
def test_many_keys_keep_their_numbers_while_the_index_grows(spread: int) -> None:
    table = KeyTable()
    numbers = range(3000)
    added = [(number * spread).to_bytes(8, "little") + bytes(8) for number in numbers]
    assert [number + 1 for number in numbers] == [table.add(key) for key in added]
    assert [number + 1 for number in numbers] == [table.row(key) for key in added]
    assert 0 == table.row(b"\xff" * 16)


def test_hashed_keys_keep_their_numbers_while_every_segment_grows() -> None:
    table, added = KeyTable(), [commit_key(f"{number}") for number in range(20_000)]
    for key in added:
        table.add(key)
    assert list(range(1, 20_001)) == [table.row(key) for key in added]
    assert 20_000 == len(table)


@given(st.lists(st.tuples(few_keys, st.none() | few_keys, times), max_size=30), st.integers(-1, 8))
@settings(max_examples=examples(120), deadline=None)
def test_the_graph_has_the_parents_and_times_of_as_many_commits_as_there_is_room_for(
    added: list[tuple[bytes, bytes | None, datetime]], capacity: int
) -> None:
    graph, expected = CommitGraph(capacity), dict[bytes, tuple[bytes | None, datetime]]()
    for key, parent, time in added:
        graph.add(key, parent, time)
        if len(expected) < capacity:
            expected[key] = (parent, time)
    asked = [number.to_bytes(16) for number in range(7)]
    assert [expected.get(key) for key in asked] == [graph.get(key) for key in asked]
    assert [key in expected for key in asked] == [key in graph for key in asked]


@given(st.lists(st.tuples(few_keys, reaches), max_size=40), st.integers(0, 8))
@settings(max_examples=examples(120), deadline=None)
def test_s16_the_exact_deduplicator_answers_as_a_dictionary_of_reaches_would(
    asked: list[tuple[bytes, Reach]], capacity: int
) -> None:
    visited, known = ExactVisited(ExactVisitedOptions(capacity=capacity)), dict[bytes, Reach]()
    for key, reach in asked:
        is_covered = key in known and known[key].covers(reach)
        assert is_covered is not visited.should_walk(key, reach)
        if key in known or len(known) < capacity:
            known[key] = known.get(key, Reach()).merge(reach)


def test_s16_a_reach_longer_than_can_be_recorded_is_walked_again() -> None:
    visited = ExactVisited(ExactVisitedOptions())
    longest = Reach(commits=2**64)
    assert [True, True] == [visited.should_walk(bytes(16), longest) for _ in range(2)]
    assert not visited.should_walk(bytes(16), Reach(commits=2**32 - 1))
