"""A plugin that kills a worker of Spark once, after a bulk deletion has been answered: its task is tried again.

It is installed as any plugin, by an entry point.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

_ARMED = "armed"


def install(site: Path) -> None:
    """Makes a folder of packages with this plugin."""
    described = site / "nessie_gc_dying-0.1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(__file__, site / "nessie_gc_dying.py")
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-gc-dying\nVersion: 0.1.0\n")
    (described / "entry_points.txt").write_text("[nessie_gc]\ndying = nessie_gc_dying\n")


def arm(site: Path) -> None:
    """The next worker that has deleted something in bulk dies."""
    (site / _ARMED).touch()


def is_armed(site: Path) -> bool:
    """Whether no worker has died since."""
    return (site / _ARMED).exists()


def _watch(site: Path) -> None:
    """Dies at the first request after a bulk deletion, if this is a worker, and the first to do so."""
    deleted = [False]

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event != "http.client.send":
            return
        data = arguments[1]
        starts = data[:5] if isinstance(data, bytes) else b""
        if deleted[0] and starts in (b"GET /", b"POST "):
            deleted[0] = False
            if "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules:
                with contextlib.suppress(FileNotFoundError):
                    (site / _ARMED).unlink()
                    os._exit(9)
        if isinstance(data, bytes) and starts == b"POST " and b"?delete" in data.partition(b"\r\n")[0]:
            deleted[0] = True

    sys.addaudithook(note)


if __name__ == "nessie_gc_dying":
    _watch(Path(__file__).parent)
