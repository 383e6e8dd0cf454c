"""What is started and stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Startable(ABC):
    """A server; as a context it runs."""

    @abstractmethod
    def start(self) -> None:
        """Starts it; returns when it can be used."""

    @abstractmethod
    def stop(self) -> None:
        """Stops it; may be called twice."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
