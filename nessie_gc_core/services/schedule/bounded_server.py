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
"""How long a client has for its request."""


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
        timed = type(handler.__name__, (handler,), {"timeout": TIMEOUT_SECONDS})
        super().__init__((host, port), timed)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers it in a thread of its own, unless there are too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves, or that nobody understands, is nobody's failure."""
        log.debug("a request of %s could not be answered", client_address)
