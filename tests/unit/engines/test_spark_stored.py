"""What Spark keeps of rows that were computed, and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from collecting import spark_engine
from elsewhere import NUMBERS

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.engines.spark.session import parallelism_of
from nessie_gc_core.engines.spark.stored import has_directory, remove_stored, stored
from nessie_gc_core.engines.spark.transfer import FEW_ROWS
from nessie_gc_core.model.batches import to_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def directory(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A directory for checkpoints, for one test only."""
    context = spark.sparkContext._jsc.sc()
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    yield tmp_path
    jvm: Any = spark.sparkContext._jvm
    getattr(context, "checkpointDir_$eq")(jvm.scala.Option.empty())


def numbers(spark: SparkSession, count: int) -> Dataset:
    return spark_engine(spark).dataset(to_batches(((number,) for number in range(count)), NUMBERS), NUMBERS)


@pytest.mark.parametrize("count", [0, 1, FEW_ROWS, FEW_ROWS + 1])
def test_rows_are_counted_while_they_are_stored(spark: SparkSession, count: int) -> None:
    kept = numbers(spark, count).spread(["number"]).distinct(["number"]).checkpoint()
    assert kept.count() == count == kept.to_frame().count()  # type: ignore[attr-defined]  # a DataFrame


def test_rows_that_a_filter_leaves_out_do_not_count(spark: SparkSession) -> None:
    kept, rows = stored(spark.range(100).where("id % 10 = 0").dropDuplicates(["id"]))
    assert rows.most() == kept.count() == 10
    assert stored(spark.range(100).where("false"))[1].most() == 0


def test_a_reliable_directory_is_used(spark: SparkSession, directory: Path) -> None:
    assert has_directory(spark.range(1))
    kept = numbers(spark, 20).distinct(["number"]).checkpoint()
    assert kept.count() == 20
    assert sum(path.name.startswith("part-") for path in directory.rglob("*")) > 0


def test_what_was_written_there_goes_with_a_session_of_our_own(spark: SparkSession, directory: Path) -> None:
    kept = numbers(spark, 20).distinct(["number"]).checkpoint()
    assert kept.count() == 20
    (directory / "of another").touch()
    remove_stored(spark)
    assert ["of another"] == [path.name for path in directory.iterdir()]


def test_without_one_the_executors_keep_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    assert not has_directory(spark.range(1))
    assert numbers(spark, 20).distinct(["number"]).checkpoint().count() == 20


def test_the_parallelism_is_that_of_a_range(spark: SparkSession) -> None:
    assert parallelism_of(spark) == spark.range(10_000).rdd.getNumPartitions()
