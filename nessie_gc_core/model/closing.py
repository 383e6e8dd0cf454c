"""What must be closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
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


def first_of(stream: Iterator[T]) -> T | None:
    """The first of a stream, which is then closed; ``None``: it is empty."""
    try:
        return next(stream, None)
    finally:
        if isinstance(stream, Generator):
            stream.close()
