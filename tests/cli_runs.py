"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]
"""Runs the program in this process with some arguments, and perhaps ``env``."""
COLLECT = ("--repository", "memory", "--engine", "local", "--min-age", "PT0S", "--no-age-floor")
"""The options of a run over a simulated lake of this process."""


def one_line(result: Result) -> str:
    """The one line that a failing run says."""
    lines = [line for line in result.stderr.splitlines() if " INFO " not in line]
    assert 1 == len(lines), result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    return lines[0].removeprefix("error: ")
