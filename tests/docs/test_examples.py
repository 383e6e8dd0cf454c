from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from docs.commands import read_configuration
from docs.pages import DOCS, ROOT, python_path
from docs.servers import small_lake
from nessie_gc_memory import MemoryLake, put

EXAMPLES = ROOT / "examples"


def test_the_plugin_with_a_service_brings_a_command_once_it_is_installed(tmp_path: Path) -> None:
    _install(EXAMPLES / "stale_references.py", tmp_path / "site", name="stale")
    lake = MemoryLake.named("a-lake-with-a-stale-branch")
    lake.now = datetime(2020, 1, 1, tzinfo=UTC)
    lake.commit("old", put(lake.table("db.t", location="memory://warehouse/db/t").append("a.parquet").version))
    lake.now = datetime.now(UTC)
    lake.commit("new", put(lake.table("db.u", location="memory://warehouse/db/u").append("b.parquet").version))
    history = f"history_file={lake.write_to(tmp_path)}"
    command = ["stale-references", "--older-than", "P30D", "--repository", "memory", "-r", history]
    expected = {"format": 1, "references": [{"name": "old", "newest": "2020-01-01T00:00:00+00:00"}]}
    assert expected == json.loads(_run_with(tmp_path / "site", *command, "--json"))
    assert "references: [" in _run_with(tmp_path / "site", *command)
    said = " ".join(_run_with(tmp_path / "site", "stale-references", "--help").split())
    assert "List branches and tags whose newest commit is old" in said
    assert "Report references whose newest commit is at least this old." in said
    assert "--engine" not in said


def _install(module: Path, site: Path, *, name: str) -> None:
    """Puts a module into a folder of packages, with the entry point of a plugin."""
    described = site / f"{module.stem}-0.1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(module, site)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.stem}\nVersion: 0.1.0\n")
    (described / "entry_points.txt").write_text(f"[nessie_gc]\n{name} = {module.stem}\n")


def _run_with(site: Path, *arguments: str) -> str:
    """What a command prints with a folder of packages on the path."""
    command = [sys.executable, "-m", "nessie_gc_core", *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path(site), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=site.parent, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


SCHEDULES = [path for path in sorted(EXAMPLES.rglob("*.toml")) if "[schedule.jobs." in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(EXAMPLES))) for path in SCHEDULES])
def test_every_job_has_a_time_limit_because_one_that_hangs_would_hold_up_all_others(path: Path) -> None:
    jobs = tomllib.loads(path.read_text(encoding="utf-8"))["schedule"]["jobs"]
    assert [] == [name for name, job in jobs.items() if "time-limit" not in job]


def test_the_example_configuration_has_only_options_that_exist() -> None:
    read_configuration(EXAMPLES / "nessie-gc.toml")


def test_the_airflow_example_is_python() -> None:
    compile((EXAMPLES / "airflow_dag.py").read_text(encoding="utf-8"), "airflow_dag.py", "exec")


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_notebook_collects_a_lake_with_its_own_session(tmp_path: Path, environment: dict[str, str]) -> None:
    with small_lake(tmp_path) as uri:
        command = [sys.executable, str(EXAMPLES / "collect_in_pyspark.py")]
        environment = {**environment, "NESSIE_GC_URI": uri}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    assert re.search(r"^\{'files': [1-9]\d*, 'bytes': \d+\} exit code 0$", done.stdout, re.MULTILINE)
    assert (tmp_path / "deleted.parquet").is_file()


RULES = range(1, 36)
"""The safety rules."""


def test_every_safety_rule_has_a_section() -> None:
    text = (DOCS / "explanation" / "safety.md").read_text(encoding="utf-8")
    assert [f"S{number}" for number in RULES] == re.findall(r"^## (S\d+):", text, re.MULTILINE)


def test_every_safety_rule_of_the_page_has_tests_with_its_number() -> None:
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("plugins/*/tests/**/test_*.py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    tested = {int(number) for number in re.findall(r"def test_s(\d+)_", text)}
    assert [] == [f"S{number}" for number in RULES if number not in tested]
