"""What must be closed."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)

T = TypeVar("T")


class Closing(ABC):
    """A context manager that closes its resources on exit."""

    @abstractmethod
    def close(self) -> None:
        """Releases its resources; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def only_warned(problem: str) -> Iterator[None]:
    """What the block does ends no run and hides no other error: one of its own is a warning in the log.

    Args:
        problem: what it means that the block fails; the error follows.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, what a run is for is done, or has failed already
        log.warning("%s: %s", problem, one_line(error))


@contextmanager
def closed(stream: Iterator[T]) -> Iterator[Iterator[T]]:
    """A stream that is closed after the block, if it is one of those that can be."""
    try:
        yield stream
    finally:
        if isinstance(stream, Generator):
            stream.close()


def first_of(stream: Iterator[T]) -> T | None:
    """The first of a stream, which is then closed; ``None``: it is empty."""
    with closed(stream):
        return next(stream, None)
