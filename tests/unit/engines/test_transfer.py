"""What goes into a session of Spark and out of it, whatever its version: rows of every type, settings, predicates."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from nessie_gc_core.engines.spark.session import check_version, functions_of, is_connect
from nessie_gc_core.engines.spark.transfer import (
    ANSI,
    can_store,
    collected,
    is_before_4,
    loaded,
    received,
    schema_of,
    settings_of,
    strictly,
    struct_of,
)
from nessie_gc_core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "spark.sql.session.timeZone"
NOW = datetime(2026, 3, 29, 1, 30, 0, 123_457, tzinfo=UTC)
"""In a night in which clocks in Europe go forward."""
VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string(), ["", "quote'\"\\ \n%`😀", "\0", None]),
    (pa.int64(), [-(2**63), 2**63 - 1, 2**53 + 1, 0, None]),
    (pa.int32(), [-(2**31), 2**31 - 1, None]),
    (pa.bool_(), [True, False, None]),
    (pa.binary(), [b"", b"\0\xff", None]),
    (pa.float64(), [1.5, -0.0, 1e308, None]),
    (pa.timestamp("us", tz="UTC"), [NOW, datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, tzinfo=UTC), None]),
    (pa.list_(pa.string()), [["a", None], [], None]),
    (pa.struct([("number", pa.int64()), ("time", pa.timestamp("us", tz="UTC"))]), [{"number": 1, "time": NOW}, None]),
    (pa.list_(pa.struct([("path", pa.string())])), [[{"path": "a"}, None, {"path": None}], None]),
]
MANY = 25_000
"""More rows than Spark takes in one batch."""


@pytest.fixture(
    params=[
        pytest.param("spark", marks=pytest.mark.spark),
        pytest.param("connect", marks=[pytest.mark.spark, pytest.mark.server]),
    ]
)
def session(request: pytest.FixtureRequest) -> SparkSession:
    found: SparkSession = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["UTC", "Europe/Berlin", "Pacific/Chatham"])
def zone(request: pytest.FixtureRequest, session: SparkSession) -> Iterator[None]:
    before = str(session.conf.get(ZONE))
    session.conf.set(ZONE, request.param)
    yield
    session.conf.set(ZONE, before)


@pytest.mark.usefixtures("zone")
def test_values_of_every_type_come_back_as_they_went_in(session: SparkSession) -> None:
    schema = pa.schema([pa.field("row", pa.int32(), nullable=False)] + [pa.field(str(t), t) for t, _ in VALUES])
    longest = max(len(values) for _, values in VALUES)
    columns = [pa.array([*values, *[None] * (longest - len(values))], type_) for type_, values in VALUES]
    rows = pa.table([pa.array(range(longest), pa.int32()), *columns], schema=schema)
    frame = loaded(session, rows)
    assert rows.equals(collected(frame).cast(schema).sort_by("row"))
    assert schema.names == schema_of(frame).names == struct_of(schema).names
    assert schema.types == schema_of(frame).types


def test_rows_of_many_batches_are_all_there(session: SparkSession) -> None:
    batches = [pa.record_batch({"n": pa.array(range(start, start + 1000))}) for start in range(0, MANY, 1000)]
    frame = loaded(session, pa.Table.from_batches(batches))
    assert MANY == frame.count()
    assert list(range(MANY)) == sorted(collected(frame).column("n").to_pylist())


def test_no_rows_have_a_schema(session: SparkSession) -> None:
    schema = pa.schema([pa.field("n", pa.int64()), pa.field("time", pa.timestamp("us", tz="UTC"))])
    nothing = loaded(session, schema.empty_table())
    assert schema.empty_table() == collected(nothing).cast(schema)
    one = loaded(session, pa.table({"n": [1], "time": [NOW]}, schema))
    assert schema.empty_table() == collected(one.where("n = 2")).cast(schema)


def test_rows_can_be_received_as_they_come_where_executors_cannot_keep_them(session: SparkSession) -> None:
    frame = session.range(MANY)
    assert (is_before_4() and is_connect(session)) is not can_store(session) is can_store(frame)
    if not can_store(session):
        assert list(range(MANY)) == [row for batch in received(frame) for row in batch.column("id").to_pylist()]


def test_settings_of_a_session_are_all_that_are_set(session: SparkSession) -> None:
    session.conf.set("spark.sql.catalog.nowhere.uri", "a = 'b', more")
    try:
        assert "a = 'b', more" == settings_of(session)["spark.sql.catalog.nowhere.uri"]
    finally:
        session.conf.unset("spark.sql.catalog.nowhere.uri")
    assert "spark.sql.catalog.nowhere.uri" not in settings_of(session)


@pytest.mark.parametrize("predicate", ["n + 1 > 0", "cast(text AS INT) IS NULL", "text = 1"])
def test_a_value_that_does_not_fit_is_an_error_and_not_null(session: SparkSession, predicate: str) -> None:
    rows = loaded(session, pa.table({"n": [2**63 - 1], "text": ["one"]}))
    before = settings_of(session).get(ANSI)
    with strictly(rows):
        frame = rows.where(predicate)
        _ = frame.schema
    assert before == settings_of(session).get(ANSI)
    with pytest.raises(Exception, match=r"ARITHMETIC_OVERFLOW|CAST_INVALID_INPUT"):  # of Spark, or of Spark Connect
        frame.count()


@pytest.mark.spark
def test_who_turned_strict_values_off_keeps_that(spark: SparkSession) -> None:
    spark.conf.set(ANSI, "false")
    try:
        with strictly(spark.range(1)):
            frame = spark.range(1).where(functions_of(spark).expr("cast('one' AS INT) IS NULL"))
        assert 1 == frame.count()
    finally:
        spark.conf.unset(ANSI)


@pytest.mark.parametrize("version", ["3.5.0", "3.5.9", "4.0.0", "4.1.4", "4.1.0.dev1"])
def test_a_spark_that_is_supported_is_taken(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4", "3.4.1-amzn-0"])
def test_an_older_one_is_refused_in_one_line(version: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^Spark {version} is too old: use Spark 3.5, 4.0 or 4.1$"):
        check_version(version)


def test_an_older_pyspark_is_refused_before_it_starts(tmp_path: Any) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("__version__ = '3.3.2'\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from nessie_gc_core.engines.spark.session import open_session\n"
        "try:\n    open_session(None, {})\nexcept ValueError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, check=True)
    assert "Spark 3.3.2 is too old: use Spark 3.5, 4.0 or 4.1\n" == done.stdout
