"""A REST catalog before another one, that hands out credentials with each table, as hosted catalogs do."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def vending(uri: str, credentials: Mapping[str, str]) -> Iterator[str]:
    """The URI of a catalog that reads from the one at ``uri``, and adds credentials to its answers for tables."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                with urllib.request.urlopen(uri + self.path, timeout=30) as answer:
                    status, body = answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                status, body = error.code, json.loads(error.read())
            if "metadata-location" in body:
                body["config"] = {**body.get("config", {}), **credentials}
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
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
