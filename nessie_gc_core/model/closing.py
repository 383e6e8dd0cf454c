"""What must be closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

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
