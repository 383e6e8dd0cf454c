"""Worker processes of the local engine: where decoding needs more than the one core that threads of Python share."""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pipe

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import ContentToFiles, FileLister
from nessie_gc_core.dataset import BatchFunction
from nessie_gc_core.engines.local.link import (
    Done,
    End,
    Failed,
    Link,
    LinkClosedError,
    Logged,
    Message,
    Ready,
    Rows,
    Task,
    Unfit,
    Wanted,
)
from nessie_gc_core.engines.local.workers import Helper, Shared
from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.work import Work
from nessie_gc_core.plugins import PluginSet, installed

log = logging.getLogger(__name__)

MANY_ROWS = 1000
"""So many files or more to read are worth the start of worker processes, each of which takes about half a second."""
NEEDED = (ContentToFiles, FileLister)
"""The contracts whose connectors worker processes use; plugins with others only are not loaded there."""
_POLL_SECONDS = 0.02
_END_SECONDS = 2.0
"""A worker process that was asked to end is killed after this time; it only reads, so nothing is lost."""
_PROGRAM = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.argv[1])
from nessie_gc_core.engines.local.child import main
gc.enable()
main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
"""


class Processes(Closing):
    """The worker processes of an engine. They are started when there is much to do, and kept until it is closed."""

    def __init__(self, most: int) -> None:
        """Takes how many there are at most; 0: none."""
        self._most = most
        self._workers: list[WorkerProcess] = []
        self._lock = threading.Lock()

    def helpers(self, function: BatchFunction, rows: int) -> Sequence[Helper]:
        """The worker processes that may help with a function, each started if need be.

        Args:
            function: where its attribute ``elsewhere`` is true, another process may run it as well.
            rows: how many rows it has at least.
        """
        if not getattr(function, "elsewhere", False) or self._most == 0:
            return []
        if rows < (MANY_ROWS if not self._workers else 2):
            return []
        try:
            task = Task(pickle.dumps(function))
        except Exception as error:  # noqa: BLE001 - whatever a class raises that cannot travel
            log.debug("%s stays in this process: %s", type(function).__name__, one_line(error))
            return []
        plugins = installed().bringing(*NEEDED)
        workers = [worker for worker in self._started(plugins) if worker.is_fit and worker.plugins == plugins]
        return [partial(worker.help, task) for worker in workers]

    def _started(self, plugins: PluginSet) -> Sequence[WorkerProcess]:
        with self._lock:
            try:
                if not sys.executable:
                    raise OSError("nothing tells which Python this is")
                self._workers = [worker for worker in self._workers if not worker.is_gone]
                while len(self._workers) < self._most:
                    self._workers.append(WorkerProcess(plugins))
            except OSError as error:
                self._most = len(self._workers)
                log.warning("no more worker processes can be started, so this run uses fewer cores: %s", error)
            return list(self._workers)

    def stay(self) -> None:
        """From now on everything is done in this process, where the state of some connector is."""
        self._most = 0
        self.close()

    def close(self) -> None:
        """Ends them."""
        with self._lock:
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()


class WorkerProcess(Closing):
    """One worker process; it does one task at a time."""

    def __init__(self, plugins: PluginSet) -> None:
        """Starts it with some plugins, which it must have as this process has them (S26)."""
        ours, theirs = Pipe()
        level = logging.getLogger("nessie_gc_core").getEffectiveLevel()
        arguments = [
            json.dumps([entry for entry in sys.path if isinstance(entry, str)]),  # Python passes over others
            str(theirs.fileno()),
            str(level),
            *(plugin.name for plugin in plugins.plugins),
        ]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, *arguments],  # nothing comes from the folder it starts in
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a plugin prints is not the result of a run
            )
        finally:
            theirs.close()
        self.plugins = plugins
        self._link = Link(ours)
        self._using = threading.Lock()
        self._is_ready = False
        self.is_fit = True
        """Whether it can do what this process does."""
        self.is_gone = False
        """Whether it was ended in the middle of something; another one can do as well."""

    def help(self, task: Task, shared: Shared) -> None:
        """Takes part in the work on one stream, as soon as it can and while there is something left to take.

        Raises:
            IncompleteError: it ended before its time.
            BaseException: whatever the function raised.
        """
        while not self._using.acquire(timeout=_POLL_SECONDS):
            if shared.is_over:
                return
        try:
            if self.is_fit and self._gets_ready(shared):
                self._run(task, shared)
        except LinkClosedError:
            self.is_fit, self.is_gone = False, True
            raise IncompleteError(
                f"a worker process ended with {self._ended()}; run again, with a lower `expiry_parallelism` if "
                "memory is short"
            ) from None
        finally:
            self._using.release()

    def _gets_ready(self, shared: Shared) -> bool:
        """Waits for its start; one that does not start, or has other plugins, leaves all work to this process."""
        while not self._is_ready:
            if shared.is_over:
                return False
            if not self._link.waits(_POLL_SECONDS):
                continue
            try:
                message = self._link.receive()
            except LinkClosedError:
                self._gives_up(f"it ended with {self._ended()}")
                return False
            if isinstance(message, Ready):
                if message.plugins != self.plugins:
                    self._gives_up("it has other plugins than this process")
                    return False
                self._is_ready = True
            else:
                self._note(message)
        return True

    def _gives_up(self, why: str) -> None:
        self.is_fit = False
        log.warning("a worker process does not help, so this run uses fewer cores: %s", why)

    def _run(self, task: Task, shared: Shared) -> None:
        self._link.send(task)
        while True:
            message = self._awaited(shared)
            if message is None:
                self._leave()
                return
            if isinstance(message, Wanted):
                batch = self._next(shared)
                self._link.send(End() if batch is None else Rows.of(batch, Work()))
            elif isinstance(message, Rows):
                METER.add(message.work)
                for batch in message.batches():
                    shared.results.put(batch)
            elif isinstance(message, Failed):
                raise message.raised()
            elif isinstance(message, Done):
                METER.add(message.work)
                return
            elif isinstance(message, Unfit):
                self._gives_up(message.reason)
                return
            else:
                self._note(message)

    def _next(self, shared: Shared) -> pa.RecordBatch | None:
        """The next rows; where there is an error instead, the other process waits for them in vain."""
        try:
            return next(shared, None)
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        """Ends it in the middle of its work."""
        self.is_fit, self.is_gone = False, True
        self.close()

    def _awaited(self, shared: Shared) -> Message | None:
        """The next message; ``None``: nobody waits for results any more."""
        while not shared.results.stopped.is_set():
            if self._link.waits(_POLL_SECONDS):
                return self._link.receive()
        return None

    def _note(self, message: Message) -> None:
        if not isinstance(message, Logged):
            raise TypeError(f"unexpected message {type(message).__name__}")
        logger = logging.getLogger(message.record.name)
        if logger.isEnabledFor(message.record.levelno):
            logger.handle(message.record)

    def close(self) -> None:
        """Asks it to end, and sees to it; one that is still starting has done nothing yet."""
        self._link.close()
        if not self._is_ready:
            self._process.kill()
        self._ended()

    def _ended(self) -> str:
        """How it ended; killed if it does not."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"
