"""Counts what a process does at stores, in all its threads and tasks."""

from __future__ import annotations

import os
import threading

from nessie_gc_core.model.work import Work


class Meter:
    """Counts the work of a process, in all its threads."""

    def __init__(self) -> None:
        self.forget()

    def add(self, work: Work) -> None:
        """Counts some work."""
        with self._lock:
            self._work += work

    def work(self) -> Work:
        """All that was counted in this process by now."""
        with self._lock:
            return self._work

    def forget(self) -> None:
        """A copy of a process begins anew."""
        self._lock = threading.RLock()  # the garbage collector may end a task, whose work counts, while this counts
        self._work = Work()


METER = Meter()
"""That of this process."""
os.register_at_fork(after_in_child=METER.forget)
