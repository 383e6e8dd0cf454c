"""Runs that only start if ``health`` finds something to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from lakes_by_hand import lake_at
from nessie_gc_memory import put

from nessie_gc_core import Collector
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.repository import UNKNOWN_CONTENT
from nessie_gc_core.model.schedule import Occasion, RunStatus
from nessie_gc_core.model.text import json_time
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.due import Trigger, WhenDue
from nessie_gc_core.services.schedule.history import last_success
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.running import ProcessRunner, begun
from nessie_gc_core.testing import schedule_samples as samples

from .conftest import MIDNIGHT, Bench, FakeWork

DONE = Outcome(exit_code=0, report='{"done": 1}')


def health(*findings: str, repository: Sequence[str] = (), reclaimable: int | None = None) -> dict[str, Any]:
    tables = [
        {"table": "db.t", "reclaimable_bytes": reclaimable, "findings": [{"name": name} for name in findings]},
        {"table": "db.u", "reclaimable_bytes": None, "findings": []},
    ]
    return {"tables": tables, "findings": [{"name": name} for name in repository]}


def run_of(
    report: dict[str, Any], *when: str, reclaimable: str | None = None, commits: int | None = None, exit_code: int = 0
) -> tuple[Outcome, list[FakeWork]]:
    """How a run ends after such a report, and what was started after it."""
    trigger, started = Trigger.read(when, reclaimable, commits), list[FakeWork]()
    assert trigger is not None

    def start(leased: float) -> FakeWork:
        assert 7.0 == leased
        started.append(FakeWork(DONE))
        return started[-1]

    work = WhenDue(trigger, FakeWork(Outcome(exit_code=exit_code, report=json.dumps(report))), start, 5.0)
    work.beat(7.0)
    while (outcome := work.wait(0.01)) is None:
        pass
    return outcome, started


@pytest.mark.parametrize(
    ("report", "when"),
    [
        (health("small-files"), ["delete-files", "small-files"]),
        (health(repository=["orphans"]), ["orphans"]),
        (health("snapshots", "manifests"), ["manifests"]),
    ],
)
def test_a_run_starts_if_one_of_the_findings_is_there(report: dict[str, Any], when: list[str]) -> None:
    outcome, started = run_of(report, *when)
    assert (DONE, 1) == (outcome, len(started))


def test_a_run_does_not_start_if_nothing_is_due_and_says_what_was_looked_for() -> None:
    outcome, started = run_of(health("snapshots"), "small-files", "delete-files", reclaimable="1GB")
    assert [] == started
    assert "health found no delete-files or small-files or 1.0 GiB reclaimable" == outcome.not_due


@pytest.mark.parametrize(("bytes_", "starts"), [(None, False), (2**30 - 1, False), (2**30, True)])
def test_a_run_starts_if_enough_can_be_reclaimed(bytes_: int | None, starts: bool) -> None:
    _, started = run_of(health(reclaimable=bytes_), reclaimable="1GB")
    assert starts is bool(started)


def test_a_table_at_two_references_does_not_need_its_bytes_twice() -> None:
    report = health(reclaimable=2**29)
    tables = [{**report["tables"][0], "reference": reference} for reference in ("main", "dev")]
    _, started = run_of({**report, "tables": tables}, reclaimable="1GB")
    assert [] == started


@pytest.mark.parametrize(("commits", "starts"), [(99, False), (100, True)])
def test_a_run_starts_if_there_are_enough_commits(commits: int, starts: bool) -> None:
    outcome, started = run_of({**health(), "commits": commits}, commits=100)
    assert starts is bool(started)
    assert starts is (outcome.not_due != "health found no 100 commits since its last success")


@pytest.mark.parametrize(("commits", "ended"), [(99, "not due"), (None, "failed"), (100, "started")])
def test_a_table_that_cannot_be_read_does_not_matter_where_only_commits_count(commits: int | None, ended: str) -> None:
    outcome, started = run_of({**health(), "commits": commits}, commits=100, exit_code=1)
    assert ended == ("started" if started else "failed" if outcome.not_due is None else "not due")


def test_commits_that_nobody_counted_are_a_failure() -> None:
    outcome, started = run_of(health(), commits=100)
    assert ([], 1, "health counted no commits") == (started, outcome.exit_code, outcome.error)


def test_a_table_that_cannot_be_read_matters_where_more_than_commits_counts() -> None:
    outcome, _ = run_of({**health(), "commits": 99}, "snapshots", commits=100, exit_code=1)
    assert (1, None) == (outcome.exit_code, outcome.not_due)


def test_commits_count_from_the_last_success_on_and_no_further_than_needed() -> None:
    trigger = Trigger.read(["orphans"], None, 100)
    assert trigger is not None
    assert {"commits_since": "2026-03-02T00:00:00Z", "max_commits": "100"} == trigger.parameters(MIDNIGHT)


def test_where_only_commits_count_no_table_is_read() -> None:
    trigger = Trigger.read([], None, 3)
    assert trigger is not None
    given = Given.read([HealthParameters], trigger.parameters(MIDNIGHT), file=ConfigFile(), environment={})
    with (
        lake_at(MIDNIGHT + timedelta(hours=1), "default") as lake,
        Collector(repository="memory", store="memory") as gc,
    ):
        table = lake.table("db.t", location="memory://warehouse/db/t").version
        lake.commit("main", put(replace(table, content_type=UNKNOWN_CONTENT)))
        report = gc.health(**given.values)
        tables = gc.health().tables
    assert (["db.t"], []) == ([table.table for table in tables], report.tables)
    assert 1 == report.commits


PROGRAM = """
import json, pathlib, sys
with pathlib.Path(__file__).with_suffix(".log").open("a") as log:
    print(*sys.argv[1:], file=log)
