"""The folder ``binder/``, read by Binder's own builder, and its steps, run without a container."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs.bare_machine import BareMachine
from docs.pages import ROOT

READ = """
import json
from repo2docker.buildpacks import PythonBuildPack
pack = PythonBuildPack("base image")
steps = {"detected": pack.detect(), "python": pack.python_version, "before": pack.get_preassemble_scripts()}
print(json.dumps({**steps, "install": pack.get_assemble_scripts(), "after": pack.get_post_build_scripts()}))
"""


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    """What the builder does with this checkout."""
    done = subprocess.run([sys.executable, "-c", READ], cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_built_with_a_python_that_fits(steps: dict[str, Any]) -> None:
    assert (True, "3.11") == (steps["detected"], steps["python"])


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="there is no apt-get here")
def test_debian_has_the_packages(steps: dict[str, Any]) -> None:
    ((user, script),) = steps["before"]
    (packages,) = re.findall(r"apt-get install --yes --no-install-recommends (.+) &&", script)
    assert ("root", ["openjdk-17-jre-headless"]) == (user, packages.split())
    command = ["apt-get", "install", "--simulate", "--no-install-recommends", *packages.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_what_is_installed_starts_what_the_notebook_needs(
    steps: dict[str, Any], tmp_path: Path, environment: dict[str, str]
) -> None:
    machine = BareMachine.make(tmp_path, environment)
    for _, script in steps["install"]:
        machine.run("env", f"KERNEL_PYTHON_PREFIX={machine.prefix}", "bash", "-c", script)
    for script in steps["after"]:
        machine.run(f"./{script}")
    found = machine.run("python", "-m", "nessie_gc_core", "plugins")
    for plugin in ("nessie", "iceberg-files", "memory"):
        assert re.search(rf"^{plugin}: nessie-gc-{plugin} [\d.]+, works$", found, re.MULTILINE), found
