"""Listeners are waited for at the end, with one deadline for all; who is left has not been told of some runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.services.schedule.telling.listeners import Listeners

from .conftest import Bench, run_with


@dataclass
class Slow:
    """Takes its time for each run."""

    until: threading.Event = field(default_factory=threading.Event)
    most_seconds: float = 30.0
    told: list[JobRun] = field(default_factory=list)

    name = "the slow one"

    def part_of(self, run: JobRun) -> None:
        """Needs no report."""

    def started(self, run: JobRun) -> None:
        """Is told of ends only."""

    def ended(self, run: JobRun) -> None:
        self.until.wait(self.most_seconds)
        self.told.append(run)

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def hanging() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.until.set()


@pytest.fixture
def run(bench: Bench) -> JobRun:
    run_with(bench)
    return bench.runs()[0]


def test_a_slow_listener_has_the_time_that_others_do_not_need(run: JobRun) -> None:
    slow, quick = Slow(most_seconds=1.0), Slow(most_seconds=0.0)
    listeners = Listeners([slow, *[quick] * 99])  # a hundredth of the time is less than it needs
    listeners.ended(run)
    listeners.close(seconds=30)
    assert [run.id] == [told.id for told in slow.told]


def test_a_listener_that_is_left_is_said_to_be_with_the_number_of_runs(
    hanging: Slow, run: JobRun, caplog: pytest.LogCaptureFixture
) -> None:
    listeners = Listeners([hanging])
    for _ in range(2):
        listeners.started(run)
    listeners.ended(run)
    listeners.close(seconds=0.1)
    assert [
        f"the slow one does not end, and is left; runs it has not been told of: 1, such as {run.id} of nightly"
    ] == [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
