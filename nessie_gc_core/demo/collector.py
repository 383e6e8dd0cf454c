"""Runs the collector as a user would: its command line, in its own process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.program import own_command

COLLECTOR = own_command()
"""The command, as this Python has it."""
LIVE_COMMITS = 3
"""The demo's cut-off policy: how many commits of each reference stay live."""
ALL_COMMITS = 1000
"""More than any reference of the demo has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """One run of the collector."""

    report: Mapping[str, Any]
    """What ``--json`` printed."""
    exit_code: int
    complaints: str
    """Its last line of output that is not the report; says why it failed, where it did."""

    def count(self, outcome: str) -> int:
        """How many files had an outcome."""
        return int(self.report.get(outcome, {}).get("files", 0))

    def size(self, outcome: str) -> int:
        """How many bytes had an outcome."""
        return int(self.report.get(outcome, {}).get("bytes", 0))


_STORE = ["--jdbc-url", "sqlite:///live-sets.db"]
"""In the folder of the demo; it remembers what is in quarantine."""


def arguments(uri: str, *, engine: str, quarantine: Path | None = None) -> list[str]:
    """The demo's command line, without the name of the program."""
    store = ["--inmemory"] if quarantine is None else [*_STORE, "--quarantine", f"{quarantine.as_uri()}/"]
    guard = ["--min-age", "PT0S", "--no-age-floor", "--dropped-after", "PT1S"]  # the lake is seconds old
    return ["gc", "-u", uri, *store, "--default-cutoff", str(LIVE_COMMITS), "--engine", engine, *guard]


def restore(uri: str, *, engine: str) -> list[str]:
    """The command line that brings everything back from quarantine."""
    return ["restore", "-u", uri, *_STORE, "--engine", engine, "--everything"]


def collect(
    uri: str, *, engine: str, folder: Path, program: Sequence[str] = COLLECTOR, more: Sequence[str] = ()
) -> Collection:
    """Runs ``gc`` as the demo does, with more arguments, and reads its report.

    Raises:
        NessieGcError: it printed no report.
    """
    return run([*arguments(uri, engine=engine), *more], folder=folder, program=program)


def run(command: Sequence[str], *, folder: Path, program: Sequence[str] = COLLECTOR) -> Collection:
    """Runs the collector and reads its report.

    Args:
        command: its arguments.
        folder: where it runs, away from any configuration file of the user's.
        program: the collector's command.

    Raises:
        NessieGcError: it printed no report.
    """
    done = subprocess.run(
        [*program, *command, "--json"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    complaints = (done.stderr.strip() or "no message").splitlines()[-1]
    try:
        report = json.loads(done.stdout)
    except ValueError as error:
        raise NessieGcError(f"the collector ended with exit code {done.returncode}: {complaints}") from error
    return Collection(report=report, exit_code=done.returncode, complaints=complaints)


def _environment() -> dict[str, str]:
    """This process's, without the settings of Nessie GC that a user may have made for another lake."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_")}
