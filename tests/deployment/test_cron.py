"""The line for cron: run by a shell as cron runs it, on a small lake."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from docs.pages import ROOT
from nessie_gc_memory import MemoryLake, put

CRONTAB = ROOT / "examples" / "nessie-gc.cron"
PROGRAM = "/opt/nessie-gc/bin/nessie-gc"
GARBAGE = "lake/wh/db/t/data/nobody-names-me.parquet"


def command() -> str:
    """What cron passes to the shell: the last line after its five fields."""
    return CRONTAB.read_text(encoding="utf-8").splitlines()[-1].split(None, 5)[5]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a lake, the settings for it, and an empty file of secrets."""
    lake = MemoryLake("cron")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody-names-me.parquet")
    history = lake.write_to(tmp_path / "lake")
    (tmp_path / "nessie-gc.toml").write_text(
        f'engine = "local"\njdbc-url = "sqlite:///{tmp_path}/live-sets.db"\ndefault-cutoff = "1"\n'
        f'[repository]\nname = "memory"\nhistory_file = "{history}"\n'
    )
    (tmp_path / ".nessie-gc.env").write_text("")
    return tmp_path


def run(home: Path) -> subprocess.CompletedProcess[str]:
    """Runs the line with the few variables that cron sets."""
    here = f"{shlex.quote(sys.executable)} -m nessie_gc_core"
    line = command().replace(PROGRAM, here)
    variables = {"HOME": str(home), "LOGNAME": "gc", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    return subprocess.run(["/bin/sh", "-c", line], cwd=home, env=variables, capture_output=True, text=True, check=False)


def report(home: Path) -> dict[str, object]:
    return dict(json.loads((home / "last-report.json").read_text()))


def test_it_names_the_program_by_its_path_and_nothing_that_cron_changes() -> None:
    assert PROGRAM in command()
    assert "%" not in command()  # a new line in a crontab


def test_a_night_deletes_garbage_and_prints_nothing(home: Path) -> None:
    done = run(home)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
    assert (False, False) == (report(home)["dry_run"], (home / GARBAGE).exists())


def test_s21_variables_of_the_file_reach_the_program_without_export(home: Path) -> None:
    (home / ".nessie-gc.env").write_text("NESSIE_GC_DRY_RUN=true\n")
    done = run(home)
    assert (0, "") == (done.returncode, done.stderr)
    assert (True, True) == (report(home)["dry_run"], (home / GARBAGE).exists())


def test_nothing_runs_without_the_file_of_variables(home: Path) -> None:
    (home / ".nessie-gc.env").unlink()
    done = run(home)
    assert (True, True) == (done.returncode != 0, ".nessie-gc.env" in done.stderr)
    assert (False, True) == ((home / "last-report.json").exists(), (home / GARBAGE).exists())


def test_a_run_that_is_not_complete_prints_one_line_that_cron_mails(home: Path) -> None:
    (manifest,) = (home / "lake").rglob("*-manifest.json")
    manifest.unlink()
    done = run(home)
    assert 1 == done.returncode
    assert "unknown location" in done.stderr
    assert 1 == len(done.stderr.splitlines())
