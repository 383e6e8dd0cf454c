"""What the deployment examples call and configure exists; each platform has tests of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.commands import of_text, parse, read_configuration
from docs.pages import ROOT

from nessie_gc_core.cli.command import known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition

EXAMPLES = ROOT / "examples" / "deployment"
FILES = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())
COMMANDS = [
    pytest.param(path, arguments, id=f"{path.relative_to(EXAMPLES)}:{' '.join(arguments[:1])}")
    for path in FILES
    for arguments in of_text(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("path", "arguments"), COMMANDS)
def test_every_command_and_option_exists(path: Path, arguments: list[str]) -> None:
    parse(arguments, path.name)


def test_commands_are_found_in_units_scripts_and_workflows() -> None:
    assert {"gc"} <= {param.values[1][0] for param in COMMANDS}  # type: ignore[index]
    text = "ExecStart=/opt/bin/nessie-gc gc --json\nrun: |\n  nessie-gc check \\\n    --quiet > x\n# nessie-gc none\n"
    assert [["gc", "--json"], ["check", "--quiet"]] == list(of_text(text))


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(EXAMPLES))) for path in FILES if path.suffix == ".toml"]
)
def test_every_configuration_has_only_options_that_exist(path: Path) -> None:
    read_configuration(path)


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(EXAMPLES))) for path in FILES])
def test_no_run_creates_tables_in_a_database_of_others(path: Path) -> None:
    """Their owner does that (see `rights.md`), so that the account of runs needs rights on rows only."""
    assert not re.search("jdbc[-_]schema", path.read_text(encoding="utf-8"), re.IGNORECASE)


def test_every_deployment_names_the_region_of_its_storage() -> None:
    configured = [path for path in FILES if path.suffix in (".toml", ".conf") and path.name != "yarn.conf"]
    assert [] == [path.name for path in configured if "s3.region" not in path.read_text(encoding="utf-8")]


SCHEDULES = [path for path in FILES if path.suffix == ".toml" and "\n[schedule]\n" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(EXAMPLES))) for path in SCHEDULES])
def test_a_schedule_has_jobs_of_which_none_deletes_at_first_or_runs_forever(path: Path) -> None:
    file = ConfigFile.read(path, known_options(cli))
    jobs = ScheduleDefinition.read(file, JobDigests(installed())).jobs
    assert {"collect": "gc", "health": "health", "prune": "prune"} == {name: job.service for name, job in jobs.items()}
    collect = file.schedule["jobs"]["collect"]
    assert (True, "PT12H") == (collect["options"]["dry-run"], collect["time-limit"])


def test_there_is_a_schedule_for_systemd_and_for_both_ways_on_kubernetes() -> None:
    assert {"systemd", "schedule", "schedule-once"} == {path.parent.name for path in SCHEDULES}
