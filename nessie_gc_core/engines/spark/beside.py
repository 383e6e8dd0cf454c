"""Jobs beside other jobs of a classic session, and the cancellation of some of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from nessie_gc_core.dataset import Beside
from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.engines.spark.transfer import add_tag, inheriting, interrupt_tag, remove_tag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def beside_on_spark(session: SparkSession, function: Callable[[], T]) -> AbstractContextManager[Beside[T], bool | None]:
    """Runs a function in a thread that has the tags and properties of this one, so that what ends these ends it too."""
    tag = _new_tag()

    def tagged() -> T:
        add_tag(session, tag)
        try:
            return function()
        finally:
            remove_tag(session, tag)

    def end() -> None:
        interrupt_tag(session, tag)

    return in_thread(inheriting(session, tagged), end)


@contextmanager
def cancellable(session: SparkSession) -> Iterator[Callable[[], None]]:
    """Tags the jobs that this thread starts in the block; what it yields cancels them, from any thread.

    What a task is doing at that moment, such as a request to a store, is not undone. The tag is one of the context, so
    that it counts in the sessions that Iceberg's actions make of this one as well.
    """
    tag, context = _new_tag(), session.sparkContext
    context.addJobTag(tag)
    try:
        yield partial(context.cancelJobsWithTag, tag)
    finally:
        context.removeJobTag(tag)


def _new_tag() -> str:
    return f"nessie-gc-{uuid.uuid4()}"
