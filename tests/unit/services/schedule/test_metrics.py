"""Metrics say what the store knows, whichever scheduler ran it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.policies import parse_duration
from nessie_gc_core.model.schedule import RunStatus, ScheduledJob
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.telling.listeners import Listeners
from nessie_gc_core.services.schedule.telling.metrics import Metrics
from nessie_gc_core.services.schedule.telling.settings import listeners_of

from .conftest import FAILED, Bench, Receiver, run_with

EXAMPLES = Path(__file__).parents[4] / "examples"
LAST = "nessie_gc_last_run_timestamp_seconds"


def last_successes(bench: Bench, metrics: Metrics | None = None) -> dict[str, float]:
    """Job to the end of its last success, by new metrics if none are given."""
    found = samples_of((metrics or Metrics("default", bench.store, clock=bench.clock)).text())
    ended = [each for each in found if each.name == LAST and each.labels["status"] == "SUCCEEDED"]
    return {each.labels["schedule_job"]: each.value for each in ended}


def samples_of(text: str) -> list[Sample]:
    """Each series with its value."""
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def test_metrics_of_a_scheduler_that_is_idle_tell_what_another_one_ran(bench: Bench) -> None:
    idle = Metrics("default", bench.store, clock=bench.clock)
    assert {} == last_successes(bench, idle)
    for _ in range(2):
        run_with(bench)
        assert {"nightly": bench.clock().timestamp()} == last_successes(bench, idle)


def test_a_success_of_long_ago_is_known_after_a_restart(bench: Bench) -> None:
    run_with(bench)
    ended = bench.clock().timestamp()
    bench.clock.pass_(days=60)
    assert {"nightly": ended} == last_successes(bench)


@pytest.mark.parametrize("jobs", [{"other": {"cron": "@daily"}}, {"nightly": {"cron": "@daily", "service": "health"}}])
def test_a_job_that_is_gone_or_has_another_service_has_no_success(bench: Bench, jobs: dict[str, Any]) -> None:
    metrics = Metrics("default", bench.store, clock=bench.clock)
    run_with(bench)
    bench.scheduler(jobs).define()
    assert {} == last_successes(bench, metrics)
    assert "last_run_duration_seconds{" not in metrics.text()


def test_a_success_by_a_clock_that_was_ahead_hides_no_other(bench: Bench) -> None:
    run_with(bench)
    ended = bench.clock().timestamp()
    bench.clock.pass_(days=9)
    run_with(bench)
    bench.clock.pass_(days=-9)
    assert {"nightly": ended} == last_successes(bench)


def test_files_and_bytes_of_the_last_run_are_those_of_their_outcomes(bench: Bench) -> None:
    numbers = {"deleted": {"files": 3, "bytes": 70}, "failed": 2, "latest": {"runid": 9}}
    inside = {"collection": {"deleted": {"files": 4, "bytes": 80}}, "done": {"purged": {"files": 1, "bytes": 5}}}
    for report, files, size in (
        (numbers, {"deleted": 3}, {"deleted": 70}),
        (inside, {"deleted": 4, "purged": 1}, {"deleted": 80, "purged": 5}),
        ({}, {}, {}),
    ):
        run_with(bench, Outcome(exit_code=0, report=json.dumps(report)))
        found = samples_of(Metrics("default", bench.store, clock=bench.clock).text())
        for unit, expected in (("files", files), ("bytes", size)):
            mine = [each for each in found if each.name == f"nessie_gc_last_run_{unit}"]
            assert expected == {each.labels["outcome"]: each.value for each in mine}


def test_counters_begin_at_zero_and_count_what_ended_since(bench: Bench) -> None:
    metrics = Metrics("default", bench.store, clock=bench.clock)
    run_with(bench)
    ends = {
        "SUCCEEDED": 0.0,
        "FAILED": 0.0,
        "TIMED_OUT": 0.0,
        "INTERRUPTED": 0.0,
        "NOT_DUE": 0.0,
        "BUSY": 0.0,
        "SKIPPED": 0.0,
    }
    assert (ends, 0.0) == counted(metrics)
    (run,) = bench.runs()
    for _ in range(2):
        metrics.ended(replace(run, status=RunStatus.FAILED, numbers={"done.deleted.bytes": 70}))
    assert (ends | {"FAILED": 2.0}, 140.0) == counted(metrics)


def counted(metrics: Metrics) -> tuple[dict[str, float], float]:
    """How many runs ended with each status, and how many bytes they reclaimed."""
    found = samples_of(metrics.text())
    ends = {each.labels["status"]: each.value for each in found if each.name == "nessie_gc_runs_total"}
    return ends, sum(each.value for each in found if each.name == "nessie_gc_reclaimed_bytes_total")


def test_counters_stay_while_the_store_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(schedule: str, *, until: object) -> None:
        raise StoreError("the database is away")

    metrics = Metrics("default", bench.store, clock=bench.clock)
    run_with(bench)
    before = counted(metrics)
    monkeypatch.setattr(bench.store, "last_runs", away)
    assert before == counted(metrics)
    assert 'nessie_gc_schedule_store_up{schedule="default"} 0.0' in metrics.text()


def test_one_request_at_a_time_asks_the_store_and_others_take_its_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_with(bench)
    passed, asked, go_on = iter((0.0, 7.0, 9.0, 14.0, 14.0)), Semaphore(0), Event()
    metrics = Metrics("default", bench.store, clock=bench.clock, elapsed=lambda: next(passed))
    jobs = bench.store.jobs

    def slow(schedule: str) -> Any:
        asked.release()
        assert go_on.wait(20)
        return jobs(schedule)

    monkeypatch.setattr(bench.store, "jobs", slow)
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(last_successes, bench, metrics) for _ in range(2)]
        assert asked.acquire(timeout=20)
        assert not asked.acquire(timeout=0.2)
        go_on.set()
        assert [{"nightly": bench.clock().timestamp()}] * 2 == [each.result() for each in both]
    assert not asked.acquire(blocking=False)
    last_successes(bench, metrics)
    assert asked.acquire(blocking=False)


def test_a_store_that_does_not_answer_is_not_asked_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie_gc_core.services.schedule.telling.metrics._PATIENCE_SECONDS", 0.1)
    metrics, asked, go_on = Metrics("default", bench.store, clock=bench.clock), Event(), Event()

    def hanging(schedule: str) -> Iterator[ScheduledJob]:
        asked.set()
        assert go_on.wait(20)
        return iter(())

    monkeypatch.setattr(bench.store, "jobs", hanging)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(metrics.text)
        assert asked.wait(20)
        assert 'nessie_gc_schedule_store_up{schedule="default"} 0.0' in metrics.text()
        go_on.set()
        assert 'nessie_gc_schedule_store_up{schedule="default"} 1.0' in first.result()


def test_what_counts_for_one_process_only_is_not_pushed(bench: Bench, receiver: Receiver) -> None:
    run_with(bench, once=True, **{"metrics-push": receiver.address})
    names = {name for name, _ in receiver.pushed}
    assert LAST in names
    assert not names & {"nessie_gc_runs_total", "nessie_gc_reclaimed_bytes_total", "nessie_gc_schedule_store_up"}


def test_a_push_without_a_job_removes_it_from_the_gateway(bench: Bench, receiver: Receiver) -> None:
    push: dict[str, Any] = {"metrics-push": receiver.address}
    run_with(bench, once=True, **push)
    assert {"nightly"} == {dict(labels)["schedule_job"] for _, labels in receiver.pushed}
    scheduler = bench.scheduler({"other": {"cron": "@daily"}}, **push)
    scheduler.define()
    listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=True).close(seconds=20)
    assert {"other"} == {dict(labels)["schedule_job"] for _, labels in receiver.pushed}


def test_a_gateway_keeps_what_it_has_while_the_store_is_away(
    bench: Bench, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(schedule: str) -> None:
        raise StoreError("the database is away")

    monkeypatch.setattr(bench.store, "jobs", away)
    metrics = Metrics("default", bench.store, clock=bench.clock)
    metrics.push_at_the_end(receiver.address)
    Listeners([metrics]).close(seconds=20)
    assert [] == receiver.bodies
    assert "metrics: the database is away" in caplog.text


def test_the_alarms_of_the_example_use_metrics_that_exist(bench: Bench) -> None:
    run_with(bench, FAILED)
    known = {each.name for each in samples_of(Metrics("default", bench.store, clock=bench.clock).text())}
    used = set(re.findall(r"\bnessie_gc_\w+", (EXAMPLES / "prometheus-alerts.yml").read_text(encoding="utf-8")))
    assert set() == used - known
    assert LAST in used


def rules() -> dict[str, str]:
    """The alarms of the example, by their names, with their expressions."""
    text = (EXAMPLES / "prometheus-alerts.yml").read_text(encoding="utf-8")
    found = re.findall(r"- alert: (\w+)\n +expr: (.+?)(?=\n +(?:for|annotations):)", text, re.DOTALL)
    return {name: " ".join(expression.split()) for name, expression in found}


@pytest.mark.parametrize("name", ["NessieGcJobFailed", "NessieGcJobDoesNotSucceed", "NessieGcJobDoesNotStart"])
def test_an_alarm_about_jobs_fits_those_that_are_weekly_or_paused(name: str) -> None:
    said = rules()[name]
    assert "unless on (schedule, schedule_job) nessie_gc_job_paused == 1" in said
    assert ("time()" in said) == ("job_next_start_timestamp_seconds" in said), "an age of a success fits one job only"


def test_the_alarms_know_each_status_and_a_run_that_found_nothing_to_do_is_a_success() -> None:
    said = [set(statuses.split("|")) for statuses in re.findall(r'status=~"([A-Z_|]+)"', " ".join(rules().values()))]
    assert [{"SUCCEEDED", "NOT_DUE"}] * 2 == [statuses for statuses in said if "SUCCEEDED" in statuses]
    assert set(RunStatus) - {RunStatus.RUNNING} == set().union(*said)


def test_the_alarm_about_pushes_waits_longer_than_all_runs_of_the_example_take() -> None:
    file = EXAMPLES / "deployment" / "kubernetes" / "schedule-once" / "nessie-gc.toml"
    jobs = tomllib.loads(file.read_text(encoding="utf-8"))["schedule"]["jobs"].values()
    (hours,) = re.findall(r"> (\d+) \* 3600$", rules()["NessieGcNotPushed"])
    assert int(hours) * 3600 > sum(parse_duration(job["time-limit"]).total_seconds() for job in jobs)
