"""One run from its start to its end: time limits, leases, stores that go away."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.services.schedule.conduct import Patience
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.running import ProcessRunner

from .conftest import FAILED, MIDNIGHT, Bench, FakeWork


class Passing:
    """Elapsed seconds that pass whenever somebody looks."""

    def __init__(self, step: float) -> None:
        self.seconds, self.step = 0.0, step

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


class Failing:
    """A verb of a store that fails once."""

    def __init__(self, verb: Callable[..., Any], error: Exception, *, at: int = 1) -> None:
        self.verb, self.error, self.at, self.calls = verb, error, at, 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return self.verb(*arguments, **named)


def run_once(
    bench: Bench, *outcomes: Outcome | None, step: float = 1, job: Mapping[str, object] = MappingProxyType({})
) -> JobRun:
    """Runs a job that is due, while seconds pass."""
    bench.runner.outcomes["nightly"] = list(outcomes)
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", **job}}, lease="PT60S")
    scheduler.elapsed = Passing(step)
    scheduler.define()
    bench.clock.pass_(days=1)
    run = scheduler.run_due()[0]
    assert run == bench.store.run("default", run.id)
    return run


def test_a_run_that_takes_longer_than_its_limit_is_asked_to_end(bench: Bench) -> None:
    run = run_once(bench, None, job={"time-limit": "PT30S"})
    assert (RunStatus.TIMED_OUT, 143) == (run.status, run.exit_code)
    assert "it took longer than its time limit of 30 s" == run.error
    assert [False] == bench.runner.works[0].stops


def test_a_run_that_does_not_end_when_it_is_asked_to_is_killed(bench: Bench) -> None:
    bench.runner.ignores_requests = True
    run = run_once(bench, None, job={"time-limit": "PT30S"})
    assert (RunStatus.TIMED_OUT, -9) == (run.status, run.exit_code)
    assert [False, True] == bench.runner.works[0].stops[:2]


def test_a_run_that_reaches_its_limit_is_tried_again_as_a_failure_is(bench: Bench) -> None:
    run_once(bench, None, job={"time-limit": "PT30S", "retries": 1, "retry-after": "PT1M"})
    next_ = bench.job().next
    assert next_ is not None
    assert (2, bench.clock() + timedelta(minutes=1)) == (next_.attempt, next_.starts)


def test_a_run_keeps_its_lease_as_long_as_it_goes_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[timedelta] = []

    def renew(schedule: str, run: object, *, lease: timedelta) -> bool:
        renewed.append(lease)
        return True

    monkeypatch.setattr(bench.store, "renew_run", renew)
    monkeypatch.setattr("nessie_gc_core.services.schedule.conduct._LOOK_SECONDS", 0.005)
    run = run_once(bench, None, step=0.2, job={"time-limit": "PT5M"})
    assert RunStatus.TIMED_OUT is run.status
    assert 300 / 60 <= len(renewed) <= 300 / 20 + 1
    assert {timedelta(seconds=60)} == set(renewed)
    beats = bench.runner.works[0].beats
    assert len(renewed) - 1 <= len(beats) <= len(renewed)
    assert sorted(beats) == beats


@pytest.mark.parametrize(
    ("job", "status", "said"),
    [
        ({}, RunStatus.INTERRUPTED, "its lease could not be renewed: the store does not answer"),
        ({"time-limit": "PT10S"}, RunStatus.TIMED_OUT, "it took longer than its time limit of 10 s"),
    ],
)
def test_a_store_that_hangs_holds_up_neither_the_end_of_a_lease_nor_a_time_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, job: dict[str, object], status: RunStatus, said: str
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(bench.store, "renew_run", lambda *_, **__: go_on.wait(30))
    monkeypatch.setattr("nessie_gc_core.services.schedule.conduct._LOOK_SECONDS", 0.005)
    run = run_once(bench, None, step=0.05, job=job)
    go_on.set()
    assert (status, 143, said) == (run.status, run.exit_code, run.error)


def test_a_run_whose_lease_is_lost_is_killed_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.store, "renew_run", lambda *_, **__: False)
    bench.runner.ignores_requests = True
    run = run_once(bench, None, step=0.1)
    assert (RunStatus.INTERRUPTED, "its lease was lost", -9) == (run.status, run.error, run.exit_code)


SAYS_HOW_IT_WAS_CALLED = """
import json, sys
print(json.dumps({"error": "called: " + " ".join(sys.argv[1:])}))
sys.exit(1)
"""
BUSY = Outcome(exit_code=1, report='{"error": "process 7 on a collects it", "exit_code": 1, "busy": true}')
OVER = Outcome(exit_code=1, report='{"dry_run": false, "failed": {"files": 2}}')
"""Of a sweep that could not delete everything."""


@pytest.mark.parametrize(
    ("outcome", "job", "attempt"),
    [
        (FAILED, {"service": "sweep"}, 2),
        (OVER, {"service": "gc"}, 2),
        (Outcome(exit_code=1, report='{"dry_run": true, "unknown": {"s3://b/": "x"}}'), {"service": "sweep"}, 2),
        (OVER, {"service": "sweep"}, 1),
    ],
)
def test_a_sweep_that_came_to_its_end_is_not_tried_again(
    bench: Bench, outcome: Outcome, job: dict[str, object], attempt: int
) -> None:
    run_once(bench, outcome, job={"retries": 1, **job})
    next_ = bench.job().next
    assert next_ is not None
    assert (attempt, attempt > 1) == (next_.attempt, next_.begun)


@pytest.mark.parametrize(("job", "more"), [({}, " --resume"), ({"options": {"resume": False}}, "")])
def test_the_process_of_a_sweep_is_told_to_resume_unless_its_file_says_otherwise(
    bench: Bench, job: dict[str, object], more: str
) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "service": "sweep", **job}})
    scheduler.runner = ProcessRunner(Path("x.toml"), command=(sys.executable, "-c", SAYS_HOW_IT_WAS_CALLED))
    scheduler.define()
    bench.clock.pass_(days=1)
    (run,) = scheduler.run_due()
    assert f"called: sweep --config x.toml --json{more}" == run.error


def test_a_run_whose_repository_is_busy_waits_and_that_is_no_attempt(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [BUSY, BUSY]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}}, lease="PT1M")
    scheduler.define()
    bench.clock.pass_(days=1)
    for _ in range(2):
        (run,) = scheduler.run_due()
        assert (RunStatus.BUSY, "process 7 on a collects it") == (run.status, run.error)
        assert [] == scheduler.run_due()
        bench.clock.pass_(minutes=1)
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, MIDNIGHT + timedelta(days=1), 1) == (
        run.status,
        run.occasion.due,
        run.occasion.attempt,
    )


@pytest.mark.parametrize(
    ("late", "pause"), [({"minutes": 4}, 60), ({"minutes": 16}, 120), ({"hours": 1}, 450), ({"hours": 9}, 900)]
)
def test_the_longer_a_repository_is_busy_the_longer_are_the_pauses(
    bench: Bench, late: dict[str, float], pause: int
) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}}, lease="PT1M")
    scheduler.define()
    bench.clock.pass_(days=1, **late)
    bench.runner.outcomes["nightly"] = [BUSY]
    scheduler.run_due()
    next_ = bench.job().next
    assert next_ is not None
    assert timedelta(seconds=pause) == next_.starts - bench.clock()


@pytest.mark.parametrize(
    "job", [{"cron": "@daily", "max-lateness": "PT30S"}, {"every": "PT1M"}, {"every": "PT30S", "retries": 3}], ids=str
)
def test_a_run_whose_repository_is_busy_for_too_long_has_failed(bench: Bench, job: dict[str, object]) -> None:
    scheduler = bench.scheduler({"nightly": job}, lease="PT1M")
    scheduler.define()
    bench.clock.pass_(days=1)
    bench.runner.outcomes["nightly"] = [BUSY]
    (run,) = scheduler.run_due()
    expected = "process 7 on a collects it; it does not begin again before it is due again"
    assert (RunStatus.FAILED, expected) == (run.status, run.error)
    next_ = bench.job().next
    assert next_ is not None
    assert (1, False) == (next_.attempt, next_.due == run.occasion.due)


@pytest.mark.parametrize(
    "occasion",
    [{"by_hand": True}, {"begun": True, "lost": 1}, {"attempt": 2, "begun": True}],
    ids=["by hand", "lost", "tried again"],
)
def test_max_lateness_ends_no_run_that_is_busy_and_was_asked_for_lost_or_is_tried_again(
    bench: Bench, occasion: dict[str, Any]
) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "max-lateness": "PT30S", "retries": 3}}, lease="PT1M")
    scheduler.define()
    bench.clock.pass_(hours=1)
    next_ = Occasion(due=MIDNIGHT, starts=bench.clock(), **occasion)
    assert bench.store.set_next("default", "nightly", seen=bench.job().next, then=next_)
    bench.runner.outcomes["nightly"] = [BUSY]
    (busy,) = scheduler.run_due()
    again = bench.job().next
    assert RunStatus.BUSY is busy.status
    assert again is not None
    bench.clock.now = again.starts
    (run,) = scheduler.run_due()
    assert (RunStatus.SUCCEEDED, replace(next_, starts=again.starts)) == (run.status, run.occasion)


@pytest.mark.parametrize("exit_code", [143, -15, -9])
def test_a_run_that_ended_itself_because_of_its_lease_was_interrupted_and_begins_again(
    bench: Bench, exit_code: int
) -> None:
    run = run_once(bench, Outcome(exit_code=exit_code, report='{"error": "terminated"}'), step=40)
    assert (RunStatus.INTERRUPTED, exit_code) == (run.status, run.exit_code)
    assert "it was not told in time that its lease was renewed" == run.error
    assert {RunStatus.INTERRUPTED, RunStatus.SUCCEEDED} == {each.status for each in bench.runs()}


@pytest.mark.parametrize(("exit_code", "step"), [(143, 1), (-9, 1), (1, 40)])
def test_a_run_that_ended_for_another_reason_has_failed(bench: Bench, exit_code: int, step: float) -> None:
    run = run_once(bench, Outcome(exit_code=exit_code), step=step)
    assert (RunStatus.FAILED, [run]) == (run.status, bench.runs())


def test_a_run_that_had_its_work_done_in_spite_of_its_lease_has_succeeded(bench: Bench) -> None:
    assert RunStatus.SUCCEEDED is run_once(bench, Outcome(exit_code=0), step=40).status


def test_a_run_ends_before_a_lease_that_cannot_be_renewed_expires(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> bool:
        raise StoreError("the database is away")

    monkeypatch.setattr(bench.store, "renew_run", away)
    bench.runner.ignores_requests = True
    bench.runner.outcomes["nightly"] = [None]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}}, lease="PT60S")
    elapsed = scheduler.elapsed = Passing(0.1)
    scheduler.define()
    bench.clock.pass_(days=1)
    run = scheduler.run_due()[0]
    assert (RunStatus.INTERRUPTED, -9) == (run.status, run.exit_code)
    assert run.error == "its lease could not be renewed: the database is away"
    assert elapsed.seconds < 60


LARGE = json.dumps({"deleted": {"files": 3}, "tables": [{"table": "a", "reclaimable_bytes": 4}]})


def test_an_outcome_that_the_store_refuses_is_recorded_without_its_report(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = bench.store.finish_run

    def small_only(schedule: str, run: JobRun, **named: Any) -> bool:
        if run.report is not None:
            raise StoreError("the report is too large")
        return finish(schedule, run, **named)

    monkeypatch.setattr(bench.store, "finish_run", small_only)
    bench.runner.outcomes["nightly"] = [Outcome(exit_code=0, report=LARGE)]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    (run,) = bench.runs()
    assert run.report is None
    assert (RunStatus.SUCCEEDED, {"deleted.files": 3}) == (run.status, run.numbers)
    assert ["a"] == [each.table for each in bench.store.table_days("default", since=MIDNIGHT.date(), most=9)]


def test_a_report_that_is_too_large_for_the_store_is_said_to_be(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = bench.store.finish_run

    def small_only(schedule: str, run: JobRun, **named: Any) -> bool:
        if len(run.report or "") > 1000:
            raise StoreError("the report is too large")
        return finish(schedule, run, **named)

    monkeypatch.setattr(bench.store, "finish_run", small_only)
    report = json.dumps({"references": 7, "warnings": ["x" * 5000]})
    bench.runner.outcomes["nightly"] = [Outcome(exit_code=0, report=report)]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    (run,) = scheduler.run_due()
    (kept,) = bench.store._of("default").runs.values()
    said = f"the store did not take this report of {len(report):,} characters"
    assert {"format": 1, "left_out": said} == json.loads(kept.report or "")
    assert ({"references": 7}, report) == (kept.numbers, run.report)  # who is told of the run has all of it


def test_a_report_stays_if_a_store_refuses_only_what_it_says_of_tables(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = bench.store.finish_run

    def without_tables(schedule: str, run: JobRun, **named: Any) -> bool:
        if named["tables"]:
            raise StoreError("a name cannot be held")
        return finish(schedule, run, **named)

    monkeypatch.setattr(bench.store, "finish_run", without_tables)
    report = json.dumps({"tables": [{"table": "a", "reclaimable_bytes": 4}]})
    run_once(bench, Outcome(exit_code=0, report=report))
    assert [report] == [each.report for each in bench.store._of("default").runs.values()]


def test_a_report_survives_one_failure_of_the_store(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = Failing(bench.store.finish_run, ConnectionResetError("connection reset"))
    monkeypatch.setattr(bench.store, "finish_run", finish)
    run_once(bench, Outcome(exit_code=0, report='{"references": 1}'))
    assert ['{"references": 1}'] == [each.report for each in bench.store._of("default").runs.values()]


REPORT = json.dumps({"tables": [{"table": "a", "reclaimable_bytes": 4}]})


@pytest.mark.parametrize("failures", [1, 3, 7])
def test_nothing_of_an_outcome_is_lost_while_the_store_is_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    left, find = [failures], bench.store.run

    def finish_later(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise StoreError("the database is away")
        return verb(*arguments, **named)

    monkeypatch.setattr(bench.store, "finish_run", partial(finish_later, bench.store.finish_run))
    monkeypatch.setattr(bench.store, "run", lambda *given: find(*given) if left[0] == 0 else finish_later(find))
    run_once(bench, Outcome(exit_code=0, report=REPORT), step=0.001)
    assert [REPORT] == [each.report for each in bench.store._of("default").runs.values()]
    assert ["a"] == [each.table for each in bench.store.table_days("default", since=MIDNIGHT.date(), most=9)]


def test_a_look_that_fails_while_something_runs_does_not_stop_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Failing(bench.store.due_jobs, StoreError("the database is away"), at=2)
    monkeypatch.setattr(bench.store, "due_jobs", look)
    monkeypatch.setattr("nessie_gc_core.services.schedule.scheduler.LOOK_SECONDS", 0.01)
    assert RunStatus.TIMED_OUT is run_once(bench, None, step=0.01, job={"time-limit": "PT2S"}).status
    assert look.calls > 2


def test_the_first_lease_counts_from_before_the_store_was_asked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    start, passing = bench.store.start_run, Passing(0.01)

    def slow(*arguments: Any, **named: Any) -> bool:
        passing.seconds += 40
        return passing.seconds < 60 and start(*arguments, **named)

    stop, stopped = FakeWork.stop, list[float]()

    def stop_when(work: FakeWork, *, kill: bool) -> None:
        stopped.append(passing.seconds)
        stop(work, kill=kill)

    monkeypatch.setattr(FakeWork, "stop", stop_when)
    monkeypatch.setattr(bench.store, "start_run", slow)
    monkeypatch.setattr(bench.store, "renew_run", lambda *_, **__: threading.Event().wait(5))
    bench.runner.outcomes["nightly"] = [None]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}}, lease="PT60S")
    scheduler.elapsed = passing
    scheduler.define()
    bench.clock.pass_(days=1)
    run = scheduler.run_due()[0]
    assert "its lease could not be renewed: the store does not answer" == run.error
    assert stopped[0] < 60


def test_a_wrong_configuration_is_not_tried_again(bench: Bench) -> None:
    run_once(bench, Outcome(exit_code=2, report='{"error": "no such option"}'), job={"retries": 5})
    next_ = bench.job().next
    assert next_ is not None
    assert 1 == next_.attempt


def test_an_outcome_waits_for_a_store_that_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = Failing(bench.store.finish_run, StoreError("the database is away"))
    monkeypatch.setattr(bench.store, "finish_run", finish)
    monkeypatch.setattr("nessie_gc_core.services.schedule.conduct._LOOK_SECONDS", 0.01)
    assert RunStatus.SUCCEEDED is run_once(bench, step=0.001).status
    assert 2 == finish.calls


def test_an_outcome_is_told_if_only_the_answer_of_the_store_was_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = bench.store.finish_run

    def and_fail(*arguments: Any, **named: Any) -> bool:
        if finish(*arguments, **named):
            raise StoreError("the connection is lost")
        return False

    monkeypatch.setattr(bench.store, "finish_run", and_fail)
    assert [run_once(bench, Outcome(exit_code=0))] == bench.heard(1)


def test_what_another_scheduler_took_for_lost_is_told_by_that_one_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    bench.clock.pass_(days=1)

    def take() -> None:
        (run,) = bench.runs()
        lost = replace(run, status=RunStatus.INTERRUPTED, ended=bench.clock(), error="it was lost")
        assert bench.store.finish_run("default", lost, retry=None)

    bench.runner.on_start = take
    (run,) = scheduler.run_due()
    assert RunStatus.INTERRUPTED is run.status
    assert "its outcome is not recorded" in (run.error or "")
    assert bench.told.empty()
    assert "is not recorded: another scheduler has taken it for lost" in caplog.text


def test_an_outcome_that_is_not_recorded_is_not_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> bool:
        raise StoreError("the database is away")

    monkeypatch.setattr(bench.store, "finish_run", away)
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.patience = Patience(store=0.05, pause=0.01)
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    assert bench.told.empty()


@pytest.mark.parametrize("ended", [None, 143, -15, -9], ids=["by the scheduler", "itself", "by a signal", "killed"])
def test_runs_that_are_stopped_by_their_scheduler_or_a_moment_before_it_begin_again(
    bench: Bench, ended: int | None
) -> None:
    bench.runner.outcomes["nightly"] = [None if ended is None else Outcome(exit_code=ended)]
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    bench.runner.on_start = lambda: threading.Timer(0.1, scheduler.stopping.set).start()
    scheduler.run_forever()
    (stopped,) = bench.runs()
    assert (RunStatus.INTERRUPTED, "the scheduler was stopped") == (stopped.status, stopped.error)
    (run,) = bench.scheduler({"nightly": {"cron": "@daily"}}).run_due()
    assert (RunStatus.SUCCEEDED, stopped.occasion.due, 1) == (run.status, run.occasion.due, run.occasion.attempt)


def test_a_scheduler_that_is_stopped_waits_for_no_store_that_hangs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, asked = threading.Event(), threading.Event()

    def hanging(*_: object, **__: object) -> None:
        asked.set()
        assert go_on.wait(60)
        raise StoreError("the database is away")

    monkeypatch.setattr(bench.store, "finish_run", hanging)
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    bench.clock.pass_(days=1)
    thread = threading.Thread(target=scheduler.run_forever)
    thread.start()
    assert asked.wait(30)
    scheduler.stopping.set()
    thread.join(30)
    assert not thread.is_alive()
    go_on.set()
    assert ["RUNNING"] == [run.status for run in bench.runs()]


def test_a_scheduler_whose_store_goes_away_looks_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    jobs = bench.store.due_jobs

    def last_look(*arguments: Any, **named: Any) -> object:
        scheduler.stopping.set()
        return jobs(*arguments, **named)

    look = Failing(last_look, StoreError("the database is away"))
    monkeypatch.setattr(bench.store, "due_jobs", look)
    monkeypatch.setattr("nessie_gc_core.services.schedule.scheduler.LOOK_SECONDS", 0.01)
    scheduler.run_forever()
    assert 2 == look.calls


def test_a_scheduler_whose_store_was_never_there_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreError("the database is away")

    monkeypatch.setattr(bench.store, "define_jobs", away)
    with pytest.raises(StoreError, match="the database is away"):
        bench.scheduler({"nightly": {"cron": "@daily"}}).run_forever()


def test_a_run_that_cannot_be_looked_after_fails_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeWork, "wait", lambda *_: [].pop())
    run = run_once(bench)
    assert (RunStatus.FAILED, "IndexError: pop from empty list") == (run.status, run.error)
    assert [True] == bench.runner.works[0].stops


# ---- outcomes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        (Outcome(exit_code=0, report='{"deleted": {"files": 3}}'), RunStatus.SUCCEEDED, None),
        (FAILED, RunStatus.FAILED, "it failed"),
        (Outcome(exit_code=1, report='{"failed": {"files": 2}, "unknown": {"s3://b/": "x"}}'), RunStatus.FAILED,
         "exit code 1: 1 unknown, 2 failed"),
        (Outcome(exit_code=1, report="{}"), RunStatus.FAILED, "exit code 1: see its log"),
        (Outcome(exit_code=1, report='{"warnings": []}'), RunStatus.FAILED, "exit code 1: see its report"),
        (Outcome(exit_code=1, report="Traceback (most"), RunStatus.FAILED, "exit code 1: see its log"),
        (Outcome(exit_code=-9, error="it was ended by signal 9"), RunStatus.FAILED, "it was ended by signal 9"),
        (Outcome(exit_code=2, report='{"error": "two\\nlines\\u001b[31m"}'), RunStatus.FAILED, r"two lines\x1b[31m"),
    ],
)  # fmt: skip
def test_an_outcome_says_in_one_line_why_it_failed(
    bench: Bench, outcome: Outcome, status: RunStatus, error: str | None
) -> None:
    run = run_once(bench, outcome)
    assert (status, error) == (run.status, run.error)


def test_a_number_whose_name_is_data_is_not_kept(bench: Bench) -> None:
    report = {"policies": {"2026-03-08T07:00:00+00:00": 3, "tags": 2}, "by": {"s3://lake/a b": 1}, "references": 2}
    run = run_once(bench, Outcome(exit_code=0, report=json.dumps(report)))
    assert {"policies.tags": 2, "references": 2} == run.numbers


def test_the_numbers_of_a_report_are_kept_beside_it(bench: Bench) -> None:
    report = '{"deleted": {"files": 3, "bytes": 70}, "references": 2, "dry_run": true, "tables": {"t": 1}, "x": "y"}'
    run = run_once(bench, Outcome(exit_code=0, report=report))
    assert {"deleted.files": 3, "deleted.bytes": 70, "references": 2} == run.numbers
    assert report == run.report
    assert MIDNIGHT < run.started