print(json.dumps({"tables": [], "commits": 7}))
"""


@pytest.mark.parametrize(
    ("succeeded", "called"),
    [
        (None, ["gc --config x.toml --json"]),
        (
            MIDNIGHT,
            [
                f"health --config x.toml --json --commits-since={json_time(MIDNIGHT)} --max-commits=7 "
                "--exclude=(?s:.*)",
                "gc --config x.toml --json",
            ],
        ),
    ],
)
def test_commits_are_counted_by_health_unless_no_success_is_known(
    bench: Bench, tmp_path: Path, succeeded: datetime | None, called: list[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "when-commits": 7}})
    scheduler.define()
    asked: list[str] = []

    def last(job: str) -> datetime | None:
        asked.append(job)
        return succeeded

    command = [sys.executable, str(program)]
    scheduler.runner = ProcessRunner(Path("x.toml"), succeeded=last, command=command)
    bench.clock.pass_(hours=1)
    (run,) = scheduler.run_due()
    assert (["nightly"], RunStatus.SUCCEEDED) == (asked, run.status)
    assert called == program.with_suffix(".log").read_text().splitlines()


def test_the_last_success_is_that_of_the_job_and_the_latest(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [Outcome(exit_code=0), Outcome(exit_code=0), Outcome(exit_code=1)]
    scheduler = bench.scheduler({"nightly": {"every": "PT1H"}, "other": {"every": "PT1H"}})
    scheduler.define()
    for _ in range(3):
        bench.clock.pass_(hours=1)
        scheduler.run_due()
    expected = MIDNIGHT + timedelta(hours=2)
    assert expected == last_success(bench.store, "default", "nightly", clock=bench.clock)
    assert last_success(bench.store, "default", "unknown", clock=bench.clock) is None


def test_a_success_by_a_clock_that_was_ahead_is_none(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H"}})
    scheduler.define()
    for year in (2026, 2027):
        bench.clock.now = MIDNIGHT.replace(year=year, hour=1)
        assert 1 == len(scheduler.run_due())
    assert bench.clock() == last_success(bench.store, "default", "nightly", clock=bench.clock)
    bench.clock.now = MIDNIGHT.replace(hour=2)
    assert MIDNIGHT.replace(hour=1) == last_success(bench.store, "default", "nightly", clock=bench.clock)


def test_a_success_during_which_the_clock_was_set_ahead_is_none(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"every": "PT1H"}})
    scheduler.define()
    bench.clock.pass_(hours=1)
    bench.runner.on_start = lambda: bench.clock.pass_(days=365)
    assert 1 == len(scheduler.run_due())
    bench.clock.pass_(days=-365)
    assert last_success(bench.store, "default", "nightly", clock=bench.clock) is None


def test_a_health_that_fails_is_a_failure_and_starts_nothing() -> None:
    outcome, started = run_of({"error": "no server"}, "orphans", exit_code=1)
    assert ([], 1, "no server") == (started, outcome.exit_code, outcome.body()["error"])


def test_a_table_that_cannot_be_read_is_a_failure_unless_something_else_is_due() -> None:
    outcome, started = run_of(health(), "snapshots", exit_code=1)
    assert ([], 1, None) == (started, outcome.exit_code, outcome.not_due)
    assert 1 == len(run_of(health("snapshots"), "snapshots", exit_code=1)[1])


def test_a_run_that_is_stopped_while_it_looks_does_not_begin() -> None:
    trigger = Trigger.read(["snapshots"], None)
    assert trigger is not None
    look = FakeWork(Outcome(exit_code=0, report=json.dumps(health("snapshots"))))
    work = WhenDue(trigger, look, lambda leased: pytest.fail("it begins"), 0.0)
    work.stop(kill=False)
    outcome = work.wait(0.01)
    assert outcome is not None
    assert "it was stopped before it began" == outcome.error


def test_a_job_that_is_triggered_does_not_ask_whether_anything_is_due() -> None:
    table = {"jobs": {"a": {"service": "gc", "every": "PT1H", "when": ["snapshots"]}}}
    (job,) = ScheduleDefinition.read(ConfigFile(name="x.toml", schedule=table), JobDigests(installed())).jobs.values()
    services = list[str]()

    def begin(service: str, leased: float, more: Mapping[str, str | bool], /) -> FakeWork:
        services.append(service)
        return FakeWork(Outcome(exit_code=0))

    for by_hand in (True, False):
        occasion = Occasion(due=MIDNIGHT, starts=MIDNIGHT, by_hand=by_hand)
        run = replace(samples.run_of(job.scheduled(MIDNIGHT)), occasion=occasion)
        begun(job, run, 0.0, begin, lambda name: None)
    assert ["gc", "health"] == services


@pytest.mark.parametrize(
    ("when", "size", "said"),
    [
        (["small-file"], None, "`when` has an unknown finding 'small-file'; there are: delete-files, "),
        ([], "10", "`when-reclaimable` '10' has no unit"),
    ],
)
def test_what_cannot_be_found_is_refused(when: list[str], size: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Trigger.read(when, size)


def test_a_run_that_was_not_due_is_neither_a_success_nor_a_failure(bench: Bench) -> None:
    bench.runner.outcomes["nightly"] = [Outcome(exit_code=0, not_due="health found no small-files")]
    scheduler = bench.scheduler({"nightly": {"every": "PT1H", "retries": 3}})
    scheduler.define()
    bench.clock.pass_(hours=1)
    (run,) = scheduler.run_due()
    assert ("NOT_DUE", "health found no small-files") == (run.status.value, run.error)
    assert [] == scheduler.run_due()


@pytest.mark.parametrize("finding", ["small-files", "delete-files", "manifests", "held-back"])
def test_findings_that_only_manifests_show_by_partition_read_the_manifests(finding: str) -> None:
    trigger = Trigger.read([finding], None, 3)
    assert trigger is not None
    for succeeded in (None, MIDNIGHT):
        given = Given.read([HealthParameters], trigger.parameters(succeeded), file=ConfigFile(), environment={})
        assert given.settings(HealthParameters).read_manifests


def test_other_findings_read_no_manifests() -> None:
    trigger = Trigger.read(["snapshots", "delete-ratio", "metadata-size"], "1GB")
    assert trigger is not None
    assert {} == trigger.parameters(None)
