"""The benchmark of the mark, on small sizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmark import mark
from benchmark.history import MarkCost, commits_of, history_of, measured
from nessie_gc_memory.mock import MockLakeSpec, MockRepository
from oracle import live_versions

from nessie_gc_core.model.policies import ReferencePolicies

SIZES = {
    "a commit": (history_of(1, 1), 1),
    "ten forks": (history_of(500, 100), 600),
    "more references than commits": (history_of(10, 200, fork_commits=3), 70),
    "forks without commits": (history_of(50, 40, fork_commits=0), 50),
}
"""Lakes, and how many commits they have."""


def states(size: MockLakeSpec) -> int:
    """How many content versions are live, by the independent implementation."""
    policies = ReferencePolicies.parse("NONE", reference_time=datetime(2026, 1, 1, tzinfo=UTC))
    return len(set(live_versions(MockRepository(size), policies)))


@pytest.mark.parametrize(("size", "commits"), SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("is_stored", [False, True], ids=["counted", "stored"])
def test_each_commit_of_the_simulated_history_is_counted_once(
    size: MockLakeSpec, commits: int, tmp_path: Path, *, is_stored: bool
) -> None:
    cost = measured(size, database=tmp_path / "store.db" if is_stored else None, parallelism=1)
    assert (commits, commits) == (cost.commits, commits_of(size))
    assert states(size) == cost.versions
    assert cost.is_right


def test_the_command_shows_a_row_for_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == mark.main(["--commits", "200", "--commits", "300", "--references", "11"])
    shown = capsys.readouterr().out
    assert ["210", "310"] == [line.split()[1] for line in shown.splitlines() if " 11 " in line]


def test_commits_that_were_missed_or_read_again_are_an_error() -> None:
    right = MarkCost(
        commits=5,
        expected=5,
        references=2,
        fetched=5,
        versions=5,
        seconds=1,
        processor_seconds=1,
        peak_megabytes=1,
        grown_megabytes=1,
    )
    costs = [right, replace(right, fetched=7), replace(right, commits=4), replace(right, fetched=8)]
    assert [True, True, False, False] == [cost.is_right for cost in costs]
