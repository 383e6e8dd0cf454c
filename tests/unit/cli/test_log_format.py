"""Log lines and errors in the format that was asked for, in the runs of a schedule, too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Run

from nessie_gc_core.config.environment import JOB_VARIABLE

FAILS = """
jdbc-url = "sqlite:///schedule.db"
[schedule.jobs.nightly]
service = "explain"
cron = "30 2 * * *"
"""
"""A job that needs a file, and does not name one."""


@pytest.fixture
def file(home: Path) -> Path:
    file = home / "nessie-gc.toml"
    file.write_text(FAILS)
    return file


def errors_of_a_run(run: Run, *options: str) -> list[str]:
    """The log lines of a scheduler, in a process of its own, and of the run that it starts."""
    assert 0 == run("schedule", "trigger", "nightly").exit_code
    command = [sys.executable, "-m", "nessie_gc_core", "schedule", "run", "--once", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True).stderr.splitlines()


def test_runs_log_in_the_format_of_their_scheduler_their_errors_too(run: Run, file: Path) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in errors_of_a_run(run, "--log-format", "json")]
    (error,) = (line for line in lines if line["level"] == "ERROR")
    assert ("nessie_gc_core.cli", "nightly") == (error["logger"], error["job"])
    assert error["message"] in {line["message"].partition(", ")[2] for line in lines}  # why it ended


def test_lines_about_a_run_lead_to_its_report(run: Run, file: Path) -> None:
    lines: list[dict[str, Any]] = [json.loads(line) for line in errors_of_a_run(run, "--log-format", "json")]
    (known,) = json.loads(run("schedule", "history", "--json").stdout)["runs"]
    about = [line for line in lines if "job" in line]
    assert {("nightly", known["run"], 1)} == {(line["job"], line["run"], line["attempt"]) for line in about}
    assert ["RUNNING", "FAILED"] == [line["status"] for line in about if "status" in line]
    assert {"ERROR"} <= {line["level"] for line in about if "status" not in line}  # of the run itself


def test_runs_are_as_quiet_as_their_scheduler(run: Run, file: Path) -> None:
    (line,) = errors_of_a_run(run, "--quiet")
    assert "error: [nightly] " == line[:17]


def test_runs_show_as_much_as_their_scheduler(run: Run, file: Path) -> None:
    assert "Traceback (most recent call last):" in errors_of_a_run(run, "-vv")


@pytest.mark.parametrize(
    "options", [("--log-format", "json"), ("--log-format=JSON",), ("-vv", "--log-format", "json")], ids=len
)
def test_what_cannot_be_parsed_is_said_in_the_format_that_was_asked_for(run: Run, options: tuple[str, ...]) -> None:
    said = json.loads(run("gc", "--no-such-option", *options).stderr)
    assert ("ERROR", "-vv" in options) == (said["level"], "traceback" in said)
    assert "No such option" in said["message"]


def test_errors_are_json_where_the_file_or_the_environment_says_so(run: Run, home: Path) -> None:
    by_environment = run("gc", "--no-such-option", env={"NESSIE_GC_LOG_FORMAT": "json"}).stderr
    assert "No such option" in json.loads(by_environment)["message"]
    (home / "nessie-gc.toml").write_text('log-format = "json"\n')
    assert "Invalid value for '--engine'" in json.loads(run("gc", "--engine", "x").stderr)["message"]
    assert "error: " == run("gc", "--engine", "x", "--log-format", "text").stderr[:7]


def test_an_error_of_a_run_has_the_name_of_its_job(run: Run) -> None:
    said = run("gc", env={JOB_VARIABLE: "nightly"}).stderr
    assert "error: [nightly] " == said[:17]
