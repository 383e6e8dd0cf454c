"""What proxies on loopback share: they hand requests on to a server as they came, and its answers back."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

_NOT_HANDED_ON = frozenset({"connection", "expect", "keep-alive", "transfer-encoding", "content-length"})
_TIMEOUT_SECONDS = 60


class Answer(NamedTuple):
    """What a client gets."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


class HandingOn(BaseHTTPRequestHandler):
    """A handler that can ask the server behind it.

    Signatures hold, because the server gets the requests with the host and the path that clients signed.
    """

    protocol_version = "HTTP/1.1"
    endpoint: ClassVar[str]
    """The base URL of the server."""
    _upstream: HTTPConnection | None = None

    @abstractmethod
    def respond(self) -> None:
        """Answers the request, of whatever method."""

    def do_GET(self) -> None:
        """What the standard library calls."""
        self.respond()

    do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = do_GET  # noqa: N815 - the names that the standard library calls

    def read_body(self) -> bytes:
        """What the client sent."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue  # trailers
        return b"".join(chunks)

    def hand_on(self, body: bytes) -> Answer:
        """What the server answers."""
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in _NOT_HANDED_ON]
        return self.ask(self.command, self.path, headers, body)

    def ask(self, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """What the server answers to another request."""
        for _ in range(2):  # the server may have closed a connection that was not used for a while
            if self._upstream is None:
                address = urlsplit(self.endpoint)
                self._upstream = HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT_SECONDS)
            try:
                self._upstream.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
                for name, value in headers:
                    self._upstream.putheader(name, value)
                self._upstream.putheader("Content-Length", str(len(body)))
                self._upstream.endheaders(body)
                with self._upstream.getresponse() as found:
                    return Answer(found.status, found.getheaders(), found.read())
            except (HTTPException, OSError):
                self._upstream.close()
                self._upstream = None
        return Answer(502, [("Content-Type", "text/plain")], b"the server behind the proxy does not answer")

    def say(self, answer: Answer) -> None:
        """Gives the client an answer."""
        self.send_response_only(answer.status)
        is_head = self.command == "HEAD"
        for name, value in answer.headers:
            if name.lower() not in _NOT_HANDED_ON or (is_head and name.lower() == "content-length"):
                self.send_header(name, value)
        if not is_head:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(answer.body)

    def finish(self) -> None:
        """Closes the way to the server too."""
        if self._upstream is not None:
            self._upstream.close()
        if self.connection.fileno() >= 0:
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class ProxyServer(ThreadingHTTPServer):
    """Answers with a thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that are gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]
