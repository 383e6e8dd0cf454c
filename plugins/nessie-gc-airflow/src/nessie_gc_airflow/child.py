"""Runs services by the command line of another environment."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import IO

from nessie_gc_airflow.calls import USAGE, Call, CallError, Result, Runner

log = logging.getLogger(__name__)

GRACE_SECONDS = 4.0
"""How long a child may take to end; Airflow itself kills the task five seconds after it asked it to end."""
WITHOUT_DRY_RUN = frozenset({"explain", "health", "identify", "make-lake", "mark", "mark-live", "report", "what-if"})
"""Services that delete nothing and have no ``--dry-run``; any other that lacks it needs ``dry_run=False``."""
_OF_AIRFLOW = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""What belongs to the environment of Airflow, and would mix up the other one."""


class Child(Runner):
    """Runs them by an executable."""

    def __init__(self, executable: str | Sequence[str]) -> None:
        """Takes the command line that stands for ``nessie-gc``."""
        self._command = [executable] if isinstance(executable, str) else list(executable)
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def run(self, call: Call) -> Result:
        """Runs one; what it logs is logged line by line.

        Raises:
            CallError: it failed, or was stopped.
        """
        command = [*self._command, *arguments(call)]
        variables = environment(call, os.environ)
        with tempfile.TemporaryFile() as output:
            exit_code = self._wait(command, variables, output)
            output.seek(0)
            printed = output.read()
        if self._stopped:
            raise CallError(f"{call.service}: stopped, because Airflow ended the task")
        return _result(call.service, printed, exit_code)

    def _wait(self, command: Sequence[str], variables: Mapping[str, str], output: IO[bytes]) -> int:
        try:
            process = subprocess.Popen(
                command,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # so that it can be ended with its own children, such as a JVM
            )
        except OSError as error:
            raise CallError(f"cannot run {command[0]}: {error.strerror or error}", may_retry=False) from error
        with process:
            self._process = process
            try:
                if self._stopped:  # while it began
                    self._end(process)
                assert process.stderr is not None
                for line in process.stderr:
                    log.info("%s", line.rstrip())
                return process.wait()
            finally:
                self._process = None
                self._end(process)

    def stop(self) -> None:
        """Asks the child and its children to end, and kills them if they do not."""
        self._stopped = True
        if self._process is not None:
            self._end(self._process)

    def _end(self, process: subprocess.Popen[str]) -> None:
        if process.poll() is not None:
            return
        log.warning("ending process %s", process.pid)
        _signal(process, signal.SIGTERM)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("process %s did not end in %s s, and is killed", process.pid, GRACE_SECONDS)
        _signal(process, signal.SIGKILL)  # its children, too, if it left any


def _signal(process: subprocess.Popen[str], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        log.debug("process %s has ended", process.pid)


def _result(service: str, printed: bytes, exit_code: int) -> Result:
    """What a child printed, which ends a report with 0 or 1, and an error with any other than 0."""
    try:
        body = json.loads(printed)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise CallError(f"{service}: no report, exit code {exit_code}; see the log", may_retry=exit_code != USAGE)
    if "error" in body:
        raise CallError(f"{service}: {body['error']}", may_retry=exit_code != USAGE)
    if exit_code not in (0, 1):
        raise CallError(f"{service}: exit code {exit_code}; see the log")
    return Result(report=body, exit_code=exit_code)


# ---- the command line -------------------------------------------------------------------------------
def arguments(call: Call) -> list[str]:
    """The arguments for a call: a parameter that the service does not have is refused there.

    A dry run is an argument: a program that stands for another, such as ``docker run``, may drop variables.

    Raises:
        CallError: a value cannot be written as text.
    """
    given = call.checked
    found = [call.service, "--json", *([f"--config={call.config}"] if call.config is not None else [])]
    if not call.deletes and ("dry_run" in given or call.service not in WITHOUT_DRY_RUN):
        found.append("--dry-run")
    for name, value in given.items():
        if name != "dry_run" and value is not False:
            found += _option(name, value)
    return found


def _option(name: str, value: object) -> Iterator[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        yield flag
    elif isinstance(value, Mapping):
        yield from (f"{flag}={key}={text(name, inner)}" for key, inner in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from (f"{flag}={text(name, inner)}" for inner in value)
    else:
        yield f"{flag}={text(name, value)}"


def environment(call: Call, inherited: Mapping[str, str]) -> dict[str, str]:
    """The variables of the child: settings are there, since any command takes them, and other users see no arguments.

    Only ``dry_run=False`` leaves out ``NESSIE_GC_DRY_RUN``; then the settings may still contain it.

    Raises:
        CallError: a setting cannot be written as text.
    """
    settings = {name: _setting(name, value) for name, value in call.settings.items() if value is not None}
    settings |= {name: "false" for name, value in call.checked.items() if value is False and name != "dry_run"}
    if not call.deletes:
        settings["dry_run"] = "true"
    mine = {f"NESSIE_GC_{name.upper()}": value for name, value in settings.items()}
    others = {name: value for name, value in inherited.items() if name not in _OF_AIRFLOW}
    return {**others, **call.env, **mine}


def _setting(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        parts = [f"{key}={text(name, inner)}" for key, inner in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        parts = [text(name, inner) for inner in value]
    else:
        return text(name, value)
    if (isinstance(value, Sequence) and len(parts) > 1) or any("," in part for part in parts):
        raise CallError(
            f"the setting {name!r} is a list, or has a comma, which no environment variable can hold: write it in "
            "the configuration file",
            may_retry=False,
        )
    return ",".join(parts)


def text(name: str, value: object) -> str:
    """A value as the command line reads it.

    Raises:
        CallError: it is of no type that an option can have.
    """
    match value:
        case bool():
            return str(value).lower()
        case timedelta():
            return str(value.total_seconds())
        case datetime():
            return value.isoformat()
        case Enum():
            return str(value.value)
        case str() | int() | float():
            return str(value)
    raise CallError(f"{name!r} cannot be of the type {type(value).__name__}", may_retry=False)
