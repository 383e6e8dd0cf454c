"""Hosts that nobody configured, and what reaches them.

``evil_host``: one that data names; every name below ``evil.example`` leads to a port of this machine, and is counted.
``recording_host`` and ``sending_on``: one that takes down what it is sent, and one that sends everybody there.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

DOMAIN = "evil.example"


@dataclass
class EvilHost:
    """What arrived there, and what was looked up."""

    connections: list[object] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    @property
    def is_untouched(self) -> bool:
        return not self.connections and not self.looked_up


@contextlib.contextmanager
def evil_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[EvilHost]:
    """Runs it; whatever connects is closed at once."""
    found, real = EvilHost(), socket.getaddrinfo
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = server.accept()
                    found.connections.append(address)
                    connection.close()

        def resolve(host: Any, asked: Any, *more: Any, **names: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if isinstance(name, str) and name.rstrip(".").endswith(DOMAIN):
                found.looked_up.append(name)
                return real("127.0.0.1", port, *more, **names)
            return real(host, asked, *more, **names)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@dataclass
class Sent:
    """A host, and all requests that came there: each with its first line and its headers, as one text."""

    endpoint: str
    requests: list[str] = field(default_factory=list)

    def has(self, secret: str) -> bool:
        return any(secret in request for request in self.requests)


@contextlib.contextmanager
def recording_host(body: bytes = b"from somewhere else", tls: ssl.SSLContext | None = None) -> Iterator[Sent]:
    """Answers whatever it is asked as GCS and Azure answer with an object."""
    headers = {"ETag": '"1"', "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT", "x-goog-generation": "1"}
    with _host(lambda _: (200, headers, body), tls) as sent:
        yield sent


@contextlib.contextmanager
def sending_on(to: str, tls: ssl.SSLContext | None = None) -> Iterator[Sent]:
    """Sends everybody to another host."""
    with _host(lambda path: (307, {"Location": to + path.partition("?")[0]}, b""), tls) as sent:
        yield sent


@contextlib.contextmanager
def _host(answer: Callable[[str], tuple[int, dict[str, str], bytes]], tls: ssl.SSLContext | None) -> Iterator[Sent]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a client waits 40 ms for the second piece of an answer

        def do_GET(self) -> None:
            sent.requests.append(f"{self.requestline}\n{self.headers}")
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_CONNECT(self) -> None:
            sent.requests.append(f"{self.requestline}\n{self.headers}")
            self.send_error(403)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sent = Sent(f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}")
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield sent
        server.shutdown()
    thread.join(5)
