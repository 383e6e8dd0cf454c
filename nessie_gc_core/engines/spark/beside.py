"""Jobs beside other jobs of a classic session."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar

from nessie_gc_core.dataset import Beside
from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.engines.spark.transfer import add_tag, inheriting, interrupt_tag, remove_tag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def beside_on_spark(session: SparkSession, function: Callable[[], T]) -> AbstractContextManager[Beside[T], bool | None]:
    """Runs a function in a thread that has the tags and properties of this one, so that what ends these ends it too."""
    tag = f"nessie-gc-{uuid.uuid4()}"

    def tagged() -> T:
        add_tag(session, tag)
        try:
            return function()
        finally:
            remove_tag(session, tag)

    def end() -> None:
        interrupt_tag(session, tag)

    return in_thread(inheriting(session, tagged), end)
