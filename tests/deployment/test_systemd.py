"""The units for systemd, as far as ``systemd-analyze`` checks them where no systemd runs."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from docs.pages import ROOT
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.cli.main import cli
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.schedule.conduct import Patience
from nessie_gc_core.services.schedule.telling.listeners import LISTENERS_SECONDS
from nessie_gc_core.testing.servers import skip_or_fail

UNITS = ROOT / "examples" / "deployment" / "systemd"
SERVICE, TIMER, SCHEDULER = "nessie-gc.service", "nessie-gc.timer", "nessie-gc-schedule.service"
MOST_EXPOSURE = 2
"""Out of 10; systemd 252 says 1.2, and other versions weigh some settings differently."""
FORBID_WRITABLE_CODE = """
import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    sys.exit("this kernel cannot forbid memory that is writable and executable")
os.execv(sys.executable, [sys.executable, "-m", "nessie_gc_core", *sys.argv[1:]])
"""
"""Runs the program with what ``MemoryDenyWriteExecute=`` forbids."""


@pytest.fixture(scope="module")
def systemd_analyze() -> str:
    with skip_or_fail():
        if (found := shutil.which("systemd-analyze")) is None:
            raise ConfigurationError("systemd-analyze is not installed: install the package systemd")
    return found


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, systemd_analyze: str) -> Path:
    """The root of a machine on which the program and the units are installed."""
    root = tmp_path_factory.mktemp("machine")
    own = next(folder for folder in map(Path, ("/usr/lib/systemd/system", "/lib/systemd/system")) if folder.is_dir())
    shutil.copytree(own, root / "usr/lib/systemd/system", symlinks=True)
    (root / "lib").symlink_to("usr/lib")
    program = root / "opt/nessie-gc/bin/nessie-gc"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    units = root / "etc/systemd/system"
    units.mkdir(parents=True)
    for name in (SERVICE, TIMER, SCHEDULER):
        shutil.copy(UNITS / name, units)
    return root


def analyze(machine: Path, command: str, *arguments: str) -> tuple[int, str]:
    """The exit code of ``systemd-analyze`` and what it says."""
    line = ["systemd-analyze", command, f"--root={machine}", "--no-pager", *arguments]
    done = subprocess.run(line, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def setting(name: str, unit: str = SERVICE) -> str:
    """The last value of a setting."""
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / unit, encoding="utf-8")
    return next(parser[section][name] for section in parser.sections() if name in parser[section])


def test_systemd_finds_nothing_wrong_with_the_units(machine: Path) -> None:
    assert (0, "") == analyze(machine, "verify", SERVICE, TIMER, SCHEDULER)


def test_that_check_finds_a_setting_that_does_not_exist(machine: Path) -> None:
    unit = machine / "etc/systemd/system/misspelt.service"
    unit.write_text((UNITS / SERVICE).read_text(encoding="utf-8").replace("ProtectHome=", "ProtectHomes="))
    assert "Unknown key 'ProtectHomes'" in analyze(machine, "verify", unit.name)[1]


def test_a_copy_of_the_scheduler_with_the_lines_of_the_page_shares_no_file_with_it(machine: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```ini\n([^`]*nessie-gc-writers[^`]*)```", page)
    lines = {line.partition("=")[0]: line for line in block.splitlines()}
    unit = (UNITS / SCHEDULER).read_text(encoding="utf-8").splitlines()
    copied = [lines.get(line.partition("=")[0], line) for line in unit]
    assert set(lines.values()) <= set(copied)
    assert {"/opt/nessie-gc/bin/nessie-gc"} == _places(unit) & _places(copied)
    copy = machine / "etc/systemd/system/nessie-gc-writers.service"
    copy.write_text("\n".join(copied) + "\n", encoding="utf-8")
    assert (0, "") == analyze(machine, "verify", copy.name)


@pytest.mark.parametrize("unit", [SERVICE, SCHEDULER])
def test_the_services_are_hardly_exposed(machine: Path, unit: str) -> None:
    code, said = analyze(machine, "security", "--offline=true", f"--threshold={10 * MOST_EXPOSURE}", unit)
    assert 0 == code, said.splitlines()[-1]


def test_the_timer_has_a_time_that_comes(systemd_analyze: str) -> None:
    line = [systemd_analyze, "calendar", "--iterations=1", setting("OnCalendar", TIMER)]
    assert "Next elapse" in subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_the_scheduler_is_always_there_and_ends_its_runs_itself() -> None:
    names = ("Restart", "KillMode", "StartLimitIntervalSec", "TimeoutStopSec")
    assert ["always", "mixed", "0", "150s"] == [setting(name, SCHEDULER) for name in names]
    assert 150 > Patience().stop + Patience().last + LISTENERS_SECONDS


def test_the_scheduler_may_do_what_the_service_may() -> None:
    def rights(unit: str) -> list[str]:
        lines = (UNITS / unit).read_text(encoding="utf-8").partition("DynamicUser=")[2].splitlines()
        return [line for line in lines if line and not line.startswith(("#", "[Install]", "WantedBy="))]

    assert rights(SERVICE) == rights(SCHEDULER)


def test_the_scheduler_needs_no_extras_that_are_not_installed_for_the_service() -> None:
    settings = tomllib.loads((UNITS / "nessie-gc-schedule.toml").read_text(encoding="utf-8"))
    assert {"time-zone", "jobs"} == set(settings["schedule"])


def test_commands_at_a_shell_use_the_database_of_the_scheduler() -> None:
    settings = tomllib.loads((UNITS / "nessie-gc-schedule.toml").read_text(encoding="utf-8"))
    state = f"/var/lib/{setting('StateDirectory', SCHEDULER)}"
    assert f"sqlite:///{state}/live-sets.db" == settings["jdbc-url"]


@pytest.mark.parametrize("name", ["nessie-gc.toml", "nessie-gc-schedule.toml"])
def test_the_settings_and_the_variables_of_the_services_fit_together(name: str) -> None:
    lines = (UNITS / "nessie-gc.env").read_text(encoding="utf-8").splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    configuration = str(UNITS / name)
    shown = CliRunner().invoke(cli, ["config", "show", "--json", "--config", configuration], env=variables)
    assert 0 == shown.exit_code, shown.output
    found = {each["name"]: each["where"] for each in json.loads(shown.stdout)["settings"]}
    assert "environment variable NESSIE_GC_TOKEN" == found["repository.token"]


def test_the_first_run_deletes_nothing_and_an_endless_one_is_ended() -> None:
    settings = tomllib.loads((UNITS / "nessie-gc.toml").read_text(encoding="utf-8"))
    assert (True, "12h") == (settings["dry-run"], setting("TimeoutStartSec"))


def test_a_run_writes_its_state_where_the_service_may_write(tmp_path: Path) -> None:
    state = tmp_path / "state" / setting("StateDirectory")
    state.mkdir(parents=True)
    collect(_lake_on_disk(tmp_path / "lake"), state)
    assert not (tmp_path / "lake/wh/db/t/data/nobody-names-me.parquet").exists()
    assert {"live-sets.db", "outcomes.parquet"} == {path.name for path in state.iterdir()}


def test_the_scheduler_and_its_runs_write_their_state_there_too(tmp_path: Path) -> None:
    state = tmp_path / "state" / setting("StateDirectory", SCHEDULER)
    state.mkdir(parents=True)
    configuration = tmp_path / "nessie-gc-schedule.toml"
    configuration.write_text(
        f'engine = "local"\n[repository]\nname = "memory"\nhistory_file = "{_lake_on_disk(tmp_path / "lake")}"\n'
        '[schedule.jobs.collect]\nservice = "gc"\nevery = "PT1H"\noptions = { default-cutoff = "1" }\n'
    )
    config = ["--config", str(configuration)]
    once = [*_arguments_of(SCHEDULER), "--once", *config]
    for arguments in (once, ["schedule", "trigger", "collect", *config], once):  # at first, nothing is due
        run_like_the_service(arguments, state, unit=SCHEDULER)
    assert not (tmp_path / "lake/wh/db/t/data/nobody-names-me.parquet").exists()
    assert ["live-sets.db"] == [path.name for path in state.iterdir()]


def _places(unit: Sequence[str]) -> set[str]:
    """The files and folders of ours that a unit names."""
    lines = [line for line in unit if not line.startswith("#")]
    return {word for line in lines for word in re.split(r"[=\s]", line) if "nessie-gc" in word}


def collect(history_file: Path, state: Path) -> None:
    """Runs the service's command on another lake."""
    other = ["--repository", "memory", "-r", f"history_file={history_file}", "--engine", "local", "-c", "1"]
    run_like_the_service([*_arguments_of(SERVICE), *other, "--outcomes-to", "outcomes.parquet"], state)


def run_like_the_service(arguments: Sequence[str], state: Path, *, unit: str = SERVICE) -> None:
    """Runs a command with the variables of a unit, and without memory for code that it writes."""
    variables = dict(pair.split("=") for pair in setting("Environment", unit).replace("%S", str(state.parent)).split())
    command = [sys.executable, "-c", FORBID_WRITABLE_CODE, *arguments]
    own = {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_")}
    done = subprocess.run(command, cwd=state, env={**own, **variables}, capture_output=True, text=True, check=False)
    with skip_or_fail():
        if "this kernel cannot" in done.stderr:
            raise ConfigurationError(done.stderr.strip())
    assert 0 == done.returncode, done.stderr


def _arguments_of(unit: str) -> Sequence[str]:
    words = setting("ExecStart", unit).split()
    assert "--config" in words
    at = words.index("--config")
    return [*words[1:at], *words[at + 2 :]]


def _lake_on_disk(directory: Path) -> Path:
    lake = MemoryLake("systemd")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody-names-me.parquet")
    return lake.write_to(directory)
