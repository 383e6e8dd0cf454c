"""What a server answers, within limits: its size once it is unpacked, its time, and the number of its pages (S33)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from nessie_gc_core.errors import ConfigurationError, LimitExceededError, RepositoryError
from nessie_gc_core.model.text import duration_text, plural

MAX_BYTES = 256 * 1024 * 1024
"""The size of one response by default, unpacked; a page of Nessie has about one megabyte."""
TIMEOUT_SECONDS = 600.0
"""How long one response may take by default, from the request to its last byte."""
MAX_PAGES = 1_000_000
"""How many pages one listing may have by default."""
MAX_EMPTY_PAGES = 100
"""How many pages without a row may follow each other by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseLimits:
    """What is accepted from a server; the names are those of the options."""

    max_response_bytes: int = MAX_BYTES
    """Size of one response, unpacked."""
    response_timeout_seconds: float = TIMEOUT_SECONDS
    """Time of one response, however slowly it comes."""
    max_pages: int = MAX_PAGES
    """Pages of one listing."""
    max_empty_pages: int = MAX_EMPTY_PAGES
    """Pages without rows that follow each other."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            whole = name != "response_timeout_seconds"
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value <= 0:
                kind = "whole number" if whole else "number"
                raise ConfigurationError(f"option {name!r} cannot be {value!r}; expected a positive {kind}")


def joined(parts: Iterable[bytes], what: str, limits: ResponseLimits) -> bytes:
    """The parts of a response, which are read one by one.

    Raises:
        LimitExceededError: they are too large.
    """
    found, size = [], 0
    for part in parts:
        size += len(part)
        if size > limits.max_response_bytes:
            raise LimitExceededError(
                f"{what} has more than {plural(limits.max_response_bytes, 'byte')} once it is unpacked; check the "
                "server, or raise the option max_response_bytes"
            )
        found.append(part)
    return b"".join(found)


class Deadline:
    """Ends the connection from which a response comes too slowly, wherever its reader waits.

    A time limit of a socket begins anew with each byte, so that one byte a minute would keep a reader forever.
    """

    def __init__(self, what: str, limits: ResponseLimits) -> None:
        self._what = what
        self._seconds = limits.response_timeout_seconds
        self._timer = threading.Timer(self._seconds, self._expire)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_over = False
        self.expired = False

    def __enter__(self) -> Self:
        self._before = _CURRENT.set(self)
        self._timer.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_over, self._socket = True, None
        self._timer.cancel()
        _CURRENT.reset(self._before)
        if self.expired and not isinstance(error, LimitExceededError):  # a connection that ends may look like its end
            raise LimitExceededError(
                f"{self._what} took longer than {duration_text(self._seconds)}; check the server, or raise the option "
                "response_timeout_seconds"
            ) from error

    def watch(self, connection: socket.socket) -> None:
        """Names the connection to end."""
        with self._lock:
            self._socket = connection
            if self.expired:
                _end(connection)

    def _expire(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self.expired = True
            if self._socket is not None:
                _end(self._socket)


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def watch(connection: socket.socket | None) -> None:
    """Puts a connection, from which a response is about to be read, under the deadline of this thread, if any."""
    deadline = _CURRENT.get()
    if deadline is not None and connection is not None:
        deadline.watch(connection)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        connection.shutdown(socket.SHUT_RDWR)


class PageCount:
    """The pages of one listing, which must come to an end that can be trusted."""

    def __init__(self, what: str, limits: ResponseLimits) -> None:
        self._what = what
        self._limits = limits
        self._tokens: set[int] = set()
        self._pages = self._empty = 0

    def follow(self, token: str, rows: int) -> None:
        """Takes the token of the next page, and how many rows the page before it had.

        Raises:
            RepositoryError: it led to a page before, so that there is no end.
            LimitExceededError: there are too many pages, or too many without rows.
        """
        self._pages += 1
        self._empty = 0 if rows else self._empty + 1
        if hash(token) in self._tokens:
            raise RepositoryError(f"{self._what} goes in circles: the token of a page comes again; check the server")
        self._tokens.add(hash(token))
        if self._empty > self._limits.max_empty_pages:
            raise LimitExceededError(
                f"{self._what} has more than {self._limits.max_empty_pages:,} empty pages in a row; check the server, "
                "or raise the option max_empty_pages"
            )
        if self._pages >= self._limits.max_pages:
            raise LimitExceededError(
                f"{self._what} has more than {self._limits.max_pages:,} pages; check the server, or raise the option "
                "max_pages"
            )
