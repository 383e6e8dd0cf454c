"""Programs that the tests' packages install beside Python, whether or not its environment is activated."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path


def run_program(name: str, *arguments: str | Path) -> tuple[int, str]:
    """The exit code of a program, and what it says."""
    command = [str(Path(sysconfig.get_path("scripts")) / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
