"""Serves the page of a schedule from its scheduler: one page, to be read, by default on loopback only."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Collection
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import Elapsed, elapsed_seconds
from nessie_gc_core.services.schedule.bounded_server import BoundedServer
from nessie_gc_core.services.schedule.hosts import bracketed, is_address, name_in
from nessie_gc_core.services.schedule.in_turn import InTurn

log = logging.getLogger(__name__)

KEPT_SECONDS = 10.0
"""The page is made again when it is asked for and older than this, and than it took to make it."""
REFRESH_SECONDS = 60
"""How often a browser asks for it again, so that it can stay open, on a wall as well."""
_PATIENCE_SECONDS = 5.0
"""How long a request waits for the page that another one makes."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Refresh": f"{REFRESH_SECONDS}",
    "X-Content-Type-Options": "nosniff",
}


class PageServer:
    """Answers ``GET /`` with the page, and everything else with an error."""

    def __init__(
        self,
        make: Callable[[], str],
        *,
        host: str,
        port: int,
        names: Collection[str] = (),
        elapsed: Elapsed = elapsed_seconds,
    ) -> None:
        """Begins to serve, in threads of its own.

        Args:
            make: makes the page; called by one thread at a time.
            host: the address of this machine.
            port: the port; 0: any.
            names: more names by which it may be asked for, beside any IP address, and the name of this machine if the
                address is not a loopback one. Others are refused, so that a page from elsewhere cannot read this one
                through a name that its owner points here.
            elapsed: seconds that passed.

        Raises:
            ConfigurationError: the port is taken, or the host has another name.
        """
        self._page = InTurn(lambda: make().encode(), patience=_PATIENCE_SECONDS, kept=KEPT_SECONDS, elapsed=elapsed)
        own = [] if _is_loopback(host) else [socket.gethostname()]
        self._names = {name.lower() for name in (host, *names, *own, *_LOOPBACK)}
        try:
            self._server = BoundedServer(host, port, self._handler())
        except OSError as error:
            raise ConfigurationError(
                f"cannot serve the page at {bracketed(host)}:{port}: {error.strerror or error}; choose another "
                "`page-port`"
            ) from error
        self.port = self._server.server_port
        self.address = f"http://{bracketed(host)}:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, target: str, host: str) -> tuple[HTTPStatus, bytes]:
        """What a request gets: its target and its ``Host``."""
        name = name_in(host)
        if name not in self._names and not is_address(name):
            return HTTPStatus.MISDIRECTED_REQUEST, b"unknown host; allow its name with `page-names`\n"
        if target.partition("?")[0] != "/":
            return HTTPStatus.NOT_FOUND, b"there is only one page, at /\n"
        try:
            page = self._page.get()
        except Exception as error:  # noqa: BLE001 - whatever it is, the scheduler goes on
            log.error("the page cannot be made: %s", one_line(error))
            page = None
        if page is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, b"the page cannot be made; see the log of the scheduler\n"
        return HTTPStatus.OK, page

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "nessie-gc", ""

            def do_GET(self) -> None:
                self._send(body=True)

            def do_HEAD(self) -> None:
                self._send(body=False)

            def _send(self, *, body: bool) -> None:
                status, content = outer.answer(self.path, self.headers.get("Host", ""))
                kind = "text/html" if status is HTTPStatus.OK else "text/plain"
                self.send_response(status)
                headers = {**_HEADERS, "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content))}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                log.debug("page: %s", format % args)

        return Handler


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback if is_address(host) else host.lower() in _LOOPBACK
