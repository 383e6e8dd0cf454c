"""What differs between versions of Spark: how rows, settings and tags get into a session, and rows out of it.

Spark 3.5 has no ``toArrow``, and takes no Arrow in ``createDataFrame``; its JVM does, and so does its Connect server.
What is private there changes no more: it is the last 3.x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from nessie_gc_core.engines.spark.session import is_connect
from nessie_gc_core.engines.spark.stored import kept_rows
from nessie_gc_core.errors import ConfigurationError, SafetyError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")

ANSI = "spark.sql.ansi.enabled"
"""With it, an overflow or a bad cast is an error; without it, a wrong value or none. Off by default before Spark 4."""

FEW_ROWS = 10_000
"""So many rows travel from the driver with each task that needs them, which costs less than a job that stores them."""
_ONE_AT_A_TIME = Lock()
"""Settings of a session are those of all its threads."""


def is_before_4() -> bool:
    """Whether the PySpark that is installed is a 3.x: one that hands out no Arrow."""
    from pyspark.sql import DataFrame

    return not hasattr(DataFrame, "toArrow")


def struct_of(schema: pa.Schema) -> StructType:
    """The schema as Spark has it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    struct: StructType = from_arrow_schema(schema)
    return struct


def schema_of(frame: DataFrame) -> pa.Schema:
    """The schema of a DataFrame; times are those of UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema: pa.Schema = to_arrow_schema(frame.schema)
    return schema


# ---- rows -----------------------------------------------------------------------------------------------
def collected(frame: DataFrame) -> pa.Table:
    """All rows of a DataFrame, on the driver; times may have the zone of the session, and are the same."""
    if not is_before_4():
        return frame.toArrow()
    if is_connect(frame):
        return pa.Table.from_batches(received(frame), schema_of(frame))
    batches = cast("Any", frame)._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else schema_of(frame).empty_table()


def received(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows of a DataFrame of Spark Connect 3.5, as they come."""
    remote: Any = frame
    client, schema = remote.sparkSession.client, schema_of(frame)
    for part in client.to_table_as_iterator(remote._plan.to_proto(client)):
        if isinstance(part, pa.Table):  # among them is a schema
            yield from part.cast(schema).to_batches()


def can_store(session: SparkSession | DataFrame) -> bool:
    """Whether the executors can keep rows, so that they are never computed again; not on Spark Connect 3.5.

    It has ``persist``, but Spark computes what is lost of that anew: another listing, or other metadata.
    """
    return not (is_before_4() and is_connect(session))


def loaded(session: SparkSession, table: pa.Table) -> DataFrame:
    """A DataFrame of rows that the executors keep; few stay with the driver, and on Spark Connect 3.5, its server."""
    struct = struct_of(table.schema)
    if not is_before_4():
        frame = session.createDataFrame(table, struct)
        stays = table.num_rows <= FEW_ROWS and not is_connect(session)
        return frame if stays else kept_rows(frame)
    rows = table.cast(_as_spark_has_it(struct))
    if is_connect(session):
        return _kept_by_the_server(session, rows, struct) if rows.num_rows else session.createDataFrame([], struct)
    frame = _through_the_jvm(session, rows, struct)
    return frame if rows.num_rows <= FEW_ROWS else kept_rows(frame)


def _as_spark_has_it(struct: StructType) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    schema: pa.Schema = to_arrow_schema(struct)
    return schema


def _through_the_jvm(session: SparkSession, rows: pa.Table, struct: StructType) -> DataFrame:
    """What ``createDataFrame`` does with Arrow from Spark 4 on."""
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    classic: Any = session
    jvm, java_session = classic._jvm, classic._jsparkSession
    read = jvm.PythonSQLUtils.readArrowStreamFromFile
    batches = rows.to_batches(max_chunksize=classic._jconf.arrowMaxRecordsPerBatch())
    there = classic.sparkContext._serialize_to_jvm(batches, ArrowStreamSerializer(), read, jvm.ArrowIteratorServer)
    return DataFrame(jvm.PythonSQLUtils.toDataFrame(there, struct.json(), java_session), session)


def _kept_by_the_server(session: SparkSession, rows: pa.Table, struct: StructType) -> DataFrame:
    """Plans name these rows by their hash: they are sent once, whatever their size.

    The server reads one batch only, and says nothing of others: all rows are in one, and are counted there.
    """
    from pyspark.sql.connect import plan as plans
    from pyspark.sql.connect.dataframe import DataFrame as RemoteDataFrame

    remote, plan, frames = cast("Any", session), cast("Any", plans), cast("Any", RemoteDataFrame)
    name = remote._cache_local_relation(plan.LocalRelation(rows.combine_chunks(), schema=struct.json()))
    frame: DataFrame = frames.withPlan(plan.CachedLocalRelation(name), session)
    if (there := int(frame.count())) != rows.num_rows:
        raise SafetyError(f"the Spark Connect server has {there:,} of {rows.num_rows:,} rows that were sent to it")
    return frame


# ---- settings -------------------------------------------------------------------------------------------
def settings_of(session: SparkSession) -> Mapping[str, str]:
    """What is set in a session; the statement ``SET`` would hide secrets."""
    conf: Any = session.conf
    if hasattr(conf, "getAll"):
        return dict(conf.getAll)
    if is_connect(session):
        from pyspark.sql.connect import proto

        everything = proto.ConfigRequest.Operation(get_all=proto.ConfigRequest.GetAll())
        return dict(conf._client.config(everything).pairs)
    converters = cast("Any", session)._jvm.scala.collection.JavaConverters
    return dict(converters.mapAsJavaMap(conf._jconf.getAll()))


@contextmanager
def strictly(frame: DataFrame) -> Iterator[None]:
    """What is built inside fails where a value does not fit; a session in which someone chose otherwise keeps that.

    An expression remembers how it was built; in Spark Connect, only when it is computed.
    """
    session = frame.sparkSession
    if not is_before_4() or ANSI in settings_of(session):
        yield
        return
    if is_connect(session):
        raise ConfigurationError(
            f"predicates need {ANSI} in a session of Spark Connect 3.5: set it to true, or to false if a value "
            "that does not fit may count as null"
        )
    with _ONE_AT_A_TIME:
        session.conf.set(ANSI, "true")
        try:
            yield
        finally:
            session.conf.unset(ANSI)


# ---- tags -----------------------------------------------------------------------------------------------
def add_tag(session: SparkSession, tag: str) -> None:
    """Tags the jobs that this thread starts from now on, in a classic session; their tasks can be interrupted."""
    if is_before_4():
        session.sparkContext.addJobTag(tag)
        session.sparkContext.setInterruptOnCancel(True)
    else:
        session.addTag(tag)


def remove_tag(session: SparkSession, tag: str) -> None:
    """Ends that."""
    if is_before_4():
        session.sparkContext.removeJobTag(tag)
    else:
        session.removeTag(tag)


def interrupt_tag(session: SparkSession, tag: str) -> None:
    """Ends the jobs that have a tag."""
    if is_before_4():
        session.sparkContext.cancelJobsWithTag(tag)
    else:
        session.interruptTag(tag)


def inheriting(session: SparkSession, function: Callable[[], T]) -> Callable[[], T]:
    """The function for a thread that has the tags and properties of this one."""
    from pyspark import inheritable_thread_target

    if is_before_4():
        return cast("Callable[[], T]", inheritable_thread_target(function))
    inherits = inheritable_thread_target(session)
    if not callable(inherits):  # where threads are not pinned, it is the session itself
        return function
    return cast("Callable[[], T]", inherits(function))
