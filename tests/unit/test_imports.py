"""What import-linter cannot say: imports against declared requirements, and what a plain import loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    "nessie-gc-core": ROOT,
    **{path.parent.name: path.parent for path in sorted(ROOT.glob("plugins/*/pyproject.toml"))},
}
ENTRIES = {"nessie-gc-core": "nessie_gc_core.cli.main, nessie_gc_core.api"}
"""What a program imports, where it is not the package of the distribution."""
COMES_WITH = {
    "airflow": "apache_airflow",
    "attr": "attrs",
    "azure": "adlfs",
    "botocore": "boto3",
    "google": "gcsfs",
    "markupsafe": "jinja2",
    "openlineage": "openlineage_python",
    "py4j": "pyspark",
}
"""Imported modules that are part of what a declared requirement promises."""
OPTIONAL = {
    "adlfs", "boto3", "botocore", "duckdb", "fsspec", "gcsfs", "jinja2", "matplotlib", "obstore", "openlineage",
    "paramiko", "prometheus_client", "psycopg", "pymysql", "pyspark", "pytest", "s3fs",
}  # fmt: skip
"""What only an extra of some distribution brings. PyArrow itself loads pandas where it is installed."""


def sources(distribution: str) -> list[Path]:
    folder = DISTRIBUTIONS[distribution]
    package = distribution.replace("-", "_")
    return sorted((folder / package if folder == ROOT else folder / "src" / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """The top-level names that a module imports from elsewhere."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]


def modules(path: Path) -> Iterator[str]:
    """The modules that a module imports from elsewhere, with their packages."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module


def declared(distribution: str) -> set[str]:
    """The requirements and those of every extra, as names that can be imported."""
    extras = project(distribution).get("optional-dependencies", {}).values()
    return required(distribution) | names(need for extra in extras for need in extra)


def required(distribution: str) -> set[str]:
    """The requirements without those of the extras, as names that can be imported."""
    return names(project(distribution)["dependencies"])


def project(distribution: str) -> dict[str, Any]:
    loaded: dict[str, Any] = tomllib.loads((DISTRIBUTIONS[distribution] / "pyproject.toml").read_text())["project"]
    return loaded


def names(requirements: Iterable[str]) -> set[str]:
    matches = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {match[0].lower().replace("-", "_") for match in matches if match}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_distribution_imports_only_what_it_declares(distribution: str) -> None:
    own = {distribution.replace("-", "_"), *sys.stdlib_module_names}
    needed = {COMES_WITH.get(name, name) for path in sources(distribution) for name in imported(path)}
    assert needed - own - declared(distribution) == set()


@pytest.mark.parametrize("distribution", sorted(DISTRIBUTIONS.keys() - {"nessie-gc-airflow"}))  # see noxfile.py
def test_importing_a_distribution_loads_no_optional_library(distribution: str) -> None:
    optional = OPTIONAL - required(distribution)
    entry = ENTRIES.get(distribution, distribution.replace("-", "_"))
    code = f"import {entry}, sys; print(*sorted({optional!r} & sys.modules.keys()))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == []


def test_what_airflow_loads_imports_only_what_is_public() -> None:
    of_the_core = {name for path in sources("nessie-gc-airflow") for name in modules(path) if "nessie_gc_core" in name}
    assert of_the_core <= {"nessie_gc_core", "nessie_gc_core.errors"}
