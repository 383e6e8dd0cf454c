"""The record of what ran on which Spark, and every place that names those versions."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SUITES = {"engine", "collection", "tables"}
RESULT = '<testsuites><testsuite tests="3" failures="{failures}" errors="0" skipped="{skipped}"/></testsuites>'


@pytest.fixture
def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ROOT / "docs" / "data" / "spark-versions.json").read_text())
    return found


@pytest.fixture
def recording() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spark_versions", ROOT / "tests" / "spark_versions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def versions_of_noxfile() -> list[str]:
    nodes = ast.parse((ROOT / "noxfile.py").read_text()).body
    (found,) = (node for node in nodes if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SPARKS")
    return list(ast.literal_eval(found.value))


def test_each_version_that_is_tried_has_a_record_with_every_suite(records: list[dict[str, Any]]) -> None:
    assert {".".join(record["spark"].split(".")[:2]) for record in records} == set(versions_of_noxfile())
    for record in records:
        assert SUITES == {name for name, count in record["passed"].items() if count}


def test_an_extra_takes_the_versions_that_are_tried() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needs = [need for extra in extras.values() for need in extra if need.startswith("pyspark")]
    last = versions_of_noxfile()[-1]
    after = f"{last[:-1]}{int(last[-1]) + 1}"
    assert {f"pyspark>={versions_of_noxfile()[0]},<{after}"} == set(needs)


def test_iceberg_is_that_of_the_spark_and_of_its_scala(records: list[dict[str, Any]]) -> None:
    for record in records:
        spark, scala = (".".join(record[name].split(".")[:2]) for name in ("spark", "scala"))
        assert re.match(f"org.apache.iceberg:iceberg-spark-runtime-{spark}_{scala}:", record["iceberg"])


def test_a_complete_run_takes_the_place_of_the_one_before(
    recording: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engine.xml").write_text(RESULT.format(failures=0, skipped=0))
    monkeypatch.setattr(recording, "RECORDS", tmp_path / "data" / "records.json")
    for version in ("4.0.1", "3.5.2", "4.0.2"):
        monkeypatch.setattr(recording, "versions", lambda version=version: {"spark": version})
        recording.main(tmp_path)
    found = json.loads((tmp_path / "data" / "records.json").read_text())
    assert [("3.5.2", {"engine": 3}), ("4.0.2", {"engine": 3})] == [(each["spark"], each["passed"]) for each in found]


@pytest.mark.parametrize(("failures", "skipped"), [(1, 0), (0, 1)])
def test_an_incomplete_run_is_not_recorded(recording: ModuleType, tmp_path: Path, failures: int, skipped: int) -> None:
    (tmp_path / "engine.xml").write_text(RESULT.format(failures=failures, skipped=skipped))
    with pytest.raises(SystemExit, match="only a complete run is recorded"):
        recording.passed(tmp_path / "engine.xml")
