"""The work of all tasks, added up on the driver as each of them ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from nessie_gc_core.model.work import Work

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession


class _Sum(AccumulatorParam[Work]):
    def zero(self, value: Work) -> Work:
        """No work."""
        return Work()

    def addInPlace(self, value1: Work, value2: Work) -> Work:  # noqa: N802 - Spark calls it so
        """The work of both."""
        return value1 + value2


def added_up(session: SparkSession) -> Accumulator[Work]:
    """An accumulator of a classic session."""
    return session.sparkContext.accumulator(Work(), _Sum())
