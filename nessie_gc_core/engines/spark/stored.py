"""Rows that Spark keeps once they are computed: where, and how many there are."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from nessie_gc_core.engines.spark.rows import Rows
from nessie_gc_core.engines.spark.session import CHECKPOINTS, functions_of, is_connect
from nessie_gc_core.model.text import one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_ROWS = "nessie_gc_rows"


def stored(frame: DataFrame) -> tuple[DataFrame, Rows]:
    """The same rows, computed now and kept, and their number, which a classic session counts on the way."""
    if is_connect(frame):
        kept = kept_rows(frame)
        return kept, Rows(lambda: int(kept.count()))
    f = functions_of(frame)
    watched = frame.observe(_ROWS, f.count(f.lit(1)).alias(_ROWS))
    kept = kept_rows(watched)
    observed = cast("Any", watched)._jdf.queryExecution().observedMetrics()
    return kept, Rows.known(int(observed.apply(_ROWS).getLong(0)))


def kept_rows(frame: DataFrame) -> DataFrame:
    """In the directory of the cluster where it has one, so that they outlive any executor; else on the executors.

    A run that needs rows of an executor that is gone fails: they are never computed again, because a second listing, or
    metadata that was read again, could differ from the first (S5).
    """
    return frame.checkpoint(eager=True) if has_directory(frame) else frame.localCheckpoint(eager=True)


def remove_stored(session: SparkSession) -> None:
    """Removes what was written to the directory for checkpoints of a session that ends: it has a folder of its own.

    Spark's own cleaner removes what it finds unused while the session runs, and leaves the rest for good.
    """
    if is_connect(session):
        return
    context = cast("Any", session.sparkContext)
    folder = context._jsc.sc().getCheckpointDir()
    if not folder.isDefined():
        return
    path = context._jvm.org.apache.hadoop.fs.Path(folder.get())
    try:
        path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)
    except Exception as error:  # noqa: BLE001 - the class is that of Py4J; the run has its result all the same
        log.warning("the checkpoints in %s could not be removed; do it by hand: %s", folder.get(), one_line(error))


def has_directory(frame: DataFrame) -> bool:
    """Whether the session has a reliable directory for checkpoints (``spark.checkpoint.dir``, ``setCheckpointDir``)."""
    session = frame.sparkSession
    if is_connect(session):
        return bool(session.conf.get(CHECKPOINTS, None))
    context = cast("Any", session.sparkContext)
    return bool(context._jsc.sc().getCheckpointDir().isDefined())
