"""A REST catalog before another one, that hands out credentials with each table, as hosted catalogs do."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_CREDENTIALS = "/credentials"
_ENDPOINT = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
Vends = Callable[[str], Mapping[str, Any]]
"""The name of a table to what an answer for it has as well."""


@dataclass
class VendingProxy:
    """What a proxy adds to the answers for tables, and what it was asked."""

    vends: Vends
    gives_credentials_alone: bool = False
    """Whether it has the endpoint that gives credentials without the table."""
    uri: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths after the namespace, each with the delegation that was asked for."""

    def answer(self, uri: str, path: str, delegation: str | None) -> tuple[int, Any]:
        """The status and body for a path."""
        if "/tables/" in path:
            self.asked.append((path.partition("/tables/")[2].partition("?")[0], delegation))
        if path.endswith(_CREDENTIALS):
            found = (
                self.vends(path.removesuffix(_CREDENTIALS).rpartition("/")[2]) if self.gives_credentials_alone else {}
            )
            return (200, {"storage-credentials": found["storage-credentials"]}) if found else (404, {})
        try:
            with urllib.request.urlopen(uri + path, timeout=30) as answer:
                status, body = answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        if "metadata-location" in body:
            added = self.vends(path.partition("?")[0].rpartition("/")[2])
            body = {**body, **added, "config": {**body.get("config", {}), **added.get("config", {})}}
        if "endpoints" in body and self.gives_credentials_alone:
            body["endpoints"] = [*body["endpoints"], _ENDPOINT]
        return status, body


@contextmanager
def proxied(uri: str, proxy: VendingProxy) -> Iterator[VendingProxy]:
    """A proxy that reads from the catalog at ``uri``, and adds to its answers for tables."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = proxy.answer(uri, self.path, self.headers.get("X-Iceberg-Access-Delegation"))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        proxy.uri = f"http://127.0.0.1:{server.server_port}"
        yield proxy
        server.shutdown()
        thread.join()


@contextmanager
def vending(uri: str, credentials: Mapping[str, str]) -> Iterator[str]:
    """The URI of a catalog that reads from the one at ``uri``, and adds credentials to its answers for tables."""
    with proxied(uri, VendingProxy(lambda _: {"config": dict(credentials)})) as proxy:
        yield proxy.uri
