"""Schedules in Python: their runs go on in this process, by the clock that they are given."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_runs import go_home
from lakes_by_hand import lake_at
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, put

from nessie_gc_core import Schedule
from nessie_gc_core.api.in_process import _Thread
from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.times import elapsed_seconds, utc_now
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.schedule.conduct import MOST_LOST
from nessie_gc_core.testing.servers.process import free_ports

DEAD = {f"memory://warehouse/db/t/data/dead-{number}.parquet" for number in range(6)}
JOBS = """
engine = "local"
jdbc-url = "sqlite:///schedule.db"
min-age = "PT1H"
files-per-step = 1

[repository]
name = "memory"

[schedule]
lease = "PT1M"

[schedule.jobs.collect]
service = "gc"
every = "P1D"

[schedule.jobs.prune]
service = "prune"
every = "P1D"
options = { prune-older-than = "P3D" }
"""

STEPS = """
[schedule.jobs.mark]
service = "mark"
every = "P1D"
options = { write-live-set-id-to = "live-set-id" }

[schedule.jobs.sweep]
service = "sweep"
every = "P1D"
options = { read-live-set-id-from = "live-set-id", resume = RESUME }
"""


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = go_home(tmp_path, monkeypatch)
    (home / "nessie-gc.toml").write_text(JOBS)
    return home


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """One table with a live file, six old files that nobody needs, and a metadata file that was superseded."""
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC), "default") as lake:
        table = lake.table("db.t", location="memory://warehouse/db/t").append("live.parquet")
        lake.commit("main", put(table.version))
        for path in DEAD:
            lake.put(path)
        lake.now = None
        yield lake


@pytest.fixture
def clock() -> Clock:
    """Thirty days ago."""
    return Clock(utc_now() - timedelta(days=30))


@pytest.fixture
def schedule(lake: MemoryLake, clock: Clock) -> Iterator[Schedule]:
    with Schedule.from_toml(clock=clock) as schedule:
        yield schedule


@pytest.fixture
def on_first_deletion(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Called when the first file is deleted."""
    called: list[Callable[[], object]] = []
    delete = MemoryFileDeleter.delete_files

    def delete_files(self: MemoryFileDeleter, *arguments: object) -> object:
        while called:  # the last one first
            called.pop()()
        return delete(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryFileDeleter, "delete_files", delete_files)
    return called


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a run was asked to end."""
    asked, stop = threading.Event(), _Thread.stop

    def stop_and_say(self: _Thread, *, kill: bool) -> None:
        stop(self, kill=kill)
        asked.set()

    monkeypatch.setattr(_Thread, "stop", stop_and_say)
    return asked


def by_job(schedule: Schedule) -> list[JobRun]:
    """What is due now, after it was run."""
    return sorted(schedule.run_once(), key=lambda run: run.job)


def test_what_is_due_by_the_given_clock_runs_and_its_report_is_kept(
    schedule: Schedule, clock: Clock, lake: MemoryLake
) -> None:
    assert [] == schedule.run_once()
    clock.pass_(days=1)
    run, _ = by_job(schedule)
    assert ("collect", RunStatus.SUCCEEDED, 0) == (run.job, run.status, run.exit_code)
    assert 7 == run.numbers["deleted.files"]
    assert not DEAD & set(lake.paths())
    report = json.loads(schedule.run(run.id).report or "")
    assert clock.now == datetime.fromisoformat(report["finished"])
    assert clock.now == run.started


def test_a_month_passes_in_a_moment(schedule: Schedule, clock: Clock) -> None:
    schedule.run_once()
    for _ in range(8):
        clock.pass_(days=1)
        schedule.run_once()
    assert 8 == len(schedule.history(jobs=["collect"], statuses=["SUCCEEDED"]))
    reports = [json.loads(schedule.run(run.id).report or "") for run in schedule.history(jobs=["prune"])]
    assert [0, 0, 0, 0, 1, 1, 1, 1] == sorted(len(report["pruned"]) for report in reports)
    assert 2 == len(schedule.history(since="P1D", jobs=["collect"]))
    assert 1 == len(schedule.history(limit=1))


def test_s08_a_clock_that_is_ahead_makes_no_file_older(schedule: Schedule, clock: Clock, lake: MemoryLake) -> None:
    schedule.run_once()
    young = "memory://warehouse/db/t/data/young.parquet"
    lake.put(young)
    clock.now = utc_now() + timedelta(days=300)
    run, _ = by_job(schedule)
    assert (RunStatus.SUCCEEDED, 7, 1) == (run.status, run.numbers["deleted.files"], run.numbers["too_young.files"])
    assert young in lake.paths()


def test_a_run_that_is_to_end_deletes_nothing_more_and_says_how_to_go_on(
    schedule: Schedule,
    clock: Clock,
    lake: MemoryLake,
    on_first_deletion: list[Callable[[], object]],
    asked: threading.Event,
) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    schedule.pause("prune")
    on_first_deletion += [asked.wait, schedule.stop]
    (run,) = schedule.run_once()
    assert (RunStatus.INTERRUPTED, 143, "the scheduler was stopped") == (run.status, run.exit_code, run.error)
    left = DEAD & set(lake.paths())
    body = json.loads(schedule.run(run.id).report or "")
    assert "terminated" == body["error"].partition(";")[0]
    assert len(DEAD) - body["done"]["deleted"]["files"] <= len(left)
    assert 4 <= len(left)  # of seven files in seven steps, one step was taken
    assert body["next"] == f"nessie-gc sweep --resume {body['live_set_id']}"
    (again,) = schedule.run_once()
    assert (RunStatus.SUCCEEDED, run.occasion.due) == (again.status, again.occasion.due)
    assert not DEAD & set(lake.paths())


@pytest.mark.parametrize(
    ("resume", "again", "once_more"),
    [("true", "", "it is swept; run"), ("false", "finish its sweep with", "finish its sweep with")],
)
def test_a_sweep_that_was_interrupted_goes_on_if_its_job_says_so(
    home: Path,
    clock: Clock,
    lake: MemoryLake,
    on_first_deletion: list[Callable[[], object]],
    asked: threading.Event,
    *,
    resume: str,
    again: str,
    once_more: str,
) -> None:
    top = JOBS.partition("[schedule.jobs")[0]
    (home / "nessie-gc.toml").write_text(top + STEPS.replace("RESUME", resume))
    with Schedule.from_toml(clock=clock) as schedule:
        schedule.run_once()
        clock.pass_(days=1)
        on_first_deletion += [asked.wait, schedule.stop]
        assert [RunStatus.SUCCEEDED, RunStatus.INTERRUPTED] == [run.status for run in by_job(schedule)]
        for said in (again, once_more):
            (run,) = schedule.run_once()
            assert (RunStatus.FAILED if said else RunStatus.SUCCEEDED) is run.status
            assert said in (run.error or "")
            schedule.trigger("sweep")
    assert bool(again) is bool(DEAD & set(lake.paths()))


def test_s15_a_run_waits_for_another_process_that_collects_its_repository(schedule: Schedule, clock: Clock) -> None:
    schedule.run_once()
    schedule.pause("prune")
    clock.pass_(days=1)
    assert [RunStatus.SUCCEEDED] == [run.status for run in schedule.run_once()]
    clock.pass_(days=1)
    with JdbcLiveSetStore.from_options({"url": "sqlite:///schedule.db"}) as store:
        (repository,) = {each.repository for each in store.live_sets()}
        store.acquire_lease(repository, "one", host="elsewhere", process=7, duration=timedelta(hours=1))
        (busy,) = schedule.run_once()
        store.release_lease(repository, "one")
    assert RunStatus.BUSY is busy.status
    assert "process 7 on elsewhere" in (busy.error or "")
    clock.pass_(minutes=15)
    (run,) = schedule.run_once()
    assert (RunStatus.SUCCEEDED, busy.occasion.due, 1) == (run.status, run.occasion.due, run.occasion.attempt)


SWEEPS = """
[schedule.jobs.mark]
service = "mark"
every = "P1D"
options = { write-live-set-id-to = "id" }

