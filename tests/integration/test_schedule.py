"""Schedules with real processes: what is due runs, and a scheduler that is killed takes its runs with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_runs import go_home

from nessie_gc_core.testing.servers import free_ports

LAKE = """
engine = "local"
jdbc-url = "sqlite:///schedule.db"
[repository]
name = "mock"
[connectors.content-to-files.mock]
[connectors.file-lister.mock]
[schedule]
lease = "PT5S"
[schedule.jobs.collect]
service = "gc"
every = "PT1S"
[schedule.jobs.collect.options]
dry-run = true
"""
LONG = """
jdbc-url = "sqlite:///schedule.db"
[schedule]
lease = "PT5S"
[schedule.jobs.long]
service = "make-lake"
every = "P1000D"
options = { serve-lake = "PT10M" }
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return go_home(tmp_path, monkeypatch)


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the program as a process; those that are left are killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "nessie_gc_core", "schedule", *arguments]
        process = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def history(start: Callable[..., subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """Latest first."""
    found: list[dict[str, Any]] = json.loads(start("history", "--json").communicate()[0])["runs"]
    return found


def until(condition: Callable[[], object], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def runs_of(scheduler: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(scheduler.pid).children()


def has_ended(run: psutil.Process) -> bool:
    return not run.is_running() or run.status() == psutil.STATUS_ZOMBIE


def started(home: Path, start: Callable[..., subprocess.Popen[str]]) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A scheduler, and the long run that it has begun."""
    (home / "nessie-gc.toml").write_text(LONG)
    start("trigger", "long").communicate()
    scheduler = start("run")
    until(lambda: runs_of(scheduler))
    (run,) = runs_of(scheduler)
    return scheduler, run


def test_what_is_due_runs_with_its_options_and_its_report_is_kept(
    home: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    (home / "nessie-gc.toml").write_text(LAKE)
    start("list").communicate()
    start("trigger", "collect").communicate()
    scheduler = start("run", "--once", "--json")
    output, errors = scheduler.communicate()
    body = json.loads(output)
    assert (0, 0) == (scheduler.returncode, body["exit_code"]), errors
    (run,) = body["runs"]
    assert ("SUCCEEDED", True) == (run["status"], run["report"]["dry_run"])
    assert run["numbers"]["references"] == run["report"]["references"] > 0
    assert [run["run"]] == [each["run"] for each in history(start)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_the_runs_of_a_scheduler_end_with_it_and_begin_again_with_the_next(
    home: Path, start: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    first, run = started(home, start)
    time.sleep(2)  # the run is at work
    os.kill(first.pid, number)
    first.wait(30)
    until(lambda: has_ended(run))
    second = start("run")
    until(lambda: runs_of(second))
    newest, *others = history(start)
    assert ["RUNNING", "INTERRUPTED"] == [newest["status"], *(each["status"] for each in others)]
    assert newest["occasion"]["due"] == others[0]["occasion"]["due"]
    said = "was lost" if number is signal.SIGKILL else "the scheduler was stopped"
    assert said in others[0]["error"]


def test_a_run_whose_scheduler_is_frozen_ends_before_its_lease_does(
    home: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    first, run = started(home, start)
    os.kill(first.pid, signal.SIGSTOP)
    frozen = time.monotonic()
    until(lambda: has_ended(run), seconds=20)
    assert time.monotonic() - frozen < 5 + 10  # the lease, and a machine that is busy
    second = start("run")
    until(lambda: runs_of(second))
    assert ["RUNNING", "INTERRUPTED"] == [each["status"] for each in history(start)]
    os.kill(first.pid, signal.SIGKILL)


def test_a_scheduler_serves_its_page_and_metrics_until_it_is_stopped(
    home: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    page, metrics = free_ports(2)
    (home / "nessie-gc.toml").write_text(
        LONG.replace("[schedule]", f"[schedule]\npage-port = {page}\nmetrics-port = {metrics}")
    )
    scheduler = start("run")

    def got(address: str) -> str:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    row = '<th scope="row">long</th><td data-name="service">make-lake</td>'
    until(lambda: row in got(f"http://127.0.0.1:{page}/"))  # one that is asked for at once may be made before the jobs
    assert 'nessie_gc_schedule_store_up{schedule="default"} 1.0' in got(f"http://127.0.0.1:{metrics}/metrics")
    scheduler.terminate()
    assert 0 == scheduler.wait(30)


@pytest.mark.thorough
def test_a_file_that_changes_is_read_again_and_its_new_jobs_run(
    home: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    file = home / "nessie-gc.toml"
    file.write_text(LONG)
    start("run")
    until(lambda: (home / "schedule.db").exists())
    file.write_text(LAKE.replace("true", "true\nidentify-parallelism = 2"))
    until(lambda: [each["status"] for each in history(start) if each["job"] == "collect"][-1:] == ["SUCCEEDED"])


def test_a_job_whose_service_was_uninstalled_fails_with_what_to_install(
    home: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    (home / "nessie-gc.toml").write_text(LONG.replace('"make-lake"', '"gone"').replace("options =", "# options ="))
    start("trigger", "long").communicate()
    scheduler = start("run", "--once")
    output, _ = scheduler.communicate()
    assert 1 == scheduler.returncode
    assert "No such command 'gone'" in output
    (run,) = history(start)
    assert ("FAILED", 2) == (run["status"], run["exit_code"])
