"""Metrics say what the store knows, whichever scheduler ran it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from nessie_gc_core.services.schedule.telling.metrics import Metrics

from .conftest import FAILED, Bench, run_with

EXAMPLES = Path(__file__).parents[4] / "examples"
LAST = "nessie_gc_last_run_timestamp_seconds"


def last_successes(bench: Bench, metrics: Metrics | None = None) -> dict[str, float]:
    """Job to the end of its last success, by new metrics if none are given."""
    found = text_string_to_metric_families((metrics or Metrics("default", bench.store, clock=bench.clock)).text())
    samples = [sample for family in found for sample in family.samples if sample.name == LAST]
    return {each.labels["schedule_job"]: each.value for each in samples if each.labels["status"] == "SUCCEEDED"}


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


def test_the_alarms_of_the_example_use_metrics_that_exist(bench: Bench) -> None:
    run_with(bench, FAILED)
    families = text_string_to_metric_families(Metrics("default", bench.store, clock=bench.clock).text())
    known = {sample.name for family in families for sample in family.samples}
    used = set(re.findall(r"\bnessie_gc_\w+", (EXAMPLES / "prometheus-alerts.yml").read_text(encoding="utf-8")))
    assert set() == used - known
    assert LAST in used
