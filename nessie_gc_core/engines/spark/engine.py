"""Relations as Spark DataFrames. Nothing per file is collected; only DataFrames are used, so Connect works too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import MANY_VALUES, BatchFunction, Beside, Dataset, Engine, joined_schema, values_batch
from nessie_gc_core.engines.spark.beside import beside_on_spark
from nessie_gc_core.engines.spark.packets import Packed, unpacked
from nessie_gc_core.engines.spark.rows import Rows
from nessie_gc_core.engines.spark.session import (
    check_session,
    functions_of,
    is_connect,
    is_stopped,
    open_session,
    parallelism_of,
)
from nessie_gc_core.engines.spark.stored import remove_stored, stored
from nessie_gc_core.engines.spark.task import ArrowTask
from nessie_gc_core.engines.spark.transfer import can_store, collected, loaded, received, strictly, struct_of
from nessie_gc_core.engines.spark.workers import check_workers
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import in_schema, portions
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.work import Work

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

TASKS_PER_CORE = 4
"""Rows are dealt over this many tasks for every core, so that slow ones even out."""
LOAD_ROWS = 100_000
"""Rows that are handed from the driver to Spark at once."""
STREAM_ROWS = 10_000
"""Rows of a batch that is streamed through the driver."""
TASK_ROWS = 25_000
"""Rows that are worth a task, where there are more tasks than cores."""
BROADCAST_ROWS = 100_000
"""So many rows at most are sent to every executor for a join, through the driver: 15 MB for keys of 100 characters."""


class SparkEngine(Engine):
    """Runs everything on a Spark session: the one handed in, or one of its own."""

    name: ClassVar[str] = "spark"
    distributed: ClassVar[bool] = True

    def __init__(
        self, session: SparkSession | None = None, *, master: str | None = None, conf: Mapping[str, str] | None = None
    ) -> None:
        """Takes or makes a session.

        Args:
            session: a running session, classic or of Spark Connect; it is used as it is, and stays open.
            master: Spark master of a session of its own, or a Spark Connect address such as ``sc://host:15002``;
                ``local[*]`` where neither this nor ``conf`` says.
            conf: more Spark properties of a session of its own.

        Raises:
            ConfigurationError: pyspark or Java is missing, or the session has speculation on. What the workers
                have is not looked at here but in :meth:`check`.
        """
        self._own = session is None
        self._checked = False
        self._checking = threading.Lock()
        self.session = session if session is not None else open_session(master, conf or {})
        check_session(self.session)
        self.work_done = _adding_up(self.session)
        """Where tasks add up their work; Spark Connect has no such thing."""
        self._parallelism = parallelism_of(self.session)

    @property
    def on_one_machine(self) -> bool:
        """With a local master; where a Connect server has its executors, nobody can tell."""
        return not is_connect(self.session) and str(self.session.conf.get("spark.master", "")).startswith("local")

    def from_frame(self, frame: object, schema: pa.Schema) -> Dataset:
        """A DataFrame of the same session, its columns as the schema has them."""
        if not hasattr(frame, "createOrReplaceTempView"):
            raise ConfigurationError(f"expected a DataFrame of this session, not {type(frame).__name__}")
        missing = set(schema.names) - set(cast("DataFrame", frame).columns)
        if missing:
            raise ConfigurationError(f"the DataFrame lacks the columns {', '.join(sorted(missing))}")
        return SparkDataset(self, cast("DataFrame", frame).select(*schema.names), schema)

    @property
    def parallelism(self) -> int:
        """Spark's default parallelism."""
        return self._parallelism

    @property
    def tasks(self) -> int:
        """Over how many tasks rows are dealt."""
        return self._parallelism * TASKS_PER_CORE

    def tasks_for(self, rows: int) -> int:
        """How many tasks so many rows are worth; as many on every core."""
        return self._parallelism * max(1, -(-rows // (self._parallelism * TASK_ROWS)))

    def dataset(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Dataset:
        """Hands the batches to Spark, portion by portion; each portion is stored before the next is read."""
        loads = [self._load(portion, schema) for portion in portions(batches, LOAD_ROWS)]
        if not loads:
            empty = self.session.createDataFrame([], struct_of(schema))
            return SparkDataset(self, empty, schema, rows=Rows.known(0), stored=True)
        frame, rows = loads[0]
        for other, more in loads[1:]:
            frame, rows = frame.unionAll(other), rows + more
        return SparkDataset(self, frame, schema, rows=Rows.known(rows), stored=True)

    def _load(self, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> tuple[DataFrame, int]:
        table = pa.Table.from_batches(batches, schema)
        return loaded(self.session, table), table.num_rows

    def check(self) -> None:
        """Runs one small job that asks every worker for its Python and its packages; once, whoever asks first."""
        with self._checking:
            if not self._checked:
                check_workers(self.session, self._parallelism)
                self._checked = True

    @contextmanager
    def beside(self, function: Callable[[], T]) -> Iterator[Beside[T]]:
        """In a thread of its own; one after the other on Spark Connect, whose client is for one thread."""
        if is_connect(self.session):
            yield Beside(result=function)
            return
        with beside_on_spark(self.session, function) as result:
            yield result

    def work(self) -> Work | None:
        """That of the tasks that have ended, and of the driver."""
        return None if self.work_done is None else self.work_done.value + METER.work()

    def close(self) -> None:
        """Stops the session where it is the engine's own, and still runs."""
        if self._own and not is_stopped(self.session):
            remove_stored(self.session)
            self.session.stop()


class SparkDataset(Dataset):
    """A DataFrame with the schema of a relation."""

    def __init__(
        self,
        engine: SparkEngine,
        frame: DataFrame,
        schema: pa.Schema,
        *,
        rows: Rows | None = None,
        stored: bool = False,
        spread: bool = False,
    ) -> None:
        """Takes the DataFrame.

        Args:
            engine: whose it is.
            frame: its rows.
            schema: of the relation.
            rows: how many rows there are at most; ``None``: only computing them would tell.
            stored: whether these rows are stored as they are, and ``rows`` is their number.
            spread: whether they were distributed to tasks, because each may take long.
        """
        self.schema = schema
        self.frame = frame
        self.rows = rows
        self._engine = engine
        self._stored = stored
        self._spread = spread

    def flat_map(self, function: BatchFunction) -> Dataset:
        """``mapInArrow``; few rows in few tasks, each of which takes as long to begin as thousands of rows to end."""
        frame = self.frame
        if not self._spread and self.rows is not None:
            frame = frame.coalesce(self._engine.tasks_for(self.rows.most()))
        frame = frame.mapInArrow(ArrowTask(function, self._engine.work_done).run, struct_of(function.schema))
        return SparkDataset(self._engine, frame, function.schema)

    def spread(self, keys: Sequence[str], *, together: bool = False) -> Dataset:
        """Repartitions by the keys over a fixed number of tasks, which adaptive execution leaves alone."""
        frame = self.frame.repartition(self._engine.tasks, *keys)
        return SparkDataset(self._engine, frame, self.schema, rows=self.rows, spread=True)

    def where(self, column: str, values: Sequence[str | int | bool], *, negate: bool = False) -> Dataset:
        """A filter; by many values a join."""
        f = functions_of(self.frame)
        if len(values) > MANY_VALUES:
            batch = values_batch(self.schema.field(column), values)
            among = self._engine.dataset([batch], batch.schema)
            kind = "left_anti" if negate else "left_semi"
            return self._some(self.frame.join(frame_of(among).hint("broadcast"), [column], kind), ordered=True)
        test = f.coalesce(f.col(column).isin(list(values)), f.lit(False)) if values else f.lit(False)
        return self._some(self.frame.where(~test if negate else test))

    def present(self, column: str) -> Dataset:
        """``isNotNull``."""
        return self._some(self.frame.where(functions_of(self.frame).col(column).isNotNull()))

    def select(self, schema: pa.Schema) -> Dataset:
        """A projection."""
        return SparkDataset(self._engine, self.frame.select(*schema.names), schema, rows=self.rows)

    def union(self, other: Dataset) -> Dataset:
        """``unionByName``."""
        theirs = rows_of(other)
        rows = None if self.rows is None or theirs is None else self.rows.and_those_of(theirs)
        return SparkDataset(self._engine, self.frame.unionByName(frame_of(other)), self.schema, rows=rows)

    def distinct(self, keys: Sequence[str]) -> Dataset:
        """``dropDuplicates``."""
        return self._some(self.frame.dropDuplicates(list(keys)))

    def anti_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """A left anti join."""
        return self._some(self.frame.join(_keys(other, keys), list(keys), "left_anti"), ordered=True)

    def semi_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """A left semi join."""
        return self._some(self.frame.join(_keys(other, keys), list(keys), "left_semi"), ordered=True)

    def left_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """A left outer join."""
        schema = joined_schema(self.schema, other.schema, keys)
        frame = self.frame.join(_to_join(other), list(keys), "left").select(*schema.names)
        return SparkDataset(self._engine, frame, schema)

    def setting(self, values: Mapping[str, str]) -> Dataset:
        """``withColumns`` of literals."""
        f = functions_of(self.frame)
        return self._some(self.frame.withColumns({name: f.lit(value) for name, value in values.items()}))

    def matching(self, predicate: str) -> Dataset:
        """A filter, in Spark's SQL."""
        from pyspark.errors import PySparkException

        try:
            with strictly(self.frame):
                frame = self.frame.where(predicate)
                _ = frame.schema  # Spark Connect looks at it only now
        except PySparkException as error:
            raise ConfigurationError(
                f"{predicate!r} is not a valid predicate for these rows: {one_line(error)}"
            ) from error
        return self._some(frame)

    def aggregate(self, keys: Sequence[str], measures: Mapping[str, tuple[str, str]], schema: pa.Schema) -> Dataset:
        """``groupBy`` and ``agg``."""
        f = functions_of(self.frame)
        functions = {"count": lambda _: f.count(f.lit(1)), "sum": f.sum, "max": f.max, "min": f.min}
        columns = [functions[function](column).alias(name) for name, (function, column) in measures.items()]
        frame = self.frame.groupBy(*keys).agg(*columns).select(*schema.names)
        return SparkDataset(self._engine, frame, schema, rows=self.rows if keys else Rows.known(1))

    def checkpoint(self) -> Dataset:
        """An eager checkpoint: kept in the cluster's directory or by the executors, never computed again."""
        if self._stored:
            return self
        if not can_store(self.frame):
            kept = self._engine.dataset(self._received(), self.schema)
            frame, rows = frame_of(kept), rows_of(kept)
            return SparkDataset(self._engine, frame, self.schema, rows=rows, stored=True, spread=self._spread)
        frame, rows = stored(self.frame)
        return SparkDataset(self._engine, frame, self.schema, rows=rows, stored=True, spread=self._spread)

    def _received(self) -> Iterator[pa.RecordBatch]:
        """The rows as they come; what Spark says of columns that may be null is its own guess."""
        return (in_schema(batch, self.schema) for batch in received(self.frame))

    def count(self) -> int:
        """``count``; of stored rows once."""
        return self.rows.most() if self._stored and self.rows is not None else int(self.frame.count())

    def head(self, rows: int) -> pa.Table:
        """``limit``, and Arrow."""
        is_all = self.rows is not None and self.rows.most() <= rows
        return self._table(self.frame if is_all else self.frame.limit(rows))

    def summary(self) -> pa.Table:
        """All rows, as Arrow."""
        return self._table(self.frame)

    def _table(self, frame: DataFrame) -> pa.Table:
        return collected(frame).select(self.schema.names).cast(self.schema)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Few rows in one go; many partition by partition, each of which is a job, and of a bounded size."""
        few = self.head(LOAD_ROWS)
        if few.num_rows < LOAD_ROWS:
            yield from few.to_batches(STREAM_ROWS)
            return
        kept = self.checkpoint()
        portions = -(-kept.count() // LOAD_ROWS)
        packed = frame_of(kept).repartition(portions).mapInArrow(ArrowTask(Packed()).run, struct_of(Packed.schema))
        for (packet,) in packed.toLocalIterator(prefetchPartitions=True):
            yield in_schema(unpacked(packet), self.schema)

    def to_frame(self) -> DataFrame:
        """The DataFrame."""
        return self.frame

    def _some(self, frame: DataFrame, *, ordered: bool = False) -> Dataset:
        """Some of these rows."""
        named = frame.select(*self.schema.names) if ordered else frame
        return SparkDataset(self._engine, named, self.schema, rows=self.rows, spread=self._spread)


def _adding_up(session: SparkSession) -> Accumulator[Work] | None:
    if is_connect(session):
        return None
    from nessie_gc_core.engines.spark.work import added_up  # Connect's client comes without what this needs

    return added_up(session)


def frame_of(dataset: Dataset) -> DataFrame:
    """The DataFrame of a dataset of this engine."""
    if not isinstance(dataset, SparkDataset):
        raise TypeError(f"{type(dataset).__name__} belongs to another engine")
    return dataset.frame


def rows_of(dataset: Dataset) -> Rows | None:
    """How many rows a dataset of this engine has at most, where that can be told."""
    return dataset.rows if isinstance(dataset, SparkDataset) else None


def _keys(dataset: Dataset, keys: Sequence[str]) -> DataFrame:
    """The keys of the other side of a join."""
    return _to_join(dataset).select(*keys)


def _to_join(dataset: Dataset) -> DataFrame:
    """The other side of a join: few rows are sent everywhere, so that the others stay where they are.

    Many are sorted and merged: bounded memory, and nothing goes through the driver.
    """
    rows = rows_of(dataset)
    few = rows is not None and rows.most() <= BROADCAST_ROWS
    return frame_of(dataset).hint("broadcast" if few else "merge")
