"""What Spark calls on an executor."""

from __future__ import annotations

import gc
import sys
import zipimport
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import BatchFunction, task_attempt
from nessie_gc_core.model.work import Work

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator


class ArrowTask:
    """A batch function as ``mapInArrow`` wants it; tells the function which attempt of its task this is.

    What a task did counts when it has ended, also that of an attempt whose rows Spark drops.
    """

    def __init__(self, function: BatchFunction, work: Accumulator[Work] | None = None) -> None:
        """Takes the function, and where its work is added up; ``None``: nowhere."""
        self._function = function
        self._work = work

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs the function on the batches of one partition; an empty partition costs nothing."""
        from pyspark import TaskContext

        context = TaskContext.get()
        token = task_attempt.set(context.attemptNumber() if context is not None else 0)
        before = METER.work()
        try:
            yield from self._function(batch for batch in batches if batch.num_rows)
        finally:
            if self._work is not None:
                self._work.add(METER.work() - before)
            task_attempt.reset(token)
            forget_zip_importers()
            freeze_modules()


_FROZEN = [0]
"""How many modules there were when they were frozen last."""


def freeze_modules() -> None:
    """Makes the end of every task fast.

    After each task Spark has Python look through all its objects for garbage: for what stays anyway, all that modules
    hold, that takes longer than most of our tasks. It is left out from then on, when more modules have come.
    """
    modules = len(sys.modules)
    if modules > _FROZEN[0]:
        _FROZEN[0] = modules
        gc.collect()
        gc.freeze()


def forget_zip_importers() -> None:
    """Makes the next task of this worker start fast.

    Spark invalidates Python's import caches before every task, and an importer of a zip file then reads the whole
    directory of its file again: Spark's own archives cost more than most of our tasks. An importer that is not
    there has nothing to read; Python makes it anew, from what it knows, when something is imported.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[path]
