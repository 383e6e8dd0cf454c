"""Schedulers that are killed at any step of the life of a run: no run is lost, and none is doubled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from dying_schedulers import (
    END,
    ENDED,
    FORK,
    FORKED,
    RENEWED,
    START,
    STARTED,
    TAKE_OVER,
    TAKEN_OVER,
    Step,
    Town,
)
from thoroughness import THOROUGH

from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.services.schedule.conduct import MOST_LOST
from nessie_gc_core.testing.servers import PostgresServer

DEATHS: Sequence[Sequence[Step]] = ((START,), (STARTED,), (FORKED,), (END,), (ENDED,), (STARTED, TAKE_OVER))
MORE: Sequence[Sequence[Step]] = ((FORK,), (RENEWED,), (FORKED, TAKEN_OVER), (END, START), (FORKED, TAKE_OVER, ENDED))
NOTHING_LOST = {(START,), (ENDED,)}
"""Deaths after which nothing is to be taken over."""
SECONDS = 60
"""How long schedulers are killed at random."""


STORES = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])


@pytest.fixture
def url(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> str:
    """A database for schedules."""
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/schedules.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.uri(driver="psycopg")


@contextmanager
def founded(towns: Sequence[Town]) -> Iterator[None]:
    try:
        for town in towns:
            town.found()
            town.tend()
        yield
    finally:
        for town in towns:
            town.close()


def check_overlaps(town: Town, runs: Sequence[JobRun]) -> None:
    """No two runs go on at the same time: neither in the history, nor on the machine."""
    assert "two at the same time" not in town.log.read_text()
    for run, next_ in pairwise(runs):
        assert run.ended is not None
        assert run.ended <= next_.started


@STORES
@pytest.mark.thorough(kind="postgresql")
def test_a_scheduler_that_is_killed_at_any_step_loses_no_run_and_doubles_none(url: str, tmp_path: Path) -> None:
    towns = [
        Town(
            folder=tmp_path / str(number),
            url=url,
            name=f"{tmp_path.name} {number}",
            steps=steps,
            seconds=3 if RENEWED in steps else 0.3,
        )
        for number, steps in enumerate([*DEATHS, *(MORE if THOROUGH else ())])
    ]
    with founded(towns):
        waiting, deadline = list(towns), time.monotonic() + 120
        while waiting:
            assert time.monotonic() < deadline, [town.steps for town in waiting]
            time.sleep(0.2)
            for town in [*waiting]:
                town.tend()
                if town.killed == len(town.steps) and _is_done(town.runs()):
                    waiting.remove(town)
    for town in towns:
        runs = town.runs()
        check_overlaps(town, runs)
        lost = 0 if tuple(town.steps) in NOTHING_LOST else 1
        expected = [RunStatus.INTERRUPTED] * lost + [RunStatus.SUCCEEDED]
        assert expected == [run.status for run in runs], town.steps
        assert 1 == len({run.occasion.due for run in runs})
        assert list(range(lost + 1)) == [run.occasion.lost for run in runs]
        assert {1} == {run.occasion.attempt for run in runs}
        assert all("was lost" in (run.error or "") for run in runs[:lost])


def _is_done(runs: Sequence[JobRun]) -> bool:
    return any(run.status is RunStatus.SUCCEEDED for run in runs)


@STORES
@pytest.mark.thorough
def test_schedulers_that_are_killed_at_random_complete_each_occasion_once(url: str, tmp_path: Path) -> None:
    random, town = Random(0), Town(folder=tmp_path, url=url, name=tmp_path.name, every="PT8S", seconds=3)
    with founded([town]):
        until, kill_at = time.monotonic() + SECONDS, 0.0
        while time.monotonic() < until:
            time.sleep(0.05)
            town.tend()
            if time.monotonic() > kill_at:
                random.choice(town.schedulers).kill()
                kill_at = time.monotonic() + random.uniform(1, 7)
        runs = town.runs()
    assert town.killed > SECONDS / 10
    check_overlaps(town, [run for run in runs if run.ended is not None])
    succeeded = Counter(run.occasion.due for run in runs if run.status is RunStatus.SUCCEEDED)
    assert {1} == set(succeeded.values())
    lost = [(run, next_) for run, next_ in pairwise(runs) if run.status is not RunStatus.SUCCEEDED]
    assert {RunStatus.INTERRUPTED} == {run.status for run, _ in lost}
    assert any(run.occasion.due == next_.occasion.due for run, next_ in lost)
    for run, next_ in lost:
        assert run.ended is not None
        is_repeated = run.occasion.due == next_.occasion.due
        assert is_repeated or run.occasion.lost == MOST_LOST or next_.occasion.due <= run.ended  # it was due again
