"""The program of a worker process: runs functions over rows that come through a pipe, until the pipe is closed."""

from __future__ import annotations

import gc
import logging
import logging.handlers
import pickle
import signal
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from multiprocessing.connection import Connection

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import BatchFunction
from nessie_gc_core.engines.local.link import (
    Done,
    End,
    Failed,
    Link,
    LinkClosedError,
    Logged,
    Ready,
    Rows,
    Task,
    Unfit,
    Wanted,
)
from nessie_gc_core.model.allocator import take_the_systems
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.without_pandas import leave_pandas_out
from nessie_gc_core.model.work import Work
from nessie_gc_core.plugins import installed, load_only


class _Forward(logging.handlers.QueueHandler):
    """Sends log records to the process that started this one."""

    def __init__(self, link: Link) -> None:
        super().__init__(queue=None)  # type: ignore[arg-type]  # only `enqueue` would use it
        self._link = link

    def enqueue(self, record: logging.LogRecord) -> None:
        """Sends one; nobody is left to read it where that fails."""
        try:
            self._link.send(Logged(record))
        except LinkClosedError:
            return


class Child:
    """Does one task after the other."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._told = Work()

    def serve(self) -> None:
        """Until the other process closes the pipe, or is gone."""
        try:
            self._link.send(Ready(installed().plugin_set()))
            while True:
                message = self._link.receive()
                if not isinstance(message, Task):
                    raise TypeError(f"unexpected message {type(message).__name__}")
                self._do(message)
        except LinkClosedError:
            return

    def _do(self, task: Task) -> None:
        try:
            function: BatchFunction = pickle.loads(task.function)
        except Exception as error:  # noqa: BLE001 - whatever a class raises that cannot be made here
            self._link.send(Unfit(one_line(error)))
            return
        try:
            results = function(self._rows())
            with closing(results) if isinstance(results, Generator) else nullcontext():
                for batch in results:
                    self._link.send(Rows.of(batch, self._work()))
            self._link.send(Done(self._work()))
        except LinkClosedError:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again by the process that started this one
            self._link.send(Failed.by(error))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        while True:
            self._link.send(Wanted())
            message = self._link.receive()
            if isinstance(message, End):
                return
            if not isinstance(message, Rows):
                raise TypeError(f"unexpected message {type(message).__name__}")
            yield from message.batches()

    def _work(self) -> Work:
        """What was done since this was last asked."""
        now = METER.work()
        fresh, self._told = now - self._told, now
        return fresh


def main(descriptor: int, level: int, plugins: Sequence[str]) -> None:
    """Serves at a file descriptor; whoever started this process ends it, also when someone presses Ctrl-C.

    Args:
        descriptor: of the pipe.
        level: of log records that are told.
        plugins: the entry points to load.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_only(plugins)
    take_the_systems()
    leave_pandas_out()
    gc.freeze()  # what was loaded so far stays until the process ends
    link = Link(Connection(descriptor))
    root = logging.getLogger()
    root.addHandler(_Forward(link))
    root.setLevel(level)
    Child(link).serve()
    sys.exit(0)
