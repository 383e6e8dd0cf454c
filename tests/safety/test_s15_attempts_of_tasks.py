"""S15: what an earlier attempt of a task deleted counts as deleted, whatever had to be tried again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from collecting import spark_engine

from nessie_gc_core.algorithms.delete import dealt_out
from nessie_gc_core.algorithms.planned import PlanFiles
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.batches import Row, to_batches, to_rows
from nessie_gc_core.model.relations import VERDICTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 200


def rows() -> Iterator[Row]:
    for number in range(FILES):
        key = f"data/{number}.parquet"
        yield ("file:/b/t/", key, "file:///b/t/", key, 1, 0, None, 0, "UNREFERENCED", None, number % 1024, False)


def test_s15_rows_that_are_dealt_out_are_the_same_rows(engine: Engine) -> None:
    dealt = dealt_out(engine.dataset(to_batches(rows(), VERDICTS), VERDICTS))
    keys = sorted(str(key) for batch in dealt.batches() for (key,) in to_rows(batch, "key"))
    assert sorted(f"data/{number}.parquet" for number in range(FILES)) == keys


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["spark", pytest.param("connect", marks=pytest.mark.server)])
def test_s15_a_stage_that_deletes_reads_no_shuffle_so_its_tasks_count_their_attempts_on(
    kind: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fetch that fails starts a whole stage anew, with attempts that count from zero: it must not be this one."""
    session: SparkSession = request.getfixturevalue(kind)
    verdicts = spark_engine(session).dataset(to_batches(rows(), VERDICTS), VERDICTS)
    capsys.readouterr()
    dealt_out(verdicts).flat_map(PlanFiles()).frame.explain()  # type: ignore[attr-defined]  # Spark's own plan
    plan = capsys.readouterr().out
    assert "MapInArrow" in plan
    assert "Exchange" not in plan
    verdicts.spread(["key"]).frame.explain()  # type: ignore[attr-defined]  # Spark's own plan
    assert "Exchange" in capsys.readouterr().out
