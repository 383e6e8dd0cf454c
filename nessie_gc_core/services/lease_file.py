"""Tells other processes of this machine until when a lease is held, where they cannot ask the live-set store (S35)."""

from __future__ import annotations

import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from nessie_gc_core.algorithms.still_held import OnThisMachine
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.times import Elapsed, elapsed_seconds


class LeaseFile(Closing):
    """A file in a folder of its own, which only this user can change; it goes when the lease is lost or given back."""

    def __init__(self, elapsed: Elapsed = elapsed_seconds) -> None:
        self._elapsed = elapsed
        self._lock = threading.Lock()
        self._folder = Path(tempfile.mkdtemp(prefix="nessie-gc-lease-"))
        self._file = self._folder / "ends"

    def write(self, seconds_left: float) -> None:
        """For how long it is held from now on, in one step: whoever reads it sees the moment before or this one.

        Whoever cannot read it deletes nothing, so a disk that is full or read-only needs no error here.
        """
        with self._lock, suppress(OSError):
            if seconds_left <= 0:
                self._file.unlink(missing_ok=True)
                return
            new = self._folder / "new"
            new.write_text(repr(self._elapsed() + seconds_left), encoding="ascii")
            new.replace(self._file)

    def reader(self) -> OnThisMachine:
        """What reads it in another process."""
        return OnThisMachine(str(self._file))

    def close(self) -> None:
        """Removes it."""
        shutil.rmtree(self._folder, ignore_errors=True)
