"""Two things at the same time on one engine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

from nessie_gc_core.dataset import Beside
from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)

T = TypeVar("T")

BESIDE = "beside"
"""The name of such a thread."""
_SECONDS = 0.5
"""How long an end takes at most until it is asked for again."""


@contextmanager
def in_thread(function: Callable[[], T], end: Callable[[], None] | None) -> Iterator[Beside[T]]:
    """Runs a function in its own thread while the block runs.

    Args:
        function: called once, with the context variables of the caller.
        end: asks it to end early, as often as that takes; called where the block ends in an error. ``None``: nothing
            can end it, so that such an error leaves it alone, and does not wait for it.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
            future.set_exception(error)

    def check() -> None:
        if future.done():
            future.result()

    thread = threading.Thread(target=copy_context().run, args=(run,), name=BESIDE, daemon=True)
    thread.start()
    try:
        yield Beside(result=future.result, check=check)
    except BaseException as error:
        if end is None:
            future.add_done_callback(_log_failure)
            raise
        while thread.is_alive():
            end()
            thread.join(_SECONDS)
        if future.exception() is not error:
            _log_failure(future)
        raise
    thread.join()


def _log_failure(future: Future[T]) -> None:
    if (error := future.exception()) is not None:
        log.info("a task that ran at the same time failed too: %s", one_line(error))
