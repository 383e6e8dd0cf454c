"""The process of a scheduled run, which ends with its scheduler, and before it loses its lease."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from nessie_gc_core.config.environment import JOB_VARIABLE, LEASE_VARIABLE

ASK_AT, KILL_AT = 0.6, 0.9
"""At which shares of a lease that is not renewed a run is asked to end, and is killed."""
MOST_SECONDS = 60.0
"""How long a run that was asked to end has at most, before it is killed."""


def end_with_scheduler() -> None:
    """Lets this process end when its scheduler is gone or says nothing for too long, if it has one.

    The scheduler holds the other end of standard input, so that the system closes it whatever ends the scheduler. It
    writes a byte there each time that it has renewed the lease of the run.
    """
    if JOB_VARIABLE in os.environ and LEASE_VARIABLE in os.environ and sys.stdin is not None:
        arguments = sys.stdin.fileno(), float(os.environ[LEASE_VARIABLE])
        threading.Thread(target=_end_with, args=arguments, name="scheduler", daemon=True).start()


def _end_with(scheduler: int, lease: float) -> None:
    heard = time.monotonic()
    while (left := heard + lease * ASK_AT - time.monotonic()) > 0:
        ready, _, _ = select.select([scheduler], [], [], left)
        if ready:
            if not _read(scheduler):
                break
            heard = time.monotonic()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(max(0.0, min(MOST_SECONDS, heard + lease * KILL_AT - time.monotonic())))
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with all its children
    os.kill(os.getpid(), signal.SIGKILL)


def _read(scheduler: int) -> bytes:
    try:
        return os.read(scheduler, 1)
    except OSError:
        return b""  # it is gone, however the system says it
