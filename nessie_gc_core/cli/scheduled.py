"""The process of a scheduled run, which ends with its scheduler, and before it loses its lease."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from nessie_gc_core.config.environment import JOB_VARIABLE, LEASE_VARIABLE
from nessie_gc_core.model.times import elapsed_seconds

ASK_AT, KILL_AT = 0.6, 0.9
"""At which shares of a lease that is not renewed a run is asked to end, and is killed."""
_MOMENT = 1.0
"""For how many seconds it waits without a look at the clock."""
MOST_SECONDS = 60.0
"""How long a run that was asked to end has at most, before it is killed."""


def end_with_scheduler() -> None:
    """Lets this process end when its scheduler is gone or says nothing for too long, if it has one.

    The scheduler holds the other end of standard input, so that the system closes it whatever ends the scheduler. It
    writes a line there each time that it has renewed the lease of the run: since when it has the new one, by the clock
    of elapsed seconds, which is the same for all processes of a machine.
    """
    if JOB_VARIABLE in os.environ and LEASE_VARIABLE in os.environ and sys.stdin is not None:
        seconds, since = map(float, os.environ[LEASE_VARIABLE].split())
        arguments = sys.stdin.fileno(), seconds, since
        threading.Thread(target=_end_with, args=arguments, name="scheduler", daemon=True).start()


def _end_with(scheduler: int, seconds: float, since: float) -> None:
    said = b""
    while True:
        left = since + seconds * ASK_AT - elapsed_seconds()
        # Even if it is late: what the scheduler said while this process began counts. No longer than a moment, because
        # it does not count the time in which the machine sleeps.
        ready, _, _ = select.select([scheduler], [], [], max(0.0, min(left, _MOMENT)))
        if not ready and left > _MOMENT:
            continue
        read = _read(scheduler) if ready else b""
        if not read:
            break
        *lines, said = (said + read).split(b"\n")
        since = max([since, *map(float, lines)])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(max(0.0, min(MOST_SECONDS, since + seconds * KILL_AT - elapsed_seconds())))
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with all its children
    os.kill(os.getpid(), signal.SIGKILL)


def _read(scheduler: int) -> bytes:
    try:
        return os.read(scheduler, 4096)
    except OSError:
        return b""  # it is gone, however the system says it
