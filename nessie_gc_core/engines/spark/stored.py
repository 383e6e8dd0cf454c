"""Rows that Spark keeps once they are computed: where, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nessie_gc_core.engines.spark.rows import Rows
from nessie_gc_core.engines.spark.session import CHECKPOINTS, functions_of, is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS = "nessie_gc_rows"


def stored(frame: DataFrame) -> tuple[DataFrame, Rows]:
    """The same rows, computed now and kept, and their number, which a classic session counts on the way."""
    if is_connect(frame):
        kept = _kept(frame)
        return kept, Rows(lambda: int(kept.count()))
    f = functions_of(frame)
    watched = frame.observe(_ROWS, f.count(f.lit(1)).alias(_ROWS))
    kept = _kept(watched)
    observed = cast("Any", watched)._jdf.queryExecution().observedMetrics()
    return kept, Rows.known(int(observed.apply(_ROWS).getLong(0)))


def _kept(frame: DataFrame) -> DataFrame:
    """In the directory of the cluster where it has one, so that they outlive any executor; else on the executors.

    A run that needs rows of an executor that is gone fails: they are never computed again, because a second listing, or
    metadata that was read again, could differ from the first (S5).
    """
    return frame.checkpoint(eager=True) if has_directory(frame) else frame.localCheckpoint(eager=True)


def has_directory(frame: DataFrame) -> bool:
    """Whether the session has a reliable directory for checkpoints (``spark.checkpoint.dir``, ``setCheckpointDir``)."""
    session = frame.sparkSession
    if is_connect(session):
        return bool(session.conf.get(CHECKPOINTS, None))
    context = cast("Any", session.sparkContext)
    return bool(context._jsc.sc().getCheckpointDir().isDefined())
