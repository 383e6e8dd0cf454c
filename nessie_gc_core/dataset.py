"""The protocol between algorithms and engines: relations, and a few operations on them.

An algorithm is written once, over datasets. An engine implements the operations in its own way. Rows have no order. No
relation is collected in one place: a driver sees only the summary of an aggregation, a bounded number of rows, or a
stream of bounded batches.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.work import Work

T = TypeVar("T")

MANY_VALUES = 1000
"""A filter by more values than this is a join with them: they would make a query of their own weight."""
ENDED: ContextVar[threading.Event | None] = ContextVar("ended", default=None)
"""Set when the result of this context is no longer awaited; it then ends as soon as it can."""
_SECONDS = 0.1
"""How long it takes at most until an end is seen."""
task_attempt: ContextVar[int] = ContextVar("task_attempt", default=0)
"""The attempt of the task in which a function runs; a failed attempt may have done some of the work already."""


class Handover(Generic[T]):
    """A bounded queue between threads, of which either side may be gone before the other."""

    def __init__(self, most: int) -> None:
        """Made where things are taken; as many wait at most."""
        self._items: queue.Queue[T] = queue.Queue(most)
        self._ended = ENDED.get()
        self.stopped = threading.Event()
        """Set when nothing is taken any more: what is put then is lost, and nobody waits to put it."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be taken."""
        return self._items.empty()

    def put(self, item: T) -> None:
        """Hands something over; never called by the thread that takes, which would wait for itself."""
        while not self.stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._items.put(item, timeout=_SECONDS)
                return

    def take(self, seconds: float | None = None) -> T:
        """The next thing.

        Raises:
            queue.Empty: there was none for so many seconds, or somewhat less.
            CancelledError: nobody waits for it any more.
        """
        if self._ended is None:
            return self._items.get(timeout=seconds)
        while not self._ended.is_set():
            try:
                return self._items.get(timeout=min(seconds or _SECONDS, _SECONDS))
            except queue.Empty:
                if seconds is not None:
                    raise
        raise CancelledError


