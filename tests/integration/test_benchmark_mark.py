"""The benchmark of the mark, on small sizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmark import mark
from benchmark.history import HistoryOptions, MarkCost, SimulatedHistory, measured
from oracle import live_versions

from nessie_gc_core.model.policies import ReferencePolicies

SIZES = [
    HistoryOptions(commits=1, references=1),
    HistoryOptions(commits=500, references=100),
    HistoryOptions(commits=10, references=200, fork_commits=3),
    HistoryOptions(commits=50, references=40, fork_commits=0),
]


def states(size: HistoryOptions) -> int:
    """How many content versions are live, by the independent implementation."""
    policies = ReferencePolicies.parse("NONE", reference_time=datetime(2026, 1, 1, tzinfo=UTC))
    return len(set(live_versions(SimulatedHistory(size), policies)))


@pytest.mark.parametrize("size", SIZES, ids=repr)
@pytest.mark.parametrize("is_stored", [False, True], ids=["counted", "stored"])
def test_each_commit_of_the_simulated_history_is_counted_once(
    size: HistoryOptions, tmp_path: Path, *, is_stored: bool
) -> None:
    cost = measured(size, database=tmp_path / "store.db" if is_stored else None, parallelism=1)
    forks = (size.references - 1) // 10
    assert size.commits + forks * size.fork_commits == cost.commits
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
