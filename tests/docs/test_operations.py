"""The example of operations: a few days of its simulated month, and all services on one schedule."""

from __future__ import annotations

import re
import runpy
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from docs.pages import ROOT
from thoroughness import THOROUGH

from nessie_gc_core.plugins import installed

OPERATIONS = ROOT / "examples" / "operations"
README = (OPERATIONS / "README.md").read_text(encoding="utf-8")
DAYS = 30 if THOROUGH else 2
MONDAY = "2026-03-09"


JOBS = tomllib.loads((OPERATIONS / "nessie-gc.toml").read_text(encoding="utf-8"))["schedule"]["jobs"]


def test_each_service_is_a_job_or_the_page_says_why_not() -> None:
    jobs, left_out = README.split("What is not here, and why:")
    scheduled = {job["service"] for job in JOBS.values()}
    excused = set(re.findall(r"^- `([a-z-]+)`", left_out, re.MULTILINE))
    assert {*installed().services.by_name(), "prune"} == scheduled | excused
    assert not scheduled & excused
    for name, job in JOBS.items():
        assert re.search(rf"^\| .*`{name}`.* \| .*`{job['service']}`", jobs, re.MULTILINE), name


def test_a_sweep_that_was_interrupted_goes_on() -> None:
    assert [True] == [job["options"].get("resume") for job in JOBS.values() if job["service"] == "sweep"]


@pytest.mark.timeout(1800)
def test_days_pass_in_which_garbage_goes_in_time_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, str(OPERATIONS / "simulate.py"), "--days", str(DAYS), "--until", MONDAY]
    done = subprocess.run([*command, "--folder", str(tmp_path / "lake")], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert done.stdout.endswith("every snapshot that a table lists can be read, and has the rows that it had\n")
    ran = dict(re.findall(r"^([a-z-]+) .* (\d+) SUCCEEDED", done.stdout, re.MULTILINE))
    assert str(DAYS) == ran["expire"]
    assert {"health", "tags", "collect", "mark", "sweep", "deferred", "identify", "delete-seen", "purge"} <= ran.keys()
    (gone,) = re.findall(rf"^(\d+) of {4 * (DAYS + 1)} files of failed writes are gone$", done.stdout, re.MULTILINE)
    assert int(gone) >= max(2, 4 * (DAYS - 3))
    assert re.search(r"^deferred .* [1-9]\d* +[1-9][\d,]*$", done.stdout, re.MULTILINE)
    with closing(sqlite3.connect(tmp_path / "lake/nessie-gc.db")) as store:
        garbage = dict(store.execute("SELECT table_name, SUM(garbage) FROM nessie_gc_table_days GROUP BY table_name"))
    assert all(garbage[name] > 0 for name in ("shop.orders", "shop.customers", "logs.events", "raw.landing"))
    page = (tmp_path / "lake/page.html").read_text(encoding="utf-8")
    assert all(job in page for job in ran)
    metrics = (tmp_path / "lake/metrics.txt").read_text(encoding="utf-8")
    assert 'nessie_gc_last_run_timestamp_seconds{schedule="operations",schedule_job="expire",' in metrics


@pytest.mark.parametrize("again", [False, True])
def test_each_file_is_named_that_a_snapshot_has_lost_since_it_was_read(tmp_path: Path, *, again: bool) -> None:
    lake = runpy.run_path(str(OPERATIONS / "lake.py"))["Lake"](tmp_path)
    lake.write(0)
    assert [] == [*lake.problems(again=again)]
    table = tmp_path / "warehouse/raw/landing"
    lost = [min(table.glob(each)) for each in ("data/0*.parquet", "metadata/snap-*.avro", "metadata/*-m0.avro")]
    for path in lost:
        path.unlink()
    needs = [problem for problem in lake.problems(again=again) if " needs " in problem]
    assert sorted(map(str, lost)) == sorted(problem.split(" needs ")[1] for problem in needs)
    assert all(problem.startswith("raw.landing: ") for problem in needs)
    lake.catalog.close()