[schedule.jobs.sweep]
service = "sweep"
every = "P1D"
retries = 1
options = { read-live-set-id-from = "id" }
"""


@pytest.mark.parametrize("how", ["a stop", "a failure", "a failure without retries"])
def test_s15_a_sweep_that_did_not_come_to_its_end_is_resumed(
    lake: MemoryLake,
    clock: Clock,
    home: Path,
    on_first_deletion: list[Callable[[], object]],
    asked: threading.Event,
    *,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    errors = [StoreError("the database is away")]

    def fail_once(*_: object) -> None:
        if errors:
            raise errors.pop()

    sweeps = SWEEPS if how != "a failure without retries" else SWEEPS.replace("retries = 1", "retries = 0")
    (home / "nessie-gc.toml").write_text(JOBS.partition("[schedule.jobs")[0] + sweeps)
    with Schedule.from_toml(clock=clock) as schedule:
        schedule.run_once()
        clock.pass_(days=1)
        if how == "a stop":
            on_first_deletion += [asked.wait, schedule.stop]
        else:
            monkeypatch.setattr("nessie_gc_core.services.sweep.look_for_tagged", fail_once)
        broken = schedule.run_once()[-1]
        assert ("sweep", False) == (broken.job, broken.occasion.begun)
        assert DEAD & set(lake.paths())
        clock.pass_(minutes=5)
        if sweeps is not SWEEPS:
            schedule.trigger("sweep")
        (again,) = schedule.run_once()
        assert (RunStatus.SUCCEEDED, sweeps is not SWEEPS) == (again.status, again.occasion.by_hand)
        assert (sweeps is SWEEPS) == again.occasion.begun == (again.occasion.due == broken.occasion.due)
    assert not DEAD & set(lake.paths())


def test_s15_a_process_that_was_suspended_for_longer_than_the_lease_deletes_nothing_more(
    schedule: Schedule,
    clock: Clock,
    lake: MemoryLake,
    on_first_deletion: list[Callable[[], object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed = [0.0]
    elapsed = schedule._scheduler.elapsed = lambda: elapsed_seconds() + passed[0]
    monkeypatch.setattr(schedule._scheduler.runner, "elapsed", elapsed)
    monkeypatch.setattr(schedule._opened.store, "renew_run", lambda *_, **__: threading.Event().wait(5))
    schedule.run_once()
    schedule.pause("prune")
    clock.pass_(days=1)
    left = list[int]()
    on_first_deletion.append(lambda: left.append(len(DEAD & set(lake.paths()))))  # of the run that begins again
    on_first_deletion.append(lambda: passed.__setitem__(0, 60.0))
    run, again = schedule.run_once()
    assert (RunStatus.INTERRUPTED, 143) == (run.status, run.exit_code)
    assert RunStatus.SUCCEEDED is again.status
    assert 4 <= left[0]
    assert not DEAD & set(lake.paths())


def test_s28_the_traceback_of_an_unexpected_error_is_for_debugging_and_is_escaped(
    schedule: Schedule, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: object) -> None:
        raise RuntimeError("odd\x1b[2Jdata")

    monkeypatch.setattr(GcService, "run", fail)
    schedule.run_once()
    clock.pass_(days=1)
    schedule.pause("prune")
    with caplog.at_level(logging.DEBUG, logger="nessie_gc_core.api.in_process"):
        schedule.run_once()
    mine = [record for record in caplog.records if record.name == "nessie_gc_core.api.in_process"]
    assert [(logging.ERROR, None), (logging.DEBUG, None)] == [(record.levelno, record.exc_info) for record in mine]
    error, debug = (record.getMessage() for record in mine)
    assert error.startswith("collect: unexpected error RuntimeError at the beginning of 'gc': odd\\x1b[2Jdata")
    assert "Traceback (most recent call last)" in debug
    assert "\x1b" not in debug


def test_what_the_file_says_now_counts(schedule: Schedule, clock: Clock, lake: MemoryLake, home: Path) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    changed = JOBS.replace("files-per-step = 1", "dry-run = true").partition("[schedule.jobs.prune]")[0]
    (home / "nessie-gc.toml").write_text(changed)
    (run,) = schedule.run_once()
    assert (RunStatus.SUCCEEDED, 7) == (run.status, run.numbers["would_delete.files"])
    assert DEAD <= set(lake.paths())
    assert ["collect"] == [job.name for job in schedule.jobs()]


def test_s27_a_run_whose_job_the_file_has_changed_since_is_refused(
    schedule: Schedule, clock: Clock, lake: MemoryLake, home: Path
) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    read = schedule._file.read()
    (home / "nessie-gc.toml").write_text(JOBS.replace("files-per-step", "dry-run = true\nfiles-per-step"))
    schedule._scheduler.definition = read
    schedule._scheduler.source = schedule._file.watch(read)
    runs = [run for run in schedule._scheduler.run_due() if run.job == "collect"]
    assert [(RunStatus.INTERRUPTED, 2)] * (MOST_LOST + 1) == [(run.status, run.exit_code) for run in runs]
    assert "is not what its scheduler has read" in (runs[0].error or "")
    assert DEAD <= set(lake.paths())


def test_another_schedule_or_store_in_the_file_is_refused(schedule: Schedule, home: Path) -> None:
    (home / "nessie-gc.toml").write_text(JOBS.replace("schedule.db", "another.db"))
    with pytest.raises(ConfigurationError, match="it has another store or other plugins now"):
        schedule.run_once()


def test_a_schedule_goes_on_until_it_is_stopped(schedule: Schedule, clock: Clock, lake: MemoryLake) -> None:
    schedule.trigger("collect")
    thread = threading.Thread(target=schedule.run_forever)
    thread.start()
    while not schedule.history(statuses=[RunStatus.SUCCEEDED]):
        thread.join(0.05)
    schedule.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert not DEAD & set(lake.paths())
    schedule.trigger("collect")
    assert ["collect"] == [run.job for run in schedule.run_once()]


def test_a_second_call_is_refused_while_one_goes_on(schedule: Schedule) -> None:
    schedule.trigger("collect")
    thread = threading.Thread(target=schedule.run_forever)
    thread.start()
    while not schedule.history(statuses=[RunStatus.SUCCEEDED]):
        thread.join(0.05)
    with pytest.raises(ConfigurationError, match=r"this schedule runs already; stop\(\) ends that"):
        schedule.run_once()
    schedule.stop()
    thread.join(30)
    assert not thread.is_alive()


def test_a_stop_that_comes_when_nothing_runs_stops_nothing(schedule: Schedule) -> None:
    schedule.trigger("collect")
    schedule.stop()
    assert ["collect"] == [run.job for run in schedule.run_once()]


def test_a_schedule_that_is_run_again_serves_its_metrics_at_the_same_port(
    home: Path, lake: MemoryLake, caplog: pytest.LogCaptureFixture
) -> None:
    (home / "nessie-gc.toml").write_text(JOBS.replace("[schedule]", f"[schedule]\nmetrics-port = {free_ports(1)[0]}"))
    with Schedule.from_toml() as schedule:
        for _ in range(2):
            schedule.trigger("prune")
            ended = len(schedule.history(statuses=[RunStatus.SUCCEEDED]))
            thread = threading.Thread(target=schedule.run_forever)
            thread.start()
            while thread.is_alive() and ended == len(schedule.history(statuses=[RunStatus.SUCCEEDED])):
                thread.join(0.05)
            assert thread.is_alive()
            schedule.stop()
            thread.join(30)
    assert [] == [record.message for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("service", ["health", "mark", "prune"])
def test_a_job_that_needs_no_engine_does_not_wait_for_the_session_of_another_run(
    home: Path, lake: MemoryLake, service: str
) -> None:
    options = 'prune-older-than = "P3D"' if service == "prune" else ""
    job = f"""[schedule.jobs.other]
