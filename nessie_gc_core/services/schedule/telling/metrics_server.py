"""Serves metrics to be read, at one path; on loopback, under names of loopback only."""

from __future__ import annotations

import ipaddress
import threading
from http import HTTPStatus

from prometheus_client import CollectorRegistry, MetricsHandler

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.schedule.bounded_server import BoundedServer
from nessie_gc_core.services.schedule.hosts import bracketed, is_address, name_in

PATH = "/metrics"


class MetricsServer:
    """Answers ``GET /metrics``, and everything else with an error.

    On loopback, a request has to name an IP address or ``localhost``, so that a page from elsewhere cannot
    read metrics through a name that its owner points here. On other addresses, every name is right.
    """

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        """Begins to serve, in threads of its own.

        Args:
            registry: what it serves.
            host: the address of this machine.
            port: the port; 0: any.

        Raises:
            ConfigurationError: the port is taken, or the host has another name.
        """
        shown = bracketed(host)
        try:
            self._server = BoundedServer(host, port, _handler(self, registry))
        except OSError as error:
            raise ConfigurationError(
                f"cannot serve metrics at {shown}:{port}: {error.strerror or error}; choose another `metrics-port`"
            ) from error
        self.port = int(self._server.server_port)
        self.address = f"http://{shown}:{self.port}{PATH}"
        is_loopback = ipaddress.ip_address(str(self._server.server_address[0])).is_loopback
        self._names = {"localhost", host.lower()} if is_loopback else None
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()

    def refusal_of(self, target: str, host: str) -> tuple[HTTPStatus, bytes] | None:
        """Why a request is refused, by its target and its ``Host``; ``None``: it is not."""
        name = name_in(host)
        if self._names is not None and name not in self._names and not is_address(name):
            return HTTPStatus.MISDIRECTED_REQUEST, b"unknown host; ask for localhost, or choose a `metrics-host`\n"
        if target.partition("?")[0] != PATH:
            return HTTPStatus.NOT_FOUND, f"metrics are at {PATH}\n".encode()
        return None


def _handler(outer: MetricsServer, metrics: CollectorRegistry) -> type[MetricsHandler]:
    class Handler(MetricsHandler):
        server_version, sys_version = "nessie-gc", ""
        registry = metrics

        def do_GET(self) -> None:  # noqa: N802 - a name of the library
            refusal = outer.refusal_of(self.path, self.headers.get("Host", ""))
            if refusal is None:
                super().do_GET()
                return
            status, text = refusal
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def end_headers(self) -> None:
            self.send_header("X-Content-Type-Options", "nosniff")
            super().end_headers()

    return Handler
