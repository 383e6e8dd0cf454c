"""How a run is carried out: in a process of its own, which ends with its scheduler."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from nessie_gc_core.config.environment import DIGEST_VARIABLE, JOB_VARIABLE, LEASE_VARIABLE
from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.due import HEALTH, WhenDue
from nessie_gc_core.services.schedule.outcome import Outcome, Work


class Runner(Protocol):
    """Starts runs."""

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        """Starts one, which has its job for a lease since a moment of elapsed seconds.

        Raises:
            OSError, NessieGcError: it cannot be started.
        """


def begun(job: JobDefinition, leased: float, begin: Callable[[str, float], Work]) -> Work:
    """A run of a job: of its service, or first of ``health`` if that decides.

    Args:
        job: the job.
        leased: since when it has its lease, by the clock of elapsed seconds.
        begin: begins a service that has had its lease since a moment.
    """
    if job.trigger is None:
        return begin(job.service, leased)
    return WhenDue(job.trigger, begin(HEALTH, leased), lambda since: begin(job.service, since), leased)


class ProcessRunner:
    """Runs each job as ``nessie-gc SERVICE --json`` in a process of its own, with the same configuration file."""

    def __init__(self, file: Path, *, command: Sequence[str] = (sys.executable, "-m", "nessie_gc_core")) -> None:
        """Takes the configuration file with the jobs, and how the program is called."""
        self._file = file
        self._command = tuple(command)

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        """Starts the process; its standard input is a pipe on which the scheduler says how long it has its job."""
        variables = {
            JOB_VARIABLE: job.name,
            DIGEST_VARIABLE: job.digest,
        }

        def begin(service: str, leased: float) -> Work:
            command = [*self._command, service, "--config", str(self._file), "--json"]
            return _Process(command, {**variables, LEASE_VARIABLE: f"{job.lease.total_seconds()} {leased}"})

        return begun(job, leased, begin)


class _Process:
    """A child, whose report is kept in a temporary file until it ends; what it logs goes where ours goes."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self._ended = False
        self._report: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the child has ended
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=self._report,
                env={**os.environ, **variables},
                start_new_session=True,  # what interrupts the scheduler is for the scheduler to pass on
            )
        except OSError:
            self._report.close()
            raise
        assert self._process.stdin is not None
        self._input = self._process.stdin

    def beat(self, renewed: float) -> None:
        """Tells the process that it has its job for a lease since then."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            self._input.write(f"{renewed}\n".encode())
            self._input.flush()

    def wait(self, seconds: float) -> Outcome | None:
        """Waits for its end."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        with self._report:
            self._report.seek(0)
            report = self._report.read().decode(errors="replace").strip()
        self._ended = True
        self._input.close()
        self._kill_all()  # what it has left behind
        error = f"it was ended by signal {-code}" if code < 0 else None
        return Outcome(exit_code=code, report=report or None, error=error)

    def stop(self, *, kill: bool) -> None:
        """Ends it by a signal, or kills it with all its children."""
        if self._ended:
            return
        if kill:
            self._kill_all()
        else:
            self._process.terminate()

    def _kill_all(self) -> None:
        """Kills the process and its children, which are a group of their own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
