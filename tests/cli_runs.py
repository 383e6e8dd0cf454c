"""What tests of the command line share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]
"""Runs the program in this process with some arguments, and perhaps ``env``."""
COLLECT = ("--repository", "memory", "--engine", "local", "--min-age", "PT0S", "--no-age-floor")
"""The options of a run over a simulated lake of this process."""


def go_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_") and name != "NESSIE_GC_REQUIRE_SERVERS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    home = folder / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


def one_line(result: Result) -> str:
    """The one line that a failing run says."""
    lines = [line for line in result.stderr.splitlines() if " INFO " not in line]
    assert 1 == len(lines), result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    return lines[0].removeprefix("error: ")
