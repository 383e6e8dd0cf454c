"""Relations as tables of one temporary DuckDB database, with a memory limit; what does not fit goes to its file."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import ClassVar, TypeVar

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import (
    ENDED,
    MANY_VALUES,
    BatchFunction,
    Beside,
    Dataset,
    Engine,
    joined_schema,
    values_batch,
)
from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.engines.local.chunks import cut, cut_between
from nessie_gc_core.engines.local.database import Database, literal, quoted
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.engines.local.processes import Processes
from nessie_gc_core.engines.local.workers import Helper, map_in_threads
from nessie_gc_core.engines.machine import cores
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import portions
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.work import Work

T = TypeVar("T")

CHUNK_ROWS = 8192
"""The maximum number of rows that a worker gets at once."""
INSERT_ROWS = 100_000
"""Rows are put into a table in portions of about this many."""
_SQL_FUNCTIONS = {"count": "count(*)", "sum": "CAST(sum({0}) AS BIGINT)", "max": "max({0})", "min": "min({0})"}


class LocalEngine(Engine):
    """Runs everything in this process."""

    name: ClassVar[str] = "local"
    distributed: ClassVar[bool] = False

    def __init__(self, *, workers: int = 4, memory_limit: str = "512MB", spill_directory: str | None = None) -> None:
        """Opens a temporary database.

        Args:
            workers: how many run functions at most (``expiry_parallelism``): threads, and where much is to be read
                also processes, one for every further core.
            memory_limit: how much memory joins may take, in DuckDB's words, such as ``512MB``.
            spill_directory: where the database file lies; the system's temporary folder where not given.

        Raises:
            ConfigurationError: DuckDB is not installed, or an argument is invalid.
        """
        if workers < 1:
            raise ConfigurationError(f"`expiry_parallelism` must be at least 1, not {workers}")
        self._workers = workers
        self.database = Database(threads=min(workers, cores()), memory_limit=memory_limit, directory=spill_directory)
        self._processes = Processes(min(workers, cores()) - 1)

    def from_frame(self, frame: object, schema: pa.Schema) -> Dataset:
        """A frame of this engine, or an Arrow table."""
        table = frame.to_arrow() if isinstance(frame, LocalFrame) else frame
        if not isinstance(table, pa.Table):
            raise ConfigurationError(f"expected a frame or an Arrow table, not {type(frame).__name__}")
        missing = set(schema.names) - set(table.schema.names)
        if missing:
            raise ConfigurationError(f"the frame lacks the columns {', '.join(sorted(missing))}")
        return self.dataset(table.select(schema.names).cast(schema).to_batches(), schema)

    @property
    def parallelism(self) -> int:
        """How many workers there are at most."""
        return self._workers

    def dataset(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Dataset:
        """Puts the batches into a table."""
        name = self.database.new_table(schema)
        for portion in portions(batches, INSERT_ROWS):
            self.database.insert(name, portion, schema)
        return LocalDataset(self, f"SELECT * FROM {name}", schema, stored=True)

    def helpers(self, function: BatchFunction, rows: int) -> Sequence[Helper]:
        """The worker processes that help with a function of so many rows."""
        return self._processes.helpers(function, rows)

    def stay_in_process(self) -> None:
        """No worker process helps any more."""
        self._processes.stay()

    def check(self) -> None:
        """Nothing to find out: functions run in this process, and in others like it."""

    @contextmanager
    def beside(self, function: Callable[[], T]) -> Iterator[Beside[T]]:
        """In a thread of its own."""
        ended = threading.Event()

        def run() -> T:
            ENDED.set(ended)
            return function()

        with in_thread(run, ended.set) as result:
            yield result

    def work(self) -> Work:
        """That of this process."""
        return METER.work()

    def close(self) -> None:
        """Ends the worker processes, closes the database and removes its file."""
        self._processes.close()
        self.database.close()


class LocalDataset(Dataset):
    """A query over tables of the engine's database."""

    def __init__(
        self, engine: LocalEngine, query: str, schema: pa.Schema, *, stored: bool = False, keys: Sequence[str] = ()
    ) -> None:
        self.schema = schema
        self.query = query
        self._engine = engine
        self._stored = stored
        self._keys = keys

    def flat_map(self, function: BatchFunction) -> Dataset:
        """Runs the function in the workers, at once; the rows it yields go to a table."""
        workers = self._engine.parallelism
        order = f" ORDER BY {_names(self._keys)}" if self._keys else ""
        with closing(self._read(self.query + order, CHUNK_ROWS)) as batches:
            first = list(_first(batches, CHUNK_ROWS * workers))
            rows = sum(batch.num_rows for batch in first)
            if rows == 0:
                return self._engine.empty(function.schema)
            workers = min(workers, rows)
            chunk = max(1, min(CHUNK_ROWS, rows // (workers * 4)))
            if self._keys:
                inputs = cut_between(itertools.chain(first, batches), chunk, self._keys)
            else:
                inputs = itertools.chain(cut(first, chunk), batches)
            helpers = self._engine.helpers(function, rows)
            with closing(map_in_threads(function, inputs, workers, helpers)) as results:
                return self._engine.dataset(results, function.schema)

    def spread(self, keys: Sequence[str], *, together: bool = False) -> Dataset:
        """Nothing yet: the workers take from one stream, which is cut where it may be."""
        if not together:
            return self
        return LocalDataset(self._engine, self.query, self.schema, stored=self._stored, keys=tuple(keys))

    def where(self, column: str, values: Sequence[str | int | bool], *, negate: bool = False) -> Dataset:
        """A WHERE clause; many values come from a table."""
        among = ", ".join(literal(value) for value in values[:MANY_VALUES])
        if len(values) > MANY_VALUES:
            batch = values_batch(self.schema.field(column), values)
            among = self._query_of(self._engine.dataset([batch], batch.schema))
        test = f"{quoted(column)} IN ({among})" if values else "false"
        condition = f"NOT coalesce({test}, false)" if negate else test
        return self._derive(f"SELECT * FROM ({self.query}) WHERE {condition}")

    def present(self, column: str) -> Dataset:
        """IS NOT NULL."""
        return self._derive(f"SELECT * FROM ({self.query}) WHERE {quoted(column)} IS NOT NULL")

    def select(self, schema: pa.Schema) -> Dataset:
        """A SELECT list."""
        columns = _names(schema.names)
        return LocalDataset(self._engine, f"SELECT {columns} FROM ({self.query})", schema)

    def union(self, other: Dataset) -> Dataset:
        """UNION ALL."""
        return self._derive(f"SELECT * FROM ({self.query}) UNION ALL BY NAME SELECT * FROM ({self._query_of(other)})")

    def distinct(self, keys: Sequence[str]) -> Dataset:
        """DISTINCT ON."""
        columns = _names(keys)
        return self._derive(f"SELECT DISTINCT ON ({columns}) * FROM ({self.query})")

    def anti_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """ANTI JOIN."""
        return self._join("ANTI", other, keys)

    def semi_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """SEMI JOIN."""
        return self._join("SEMI", other, keys)

    def _join(self, kind: str, other: Dataset, keys: Sequence[str]) -> Dataset:
        columns = _names(keys)
        names = ", ".join(f"l.{quoted(name)}" for name in self.schema.names)
        return self._derive(
            f"SELECT {names} FROM ({self.query}) l {kind} JOIN ({self._query_of(other)}) r USING ({columns})"
        )

    def left_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """LEFT JOIN."""
        schema = joined_schema(self.schema, other.schema, keys)
        query = f"SELECT * FROM ({self.query}) LEFT JOIN ({self._query_of(other)}) USING ({_names(keys)})"
        return LocalDataset(self._engine, f"SELECT {_names(schema.names)} FROM ({query})", schema)

    def setting(self, values: Mapping[str, str]) -> Dataset:
        """REPLACE in the SELECT list."""
        columns = ", ".join(f"{literal(value)} AS {quoted(name)}" for name, value in values.items())
        return self._derive(f"SELECT * REPLACE ({columns}) FROM ({self.query})")

    def matching(self, predicate: str) -> Dataset:
        """A WHERE clause of DuckDB's SQL."""
        import duckdb

        try:
            duckdb.SQLExpression(predicate)  # one expression, and not the end of one and the beginning of another
            with self._engine.database.cursor() as cursor:
                (type_,) = cursor.sql(f"SELECT ({predicate}\n) FROM ({self.query}) LIMIT 0").types
        except duckdb.Error as error:
            raise ConfigurationError(
                f"{predicate!r} is not a valid predicate for these rows: {one_line(error)}"
            ) from error
        if str(type_) != "BOOLEAN":
            raise ConfigurationError(f"{predicate!r} is not a predicate: it returns {type_} instead of true or false")
        return self._derive(f"SELECT * FROM ({self.query}) WHERE ({predicate}\n)")

    def aggregate(self, keys: Sequence[str], measures: Mapping[str, tuple[str, str]], schema: pa.Schema) -> Dataset:
        """GROUP BY."""
        columns = [quoted(key) for key in keys]
        for name, (function, column) in measures.items():
            columns.append(f"{_SQL_FUNCTIONS[function].format(quoted(column))} AS {quoted(name)}")
        grouping = f" GROUP BY {_names(keys)}" if keys else ""
        query = f"SELECT {', '.join(columns)} FROM ({self.query}){grouping}"
        return LocalDataset(self._engine, query, schema)

    def checkpoint(self) -> LocalDataset:
        """Computes the query into a table."""
        if self._stored:
            return self
        name = self._engine.database.store(self.query)
        return LocalDataset(self._engine, f"SELECT * FROM {name}", self.schema, stored=True)

    def count(self) -> int:
        """Counts in SQL."""
        with self._engine.database.cursor() as cursor:
            row = cursor.execute(f"SELECT count(*) FROM ({self.query})").fetchone()
        return int(row[0]) if row else 0

    def head(self, rows: int) -> pa.Table:
        """SELECT … LIMIT."""
        return pa.Table.from_batches(self._read(f"{self.query} LIMIT {rows}", CHUNK_ROWS), self.schema)

    def summary(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Streams the query's rows."""
        return self._read(self.query, CHUNK_ROWS)

    def to_frame(self) -> LocalFrame:
        """A frame on its own connection."""
        relation = self._engine.database.connection().sql(self.query)
        assert relation is not None  # a query always gives one
        return LocalFrame(relation)

    def _read(self, query: str, rows: int) -> Generator[pa.RecordBatch, None, None]:
        with self._engine.database.cursor() as cursor:
            for batch in cursor.sql(query).to_arrow_reader(rows):
                yield _cast(batch, self.schema)

    def _query_of(self, other: Dataset) -> str:
        if not isinstance(other, LocalDataset) or other._engine is not self._engine:
            raise TypeError(f"{type(other).__name__} belongs to another engine")
        return other.query

    def _derive(self, query: str) -> Dataset:
        return LocalDataset(self._engine, query, self.schema)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _first(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Takes batches until there are so many rows, or no more."""
    taken = 0
    while taken < rows and (batch := next(batches, None)) is not None:
        taken += batch.num_rows
        yield batch


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))
