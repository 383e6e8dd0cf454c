"""The process of a scheduled run, which ends with its scheduler."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from nessie_gc_core.config.environment import JOB_VARIABLE

PATIENCE_SECONDS = 60
"""How long a run that was asked to end has, before it is killed."""


def end_with_scheduler() -> None:
    """Lets this process end when its scheduler is gone, if it has one.

    The scheduler holds the other end of standard input, so that the system closes it whatever ends the scheduler.
    """
    if JOB_VARIABLE in os.environ and sys.stdin is not None:
        threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), name="scheduler", daemon=True).start()


def _end_with(scheduler: int) -> None:
    try:
        while os.read(scheduler, 1):
            pass
    except OSError:
        pass  # it is gone, however the system says it
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)
