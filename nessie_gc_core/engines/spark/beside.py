"""Jobs beside other jobs of a classic session."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from nessie_gc_core.dataset import Beside
from nessie_gc_core.engines.beside import in_thread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def beside_on_spark(session: SparkSession, function: Callable[[], T]) -> AbstractContextManager[Beside[T], bool | None]:
    """Runs a function in a thread that has the tags and properties of this one, so that what ends these ends it too."""
    from pyspark import inheritable_thread_target

    tag = f"nessie-gc-{uuid.uuid4()}"

    def tagged() -> T:
        session.addTag(tag)
        try:
            return function()
        finally:
            session.removeTag(tag)

    def end() -> None:
        session.interruptTag(tag)

    inherits = inheritable_thread_target(session)
    run = inherits(tagged) if callable(inherits) else tagged  # where threads are not pinned, it is the session itself
    return in_thread(run, end)
