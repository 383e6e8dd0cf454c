"""Sessions that somebody else made, from a virtual environment that is not activated: whose Python do workers run?"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from nessie_gc_core.testing.servers import JavaRole, find_java, skip_or_fail

pytestmark = [pytest.mark.spark, pytest.mark.server]

ROOT = Path(__file__).parents[2]
SESSIONS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from pyspark.sql import SparkSession
from nessie_gc_core.engines.spark import SparkEngine
from nessie_gc_core.errors import ConfigurationError
found = {}
for name, python in json.loads(sys.argv[2]).items():
    os.environ.pop("PYSPARK_PYTHON", None)
    if python:
        os.environ["PYSPARK_PYTHON"] = python
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        SparkEngine(session).check()
        found[name] = "works"
    except ConfigurationError as error:
        found[name] = str(error)
    session.stop()
print(json.dumps(found))
"""
"""Makes one session after the other, and says what the check of each says."""
OLDER = """
import collections, sys
names = ["major", "minor", "micro", "releaselevel", "serial"]
sys.version_info = collections.namedtuple("version_info", names)(3, 4, 5, "final", 0)
"""
"""Makes a Python of another version out of the one that is there."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the check says of workers with each of these interpreters."""
    folder = tmp_path_factory.mktemp("pythons")
    with skip_or_fail():
        java = find_java(JavaRole.SPARK).home
    pythons = {
        "nothing set": None,
        "set": sys.executable,
        "not there": str(folder / "nowhere" / "python"),
        "older": str(_older_python(folder / "older")),
        "broken": str(_program(folder / "broken", "exit 3")),
    }
    bare = folder / "bare"
    venv.create(bare, symlinks=True)
    environment = {name: value for name, value in os.environ.items() if "PYTHON" not in name and "SPARK" not in name}
    environment |= {
        "PATH": os.pathsep.join([str(bare / "bin"), "/usr/bin", "/bin"]),
        "JAVA_HOME": str(java),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-c", SESSIONS, str(ROOT), json.dumps(pythons)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _older_python(folder: Path) -> Path:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(OLDER, encoding="utf-8")
    return _program(folder / "python", f'PYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"')


def test_the_python3_of_the_path_without_our_packages_is_refused_in_one_line_that_says_what_to_set(
    said: dict[str, str],
) -> None:
    found = said["nothing set"]
    assert re.match(
        r"Spark's workers run \S+/bare/bin/python3 \(3\.\d+\.\d+\S*\), which cannot import (\w+, )*pandas, pyarrow; ",
        found,
    )
    assert found.endswith(f"set PYSPARK_PYTHON={sys.executable} in the environment before the session is created")
    assert "\n" not in found


def test_with_pyspark_python_set_the_same_session_works(said: dict[str, str]) -> None:
    assert "works" == said["set"]


def test_workers_of_another_python_version_are_refused(said: dict[str, str]) -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert said["older"] == (
        f"Spark's workers run Python 3.4, this process runs {own}; "
        f"set PYSPARK_PYTHON={sys.executable} in the environment before the session is created"
    )


def test_an_interpreter_that_is_not_there_or_does_not_run_is_named(said: dict[str, str]) -> None:
    advice = f"; set PYSPARK_PYTHON={sys.executable} in the environment before the session is created"
    assert re.fullmatch(
        r"Spark cannot start its workers: \S+/nowhere/python: No such file or directory",
        said["not there"].removesuffix(advice),
    )
    assert re.fullmatch(r"Spark cannot start its workers: \S+Exception: .*[^.]", said["broken"].removesuffix(advice))
