"""What this process and its worker processes tell each other, over a pipe."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

import pyarrow as pa

from nessie_gc_core.model.work import Work
from nessie_gc_core.plugins import PluginSet


class LinkClosedError(Exception):
    """The other process is gone."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker process can begin."""

    plugins: PluginSet


@dataclass(frozen=True, slots=True)
class Task:
    """A function to run, pickled."""

    function: bytes


@dataclass(frozen=True, slots=True)
class Unfit:
    """A worker process cannot load the function, and has done nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The function asks for more rows."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as an Arrow stream: for the function, or what it yields."""

    data: bytes
    work: Work
    """What was done since this was last told."""

    @classmethod
    def of(cls, batch: pa.RecordBatch, work: Work) -> Rows:
        """A batch with its schema; of a slice only its own rows."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return cls(sink.getvalue().to_pybytes(), work)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows again."""
        yield from pa.ipc.open_stream(self.data)


@dataclass(frozen=True, slots=True)
class End:
    """There are no more rows for the function."""


@dataclass(frozen=True, slots=True)
class Done:
    """The function came to its end."""

    work: Work


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised an error, pickled."""

    error: bytes

    @classmethod
    def by(cls, error: BaseException) -> Failed:
        """The error, or its text where it cannot travel."""
        try:
            pickled = pickle.dumps(error)
            pickle.loads(pickled)
        except Exception:  # noqa: BLE001 - whatever its class raises
            pickled = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(pickled)

    def raised(self) -> BaseException:
        """The error again."""
        error = pickle.loads(self.error)
        return error if isinstance(error, BaseException) else RuntimeError(str(error))


@dataclass(frozen=True, slots=True)
class Logged:
    """A log record, its text complete."""

    record: logging.LogRecord


Message = Ready | Task | Unfit | Wanted | Rows | End | Done | Failed | Logged


class Link:
    """One end of the pipe. Several threads may send; one receives."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Sends a message; waits while the pipe is full.

        Raises:
            LinkClosedError: the other process is gone.
        """
        try:
            with self._sending:
                self._connection.send(message)
        except OSError as error:
            raise LinkClosedError from error

    def receive(self) -> Message:
        """Waits for a message.

        Raises:
            LinkClosedError: the other process is gone.
        """
        try:
            message = self._connection.recv()
        except (EOFError, OSError) as error:
            raise LinkClosedError from error
        if not isinstance(message, Message):
            raise TypeError(f"unexpected message {type(message).__name__}")
        return message

    def waits(self, seconds: float) -> bool:
        """Whether a message is there, or the end; waits for so long at most."""
        try:
            return self._connection.poll(seconds)
        except OSError:
            return True  # receiving it says what is wrong

    def close(self) -> None:
        """Ends it for both."""
        self._connection.close()
