"""The workflow for GitHub Actions: it fits GitHub's schema, has few rights, and calls what exists."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from deployment.programs import run_program
from docs.pages import ROOT

from nessie_gc_core.cli.main import cli

FOLDER = ROOT / "examples" / "deployment" / "github"
WORKFLOW = FOLDER / "nessie-gc.yml"
TAGS_ARE_ENOUGH = """
rules:
  unpinned-uses:
    config:
      policies:
        "*": ref-pin
"""
"""An example names major versions of actions, which do not age as fast as commits do."""


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    (found,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    return dict(found)


def fits_schema(workflow: Path) -> tuple[int, str]:
    return run_program("check-jsonschema", "--builtin-schema", "vendor.github-workflows", workflow)


def test_it_fits_the_schema_of_github() -> None:
    assert (0, "ok -- validation done\n") == fits_schema(WORKFLOW)


def test_that_check_finds_a_right_that_does_not_exist(tmp_path: Path) -> None:
    misspelt = tmp_path / "misspelt.yml"
    misspelt.write_text(WORKFLOW.read_text(encoding="utf-8").replace("id-token", "id-tokens"), encoding="utf-8")
    assert (1, True) == (fits_schema(misspelt)[0], "id-tokens" in fits_schema(misspelt)[1])


def test_an_audit_finds_nothing(tmp_path: Path) -> None:
    configuration = tmp_path / "zizmor.yml"
    configuration.write_text(TAGS_ARE_ENOUGH, encoding="utf-8")
    options = ["--offline", "--strict-collection", "--persona=pedantic", "--no-progress"]
    code, said = run_program("zizmor", *options, "--config", configuration, WORKFLOW)
    assert 0 == code, said


def test_no_run_interrupts_another() -> None:
    found = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert {"group": "nessie-gc", "cancel-in-progress": False} == found["concurrency"]
    assert {} == found["permissions"]


def test_it_has_the_rights_to_read_and_to_identify_itself_only(job: dict[str, Any]) -> None:
    assert {"contents": "read", "id-token": "write"} == job["permissions"]


def test_credentials_last_as_long_as_the_job_may(job: dict[str, Any]) -> None:
    (login,) = [step["with"] for step in job["steps"] if "role-to-assume" in step.get("with", {})]
    seconds = login["role-duration-seconds"]
    assert seconds >= 60 * job["timeout-minutes"]
    assert f"maximum session duration of at least {seconds} seconds" in WORKFLOW.read_text(encoding="utf-8")


def test_the_report_is_uploaded_after_a_failed_run_too(job: dict[str, Any]) -> None:
    (collect,) = [step["run"] for step in job["steps"] if "env" in step]
    upload = job["steps"][-1]
    assert "${{ !cancelled() }}" == upload["if"]
    written = re.findall(r"(?:> |--outcomes-to )(\S+)", collect)
    assert sorted(written) == sorted(upload["with"]["path"].split())


def test_settings_and_secrets_fit_together(job: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_")]:
        monkeypatch.delenv(name)
    (variables,) = [step["env"] for step in job["steps"] if "env" in step]
    given = {name: "false" if name == "NESSIE_GC_DRY_RUN" else "hidden" for name in variables}
    command = ["config", "show", "--json", "--config", str(FOLDER / "nessie-gc.toml")]
    shown = CliRunner().invoke(cli, command, env=given)
    assert 0 == shown.exit_code, shown.output
    used = {found["where"] for found in json.loads(shown.stdout)["settings"] if found["source"] == "environment"}
    assert {f"environment variable {name}" for name in variables} == used


def test_what_it_installs_exists(job: dict[str, Any]) -> None:
    (install,) = [step["run"] for step in job["steps"] if "pip install" in step.get("run", "")]
    for name, extras in re.findall(r"(nessie-gc-[\w-]+)(?:\[([\w,]+)\])?", install):
        folder = ROOT if name == "nessie-gc-core" else ROOT / "plugins" / name
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in filter(None, extras.split(",")))