def joined_schema(left: pa.Schema, right: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """The schema of a left join: the left columns, then the others of the right, which may be null."""
    more = (field.with_nullable(nullable=True) for field in right if field.name not in keys)
    return pa.schema([*left, *more])


def values_batch(field: pa.Field, values: Sequence[str | int | bool]) -> pa.RecordBatch:
    """The distinct values of a filter as a batch with one column."""
    return pa.record_batch([pa.array(list(dict.fromkeys(values)), field.type)], schema=pa.schema([field]))


class BatchFunction(Protocol):
    """Turns batches into batches; pickled to where the rows are, and called there once per task."""

    schema: pa.Schema
    """Schema of what it yields.

    A function with a true attribute ``elsewhere`` may be run by another process of this machine as well. It changes
    nothing, so that such a process can be ended at any time.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Consumes the batches of one task and yields batches of :attr:`schema`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside(Generic[T]):
    """What runs beside a block."""

    result: Callable[[], T]
    """Waits for it; raises its error."""
    check: Callable[[], None] = lambda: None
    """Raises its error, where there is one by now."""


class Dataset(ABC):
    """A relation on an engine. Every operation returns a new dataset and leaves this one unchanged."""

    schema: pa.Schema

    @abstractmethod
    def flat_map(self, function: BatchFunction) -> Dataset:
        """Applies a function to the rows, in parallel tasks, each row in exactly one (successful) task."""

    @abstractmethod
    def spread(self, keys: Sequence[str], *, together: bool = False) -> Dataset:
        """The same rows, repartitioned over a number of tasks that the engine chooses.

        Args:
            keys: columns by which they are partitioned.
            together: whether rows with equal keys must reach the same call of a function, which must be the next
                operation; in one batch if the engine can do that.
        """

    @abstractmethod
    def where(self, column: str, values: Sequence[str | int | bool], *, negate: bool = False) -> Dataset:
        """The rows whose column is one of the values, or if negated none of them; null is not one of them."""

    @abstractmethod
    def present(self, column: str) -> Dataset:
        """The rows whose column is not null."""

    @abstractmethod
    def select(self, schema: pa.Schema) -> Dataset:
        """Only the columns of the schema, which this dataset has."""

    @abstractmethod
    def union(self, other: Dataset) -> Dataset:
        """The rows of both, which have the same schema; duplicates stay."""

    @abstractmethod
    def distinct(self, keys: Sequence[str]) -> Dataset:
        """One arbitrary row for every combination of the keys (null equals null)."""

    @abstractmethod
    def anti_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """The rows without a row of ``other`` that has the same keys; compares the complete text of the keys."""

    @abstractmethod
    def semi_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """The rows with a row of ``other`` that has the same keys."""

    @abstractmethod
    def left_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """All rows, with the further columns of each row of ``other`` that has the same keys, or nulls.

        Null keys match nothing. Apart from the keys, ``other`` shares no column with this dataset.
        """

    @abstractmethod
    def setting(self, values: Mapping[str, str]) -> Dataset:
        """The same rows, with some string columns set to constants."""

    @abstractmethod
    def matching(self, predicate: str) -> Dataset:
        """The rows for which a predicate in the engine's SQL is true.

        Raises:
            ConfigurationError: it is not a valid predicate for these columns.
        """

    @abstractmethod
    def aggregate(self, keys: Sequence[str], measures: Mapping[str, tuple[str, str]], schema: pa.Schema) -> Dataset:
        """One row per combination of the keys: the keys, then the measures, in the order of the schema.

        A measure is ``name: (function, column)``; the functions are ``count`` (column ignored), ``sum``, ``max`` and
        ``min`` (of text or numbers, null if there are none).
        """

    @abstractmethod
    def checkpoint(self) -> Dataset:
        """The same rows, computed now; later uses read the result and never compute it again."""

    @abstractmethod
    def count(self) -> int:
        """How many rows."""

    @abstractmethod
    def head(self, rows: int) -> pa.Table:
        """At most this many arbitrary rows."""

    @abstractmethod
    def summary(self) -> pa.Table:
        """All rows, on the driver; only for relations with a row per unit or content, never per file."""

    @abstractmethod
    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Streams all rows through the driver in batches of bounded size; the caller closes it."""

    @abstractmethod
    def to_frame(self) -> object:
        """The rows for interactive work: a Spark DataFrame, or the local engine's own frame."""


class Engine(Closing):
    """Runs datasets. Closing it frees its storage."""

    name: ClassVar[str]
    distributed: ClassVar[bool]
    """Whether functions run in other processes, where only executor-safe connectors work."""

    @property
    def on_one_machine(self) -> bool:
        """Whether it is certain that functions run on this machine."""
        return not self.distributed

    @abstractmethod
    def dataset(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Dataset:
        """A dataset of streamed batches, which are consumed once and immediately; there may be many."""

    def empty(self, schema: pa.Schema) -> Dataset:
        """A dataset without rows."""
        return self.dataset((), schema)

    @abstractmethod
    def from_frame(self, frame: object, schema: pa.Schema) -> Dataset:
        """The rows of a frame that came from :meth:`Dataset.to_frame`, or was derived from it.

        Raises:
            ConfigurationError: it is not such a frame, or lacks a column.
        """

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """How many tasks run at the same time."""

    @abstractmethod
    def check(self) -> None:
        """Checks whether functions can run where the rows are; call it before a run begins.

        Raises:
            ConfigurationError: they cannot; the message says what was found and what to set.
        """

    def stay_in_process(self) -> None:
        """From now on functions run in this process, if this engine can do that: some connector has its state here."""

    @contextmanager
    def beside(self, function: Callable[[], T]) -> Iterator[Beside[T]]:
        """Runs a function at the same time as the block, if the engine can do both at once.

        Otherwise, the function is called when its result is requested. Leaving the block also waits for the function;
        an error in the block ends it early.
        """
        yield Beside(result=function)

    def work(self) -> Work | None:
        """What functions have done so far, even while they run; ``None`` if this engine cannot tell."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Frees its storage; may be called twice."""
