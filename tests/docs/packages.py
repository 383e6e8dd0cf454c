"""Builds distributions of plugins, and runs them beside the built core."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path


def built(folder: Path, target: Path) -> Path:
    """The wheel of a distribution, unpacked."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target / "site")
    return target / "site"


def run(command: list[str], folder: Path, *sites: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command that finds the given sites before anything that is installed."""
    paths = [*map(str, sites), *filter(None, [os.environ.get("PYTHONPATH") if not sites else ""])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