service = "{service}"
every = "P1D"
time-limit = "PT3S"
options = {{ {options} }}
"""
    (home / "nessie-gc.toml").write_text(JOBS.replace('"local"', '"spark"') + job)
    with Schedule.from_toml() as schedule, schedule._scheduler.runner._own_session:  # type: ignore[attr-defined]
        schedule.trigger("other")
        (run,) = schedule.run_once()
    assert RunStatus.SUCCEEDED is run.status


def test_a_job_that_needs_an_engine_waits_for_the_session_of_another_run(home: Path, lake: MemoryLake) -> None:
    changed = JOBS.replace('"local"', '"spark"').replace('"gc"', '"gc"\ntime-limit = "PT1S"')
    (home / "nessie-gc.toml").write_text(changed)
    with Schedule.from_toml() as schedule, schedule._scheduler.runner._own_session:  # type: ignore[attr-defined]
        schedule.trigger("collect")
        (run,) = schedule.run_once()
    assert RunStatus.TIMED_OUT is run.status


def test_a_history_may_begin_before_the_calendar(schedule: Schedule, clock: Clock) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    runs = schedule.run_once()
    assert {run.id for run in runs} == {run.id for run in schedule.history(since="P999999D")} != set()


def test_a_history_is_read_no_further_than_its_limit(schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, runs = list[object](), schedule._opened.store.runs

    def noted(*arguments: Any, **named: Any) -> Iterator[JobRun]:
        asked.append(named["limit"])
        return runs(*arguments, **named)

    monkeypatch.setattr(schedule._opened.store, "runs", noted)
    assert [] == schedule.history(limit=7)
    assert [7] == asked


def test_jobs_are_triggered_paused_and_resumed(schedule: Schedule) -> None:
    schedule.pause("collect", "prune")
    assert [True, True] == [job.paused for job in schedule.jobs()]
    schedule.resume("collect")
    schedule.trigger("collect")
    assert ["collect"] == [run.job for run in schedule.run_once()]
    with pytest.raises(ConfigurationError, match="there is no job 'x'; there are: collect, prune"):
        schedule.trigger("x")


def test_the_page_shows_the_runs_by_the_given_clock(schedule: Schedule, clock: Clock) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    schedule.run_once()
    assert f"{clock.now:%Y-%m-%d %H:%M}" in schedule.page()


@pytest.mark.parametrize(("given", "expected"), [({}, "Europe/Berlin"), ({"time_zone": UTC}, "UTC")])
def test_the_page_has_the_time_zone_of_the_schedule_unless_another_one_is_given(
    home: Path, lake: MemoryLake, given: dict[str, Any], expected: str
) -> None:
    (home / "nessie-gc.toml").write_text(JOBS.replace("[schedule]", '[schedule]\ntime-zone = "Europe/Berlin"'))
    with Schedule.from_toml() as schedule:
        assert f"times are {expected}<" in schedule.page(**given)


def test_the_metrics_tell_the_last_runs(schedule: Schedule, clock: Clock) -> None:
    schedule.run_once()
    clock.pass_(days=1)
    schedule.run_once()
    job = 'schedule="default",schedule_job="collect",service="gc"'
    assert f'nessie_gc_last_run_files{{outcome="deleted",{job}}} 7.0' in schedule.metrics()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (('service = "gc"', ""), "'service' is missing"),
        (('jdbc-url = "sqlite:///schedule.db"', "inmemory = true"), "--inmemory keeps a live set for one process"),
        (("min-age", "min-aeg"), "unknown key 'min-aeg'"),
    ],
)
def test_a_file_that_is_wrong_is_refused_at_once(home: Path, changed: tuple[str, str], said: str) -> None:
    (home / "nessie-gc.toml").write_text(JOBS.replace(*changed))
    with pytest.raises(ConfigurationError, match=said):
        Schedule.from_toml()


def test_what_is_asked_for_must_be_there(schedule: Schedule) -> None:
    with pytest.raises(ConfigurationError, match="there is no run x"):
        schedule.run("x")
    with pytest.raises(ConfigurationError, match=r"a `status` is one of RUNNING, .*, not 'lost'"):
        schedule.history(statuses=["lost"])
