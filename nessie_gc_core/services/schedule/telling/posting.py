"""One POST that ends in time, whatever the other side sends, and how slowly."""

from __future__ import annotations

import socket
import ssl
import threading
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from types import TracebackType
from urllib.error import HTTPError
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from nessie_gc_core.model.text import duration_text
from nessie_gc_core.services.schedule.bounded_server import end_connection


def post(url: str, body: bytes, *, seconds: float) -> int:
    """Posts JSON once, follows no redirect, and gives the status of the answer.

    Args:
        url: the address.
        body: the JSON.
        seconds: how long the attempt takes at most, from the moment that there is a connection, and, before that, for
            each address of the host.

    Raises:
        TimeoutError: there was no whole answer in time.
        OSError, HTTPException, ValueError: the address cannot be reached; the text may show it.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "nessie-gc"}
    request = Request(url, data=body, headers=headers, method="POST")
    with _Deadline(seconds) as deadline:
        opener = build_opener(_NoRedirects, _Ended(deadline))
        try:
            with opener.open(request, timeout=seconds) as answer:
                status = int(answer.status)
                answer.read(1)
        except HTTPError as error:
            error.close()
            status = error.code
        except Exception:
            deadline.check()
            raise
        deadline.check()
    return status


class _Deadline:
    """Ends connections when its time is over: a socket's own timeout counts from each byte."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._connections = list[socket.socket]()
        self._is_over = False
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def holds_for(self, connection: socket.socket) -> None:
        """Takes a connection, as another descriptor of the same: TLS takes the first one away."""
        with self._lock:
            self._connections.append(connection.dup())
            if self._is_over:
                end_connection(connection)

    def check(self) -> None:
        """Raises an error if the time is over: what came until then may look like a whole answer."""
        if self._is_over:
            raise TimeoutError(f"no whole answer in {duration_text(self._seconds)}")

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            for connection in self._connections:
                end_connection(connection)


def _ended_by(deadline: _Deadline, kind: type[HTTPConnection]) -> type[HTTPConnection]:
    """The same kind of connection with a deadline, which counts while it speaks to a proxy or begins TLS, too."""

    class Ended(kind):  # type: ignore[valid-type, misc]  # the class is the caller's
        _socket: socket.socket | None = None

        @property
        def sock(self) -> socket.socket | None:
            return self._socket

        @sock.setter
        def sock(self, found: socket.socket | None) -> None:
            if found is not None and not isinstance(found, ssl.SSLSocket):  # which has one that is known already
                deadline.holds_for(found)
            self._socket = found

    return Ended


class _Ended(HTTPHandler, HTTPSHandler):
    """Opens connections that end with a deadline."""

    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_ended_by(self._deadline, HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_ended_by(self._deadline, HTTPSConnection), req)


class _NoRedirects(HTTPRedirectHandler):
    """An address that moved has not taken anything."""

    def redirect_request(self, *_: object) -> None:
        """Follows none."""
