"""How a run is carried out: in a process of its own, which ends with its scheduler."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import IO, Protocol

from nessie_gc_core.config.environment import (
    ATTEMPT_VARIABLE,
    DIGEST_VARIABLE,
    JOB_VARIABLE,
    LEASE_VARIABLE,
    RUN_VARIABLE,
)
from nessie_gc_core.model.program import own_command
from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.services.schedule.definition import RESUME, JobDefinition
from nessie_gc_core.services.schedule.due import HEALTH, WhenDue
from nessie_gc_core.services.schedule.outcome import Outcome, Work


class Runner(Protocol):
    """Starts runs."""

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        """Starts one, which has its job for a lease since a moment of elapsed seconds.

        Raises:
            OSError, NessieGcError: it cannot be started.
        """


class Begin(Protocol):
    """Begins a service in the way of a runner."""

    def __call__(self, service: str, leased: float, more: Mapping[str, str | bool], /) -> Work:
        """Begins one that has had its lease since a moment, with more parameters than those of its job."""


class LastSuccess(Protocol):
    """When the last run of a job ended that succeeded; ``None``: there is none."""

    def __call__(self, job: str, /) -> datetime | None:
        """Looks it up.

        Raises:
            StoreError: the store cannot be used.
        """


def begun(job: JobDefinition, run: JobRun, leased: float, begin: Begin, succeeded: LastSuccess) -> Work:
    """A run of a job: of its service, or first of ``health`` if that decides and nobody asked for the run.

    A service that refuses what an earlier run has begun is told to go on with it, if there is any: that may have been a
    run of another occasion, or of no schedule.

    Args:
        job: the job.
        run: the run.
        leased: since when it has its lease, by the clock of elapsed seconds.
        begin: begins a service.
        succeeded: knows when a job succeeded last; one that never did needs no commits to run.
    """
    trigger = job.trigger
    more: dict[str, str | bool] = {RESUME: True} if job.resumes else {}
    if trigger is None or run.occasion.by_hand:
        return begin(job.service, leased, more)
    last = None if trigger.commits is None else succeeded(job.name)
    if trigger.commits is not None and last is None:
        return begin(job.service, leased, more)
    look = begin(HEALTH, leased, trigger.parameters(last))
    return WhenDue(trigger, look, lambda since: begin(job.service, since, more), leased)


class ProcessRunner:
    """Runs each job as ``nessie-gc SERVICE --json`` in a process of its own, with the same configuration file."""

    def __init__(
        self,
        file: Path,
        *,
        succeeded: LastSuccess = lambda job: None,
        command: Sequence[str] | None = None,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Takes what all runs have in common.

        Args:
            file: the configuration file with the jobs.
            succeeded: knows when a job succeeded last.
            command: how the program is called (default: as this one was).
            variables: more variables of the environment, such as how it logs.
        """
        self._file = file
        self._variables = variables
        self._succeeded = succeeded
        self._command = own_command() if command is None else tuple(command)

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        """Starts the process; its standard input is a pipe on which the scheduler says how long it has its job."""
        variables = {
            **self._variables,
            JOB_VARIABLE: job.name,
            DIGEST_VARIABLE: job.digest,
            RUN_VARIABLE: str(run.id),
            ATTEMPT_VARIABLE: str(run.occasion.attempt),
        }

        def begin(service: str, leased: float, more: Mapping[str, str | bool], /) -> Work:
            command = [*self._command, service, "--config", str(self._file), "--json", *_options(more)]
            return _Process(command, {**variables, LEASE_VARIABLE: f"{job.lease.total_seconds()} {leased}"})

        return begun(job, run, leased, begin, self._succeeded)


def _options(more: Mapping[str, str | bool]) -> list[str]:
    """Parameters as a command has them; one that is true is a flag."""
    flags = {f"--{name.replace('_', '-')}": value for name, value in more.items()}
    return [flag if value is True else f"{flag}={value}" for flag, value in flags.items()]


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
