"""The workflow of continuous integration runs sessions that exist, with few rights."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def sessions_of_noxfile() -> set[str]:
    """The functions that are decorated as sessions, by the names that nox gives them."""
    found = set()
    body = ast.parse((ROOT / "noxfile.py").read_text()).body
    for node in (each for each in body if isinstance(each, ast.FunctionDef)):
        for decorator in node.decorator_list:
            if ast.unparse(decorator).startswith("nox.session"):
                name = re.search(r"name='([\w-]+)'", ast.unparse(decorator))
                found.add(name[1] if name else node.name)
    return found


def called() -> set[str]:
    """The sessions that jobs call, by their name or through a matrix."""
    named = {match for step in STEPS for match in re.findall(r"nox -s ([\w-]+)", step.get("run", ""))}
    chosen = {name for job in JOBS.values() for name in job.get("strategy", {}).get("matrix", {}).get("session", ())}
    return named | chosen


def test_every_session_that_it_calls_exists() -> None:
    assert called() - sessions_of_noxfile() == set()


def test_it_runs_what_a_change_has_to_pass() -> None:
    quick, slow = {"lint", "types", "docs", "site"}, {"tests", "plugins", "lowest", "coverage", "release", "thorough"}
    assert {*quick, *slow, "spark-versions", "airflow"} == called()


def test_it_tries_each_python_that_the_distributions_name() -> None:
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    pythons = JOBS["tests"]["strategy"]["matrix"]["python"]
    assert (f">={pythons[0]}", ["3.11", "3.12", "3.13"]) == (oldest, pythons)


def test_it_may_only_read() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert [job for job in JOBS.values() if "permissions" in job] == []


@pytest.mark.parametrize("action", [step["uses"] for step in STEPS if "uses" in step])
def test_an_action_has_a_major_version_or_a_commit(action: str) -> None:
    assert re.fullmatch(r"actions/[\w-]+@(v\d+|[0-9a-f]{40})", action)


def test_what_comes_from_outside_reaches_a_shell_through_the_environment_only() -> None:
    assert [step["run"] for step in STEPS if "${{" in step.get("run", "")] == []
