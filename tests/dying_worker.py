"""A plugin that kills a worker of Spark once, after a bulk deletion has been answered: its task is tried again.

It is installed as any plugin, by an entry point.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from weakref import WeakSet

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
    """Dies once the answer to a bulk deletion is there, if this is a worker, and the first to get one."""
    deleting = WeakSet[HTTPConnection]()
    answer = HTTPConnection.getresponse

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event != "http.client.send":
            return
        connection, data = arguments
        if isinstance(connection, HTTPConnection) and isinstance(data, bytes) and _deletes(data):
            deleting.add(connection)

    def get_response(connection: HTTPConnection) -> HTTPResponse:
        answered = answer(connection)
        if connection in deleting:
            deleting.discard(connection)
            if "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules:
                with contextlib.suppress(FileNotFoundError):
                    (site / _ARMED).unlink()
                    os._exit(9)
        return answered

    sys.addaudithook(note)
    HTTPConnection.getresponse = get_response  # type: ignore[method-assign, assignment]


def _deletes(data: bytes) -> bool:
    """Whether a request begins with this that deletes many objects of a bucket."""
    return data.startswith(b"POST ") and b"?delete" in data.partition(b"\r\n")[0]


if __name__ == "nessie_gc_dying":
    _watch(Path(__file__).parent)
