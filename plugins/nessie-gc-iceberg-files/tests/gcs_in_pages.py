"""A GCS that answers in small pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@contextmanager
def gcs_in_pages(names: Sequence[str], *, page: int) -> Iterator[str]:
    """A GCS that only lists, and answers in pages of some names; any other bucket than ``lake`` is forbidden.

    The bucket keeps noncurrent versions.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            if asked.path.endswith("/b/lake"):
                self._answer(200, {"versioning": {"enabled": True}})
                return
            if not asked.path.endswith("/b/lake/o"):
                self._answer(403, {"error": {"message": "not yours"}})
                return
            found = [name for name in names if name.startswith(query.get("prefix", ""))]
            start = int(query.get("pageToken", 0))
            answer: dict[str, object] = {"items": [_item(name) for name in found[start : start + page]]}
            if start + page < len(found):
                answer["nextPageToken"] = str(start + page)
            self._answer(200, answer)

        def _answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _item(name: str) -> dict[str, str]:
    return {"name": name, "size": "1", "updated": "2026-01-02T03:04:05.678Z"}
