"""Progress while functions run, and what the report says that was asked of stores."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from collecting import LakeServices
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryContentToFiles, MemoryLake, put

from nessie_gc_core.algorithms.expand import Expansion, expand
from nessie_gc_core.config.meter import METER
from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.work import Traffic, Work
from nessie_gc_core.services import watch
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_core.services.watch import traffic_reported, watched

DRY_RUN = SweepParameters(dry_run=True)


class Told:
    """A progress that keeps what it is told, and says when it was told of some work."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int, int | None]] = []
        self.traffic: list[Traffic] = []
        self.was_told = threading.Event()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        self.done.append((phase, done, total))

        self.was_told.set()

    def show_traffic(self, traffic: Traffic) -> None:
        self.traffic.append(traffic)
        self.was_told.set()


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        state = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
        lake.commit("main", put(state.version))
        yield lake


@pytest.fixture
def run(services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(watch, "SECONDS_BETWEEN", 0.01)
    return services.run(progress=Told())


def told(run: Run) -> Told:
    assert isinstance(run.progress, Told)
    return run.progress


def test_what_was_done_since_the_block_began_is_told_while_it_runs(run: Run) -> None:
    METER.listed(1000)
    with watched(run, lambda work: run.progress("list", work.files_listed, None)):
        METER.listed(7)
        while told(run).done[-1:] != [("list", 7, None)]:
            assert told(run).was_told.wait(10)
            told(run).was_told.clear()


def test_traffic_since_the_block_began_is_told_while_it_runs_and_reported(run: Run) -> None:
    METER.asked(Traffic(requests=1000))
    asked = Traffic(requests=2, bytes_read=30)
    with traffic_reported(run):
        METER.asked(asked)
        while told(run).traffic[-1:] != [asked]:
            assert told(run).was_told.wait(10)
            told(run).was_told.clear()
    assert asked == run.report.traffic


def test_a_progress_that_cannot_show_traffic_costs_no_report(
    run: Run, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(traffic: Traffic) -> None:
        shown.append(traffic)
        raise ValueError("the screen is gone")

    shown: list[Traffic] = []
    monkeypatch.setattr(told(run), "show_traffic", fail)
    with traffic_reported(run):
        METER.asked(Traffic(requests=3))
        while "the screen is gone" not in caplog.text:
            time.sleep(0.01)
        time.sleep(0.05)
    assert Traffic(requests=3) == run.report.traffic
    assert 1 == len(shown)


def test_an_error_of_the_progress_ends_the_block(run: Run) -> None:
    def fail(work: Work) -> None:
        failed.set()
        raise KeyboardInterrupt

    failed = threading.Event()
    with pytest.raises(KeyboardInterrupt), watched(run, fail):
        assert failed.wait(10)


def test_an_error_of_the_block_comes_before_one_of_the_progress(run: Run) -> None:
    def fail(work: Work) -> None:
        failed.set()
        raise KeyboardInterrupt

    failed = threading.Event()
    with pytest.raises(ValueError, match="broken"), watched(run, fail):
        assert failed.wait(10)
        raise ValueError("broken")


def test_nothing_is_told_where_the_engine_cannot_tell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(run.engine), "work", lambda engine: None)
    threads = threading.active_count()
    with watched(run, lambda work: run.progress("list", 1, None)):
        assert threads == threading.active_count()
    assert [] == told(run).done


def test_a_run_tells_between_the_levels_how_far_it_is(services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SECONDS_BETWEEN", 0.0005)
    progress = Told()
    services.sweep(services.mark(), DRY_RUN, progress=progress)
    assert progress.traffic
    expanded = [done for phase, done, _ in progress.done if phase == "expand"]
    assert sorted(expanded) == expanded
    assert all(total is None or done <= total for _, done, total in progress.done)


def test_a_report_says_what_was_asked_of_stores(services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Traffic(requests=1, bytes_read=10, waited_seconds=0.5)
    monkeypatch.setattr(MemoryContentToFiles, "take_traffic", lambda reader: one, raising=False)
    report = services.sweep(services.mark(), DRY_RUN)
    requests = report.files_expanded
    assert Traffic(requests=requests, bytes_read=10 * requests, waited_seconds=0.5 * requests) == report.traffic
    assert {"requests": 3, "bytes_read": 30, "waited_seconds": 1.5} == report.to_dict()["traffic"]


def test_a_report_says_nothing_of_stores_where_the_engine_cannot_tell(
    services: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(services.engine), "work", lambda engine: None)
    assert services.sweep(services.mark(), DRY_RUN).to_dict()["traffic"] is None


def test_an_error_of_the_listing_ends_the_run_between_two_levels(
    services: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, report = threading.Event(), GcReport()

    def fail(*arguments: object) -> None:
        failed.set()
        raise ListingError("it cannot be listed")

    def expand_later(*arguments: Any, **more: Any) -> Expansion:
        assert failed.wait(10)
        time.sleep(0.1)
        return expand(*arguments, **more)

    monkeypatch.setattr("nessie_gc_core.services.sweep.list_units", fail)
    monkeypatch.setattr("nessie_gc_core.services.needed.expand", expand_later)
    parameters = replace(DRY_RUN, live_set_id=str(services.mark()))
    with pytest.raises(ListingError, match="it cannot be listed"):
        SweepService(parameters).run(services.run(report))
    assert (1, 0) == (report.content_versions, report.files_expanded)
