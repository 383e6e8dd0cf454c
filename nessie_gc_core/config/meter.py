"""Counts what a process does at stores, in all its threads and tasks."""

from __future__ import annotations

import os
import threading

from nessie_gc_core.model.work import Traffic, Work


class Meter:
    """Counts the work of a process, in all its threads."""

    def __init__(self) -> None:
        self.forget()

    def expanded(self, files: int) -> None:
        """Counts content versions and files that name others, which were read."""
        with self._lock:
            self._files_expanded += files

    def listed(self, files: int) -> None:
        """Counts names that a listing gave."""
        with self._lock:
            self._files_listed += files

    def asked(self, traffic: Traffic) -> None:
        """Counts what a connector asked of a store."""
        with self._lock:
            self._requests += traffic.requests
            self._bytes_read += traffic.bytes_read
            self._waited_seconds += traffic.waited_seconds

    def add(self, work: Work) -> None:
        """Counts what another process did for this one."""
        with self._lock:
            self.expanded(work.files_expanded)
            self.listed(work.files_listed)
            self.asked(work.traffic)

    def work(self) -> Work:
        """All that was counted in this process by now."""
        with self._lock:
            traffic = Traffic(requests=self._requests, bytes_read=self._bytes_read, waited_seconds=self._waited_seconds)
            return Work(files_expanded=self._files_expanded, files_listed=self._files_listed, traffic=traffic)

    def forget(self) -> None:
        """A copy of a process begins anew."""
        self._lock = threading.RLock()  # the garbage collector may end a task, whose work counts, while this counts
        self._files_expanded = self._files_listed = self._requests = self._bytes_read = 0
        self._waited_seconds = 0.0


METER = Meter()
"""That of this process."""
os.register_at_fork(after_in_child=METER.forget)
