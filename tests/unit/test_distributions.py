"""What the distributions of this repository, and the examples, require of each other."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from nessie_gc_core import __version__

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]
PROJECTS = sorted([*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("examples/*/pyproject.toml")])


def _project(path: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_a_plugin_takes_every_fix_of_the_core_and_no_new_minor_version(path: Path) -> None:
    project = _project(path)
    of_extras = project.get("optional-dependencies", {}).values()  # an operator of Airflow needs no core beside it
    needs = [*project["dependencies"], *(need for needs in of_extras for need in needs)]
    assert f"nessie-gc-core~={__version__}" in needs


@pytest.mark.parametrize("path", DISTRIBUTIONS, ids=lambda path: path.parent.name)
def test_the_version_of_every_distribution_is_in_one_file(path: Path) -> None:
    loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    assert ["version"] == loaded["project"]["dynamic"]
    assert (
        ROOT / "nessie_gc_core" / "__init__.py" == (path.parent / loaded["tool"]["hatch"]["version"]["path"]).resolve()
    )


def test_the_examples_have_the_version_that_they_show() -> None:
    versions = {path.parent.name: _project(path)["version"] for path in ROOT.glob("examples/*/pyproject.toml")}
    assert dict.fromkeys(versions, __version__) == versions


def test_the_extra_testing_has_what_the_kit_imports() -> None:
    declared = _project(ROOT / "pyproject.toml")["optional-dependencies"]["testing"]
    modules = {
        name.partition(".")[0]
        for path in (ROOT / "nessie_gc_core" / "testing").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    libraries = {"hypothesis", "pytest"}
    assert libraries == {name for requirement in declared for name in re.findall(r"^[\w-]+", requirement)}
    assert libraries == modules & {"hypothesis", "pytest", "psutil", "moto", "pytest_timeout", "psycopg"}


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
