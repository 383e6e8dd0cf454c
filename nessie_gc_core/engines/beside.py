"""Two things at the same time on one engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

_SECONDS = 0.5
"""How long an end takes at most until it is asked for again."""


@contextmanager
def in_thread(function: Callable[[], T], end: Callable[[], None]) -> Iterator[Callable[[], T]]:
    """Runs a function in a thread of its own while the block runs, and gives what waits for its result.

    Args:
        function: called once, with the context variables of the caller.
        end: asks it to end early, as often as that takes; called where the block ends in an error.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
            future.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="beside", daemon=True)
    thread.start()
    try:
        yield future.result
    except BaseException:
        while thread.is_alive():
            end()
            thread.join(_SECONDS)
        raise
    thread.join()
