"""An HTTP server for a few clients: none of them keeps another one, or the scheduler, from its work."""

from __future__ import annotations

import logging
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

log = logging.getLogger(__name__)

MOST_REQUESTS = 20
"""So many are answered at the same time; others are closed."""
TIMEOUT_SECONDS = 10.0
"""How long a client has for its request, all of it, and then for each part of the answer that it takes."""


class BoundedServer(ThreadingHTTPServer):
    """Answers some requests at the same time, and says nothing of clients that leave."""

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        """Begins to listen.

        Args:
            host: the address of this machine, of either version of IP.
            port: the port; 0: any.
            handler: answers a request.

        Raises:
            OSError: the port is taken, or the host has another name.
        """
        self._free = threading.BoundedSemaphore(MOST_REQUESTS)
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        super().__init__((host, port), _timed(handler))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers it in a thread of its own, unless there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()  # there is no thread that would
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves, or that nobody understands, is nobody's failure."""
        log.debug("a request of %s could not be answered", client_address)


def _timed(handler: type[BaseHTTPRequestHandler]) -> type[BaseHTTPRequestHandler]:
    """The same handler for clients that may send a byte now and then: a socket's own timeout counts from each."""

    class Timed(handler):  # type: ignore[valid-type, misc]  # the class is the caller's
        timeout = TIMEOUT_SECONDS

        def setup(self) -> None:
            super().setup()
            self._deadline = threading.Timer(TIMEOUT_SECONDS, end_connection, args=(self.connection,))
            self._deadline.daemon = True
            self._deadline.start()

        def parse_request(self) -> bool:
            """Reads the rest of a request; what makes the answer may take longer."""
            try:
                return bool(super().parse_request())
            finally:
                self._deadline.cancel()

        def handle(self) -> None:
            try:
                super().handle()
            finally:
                self._deadline.cancel()

    return Timed


def end_connection(connection: socket.socket) -> None:
    """Ends what is read and written; the thread that does so closes it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError as error:
        log.debug("a connection has ended already: %s", error)
