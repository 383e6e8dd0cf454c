"""Runs a command as a whole process, and watches the memory of what it starts."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile

import psutil

_INTERVAL_SECONDS = 0.2


class CommandFailedError(Exception):
    """The command ended with an exit code that is no success."""


@dataclass(slots=True)
class Measured:
    """What a run took."""

    seconds: float = 0.0
    processor_seconds: float = 0.0
    """Of the process and all that it started and waited for."""
    peak_megabytes: dict[str, float] = field(default_factory=dict)
    """Peak memory of the driver, of its Python workers together, of the JVM, and of all at one time.

    Resident memory. On Linux, what processes share counts once, in equal parts (the proportional set size); elsewhere,
    where the system does not tell that, each process counts it.
    """
    output: str = ""


def measure(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Measured:
    """Runs a command to its end.

    Raises:
        CommandFailedError: its exit code is not 0; the message has the end of what it said.
    """
    measured = Measured()
    environment = as_installed(os.environ if environment is None else environment)
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        started, used = time.perf_counter(), _used_seconds()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        try:
            while process.poll() is None:
                _watch(process.pid, measured.peak_megabytes)
                time.sleep(_INTERVAL_SECONDS)
        except BaseException:
            process.kill()
            raise
        measured.seconds = time.perf_counter() - started
        measured.processor_seconds = _used_seconds() - used
        output.seek(0)
        errors.seek(0)
        measured.output = output.read()
        if process.returncode != 0:
            said = (errors.read().strip() or measured.output.strip())[-2000:]
            raise CommandFailedError(f"{' '.join(command)} ended with {process.returncode}: {said}")
    return measured


def _used_seconds() -> float:
    """Processor time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def as_installed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of an installation that has compiled its modules, as pip leaves it.

    Python compiles them on their first import and keeps that, unless a variable forbids it; then every process would
    compile all of them again, which takes longer than a small run.
    """
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _watch(root: int, peaks: dict[str, float]) -> None:
    now = dict.fromkeys(("driver", "workers", "jvm", "together"), 0.0)
    for process in _tree(root):
        try:
            info, name = process.memory_full_info(), process.name()
            memory = getattr(info, "pss", info.rss) / 1e6
        except psutil.Error:  # it has just ended
            continue
        part = "jvm" if name == "java" else "driver" if process.pid == root else "workers"
        now[part] += memory
        now["together"] += memory
    for part, memory in now.items():
        peaks[part] = max(peaks.get(part, 0.0), memory)


def _tree(root: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []
