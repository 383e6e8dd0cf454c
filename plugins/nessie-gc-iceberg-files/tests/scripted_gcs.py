"""A GCS that says who asked for what: the JSON API as gcsfs asks, and the XML API as obstore does.

The emulator has no dates and no generations in its answers to the second, so nothing of it is taken.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

FORBIDDEN = "forbidden"
"""A bucket that is somebody else's."""


@dataclass
class ScriptedGcs:
    """Its objects, and what was asked of it. There are the bucket ``lake``, and ``forbidden``."""

    endpoint: str
    objects: dict[str, bytes] = field(default_factory=dict)
    packed: set[str] = field(default_factory=set)
    """Keys whose objects are stored packed, which clients unpack."""
    tokens: list[str] = field(default_factory=list)
    """Those that are good, where not everybody may read; the last one is given out."""
    quick: list[str] = field(default_factory=list)
    exact: list[str] = field(default_factory=list)
    """Keys that were asked for in XML and in JSON."""
    payers: list[str | None] = field(default_factory=list)
    """Whom each of them named as who pays."""
    speaks_xml: bool = True


@contextmanager
def scripted_gcs() -> Iterator[ScriptedGcs]:
    """Runs it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a client waits 40 ms for the second piece of an answer

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            bucket, _, key = path.removeprefix("/").partition("/")
            is_json = path.startswith("/storage/v1/b/")
            if is_json:
                bucket, _, key = path.removeprefix("/storage/v1/b/").partition("/")
                key = key.removeprefix("o").removeprefix("/")
            bucket, key = unquote(bucket), unquote(key)
            if key:
                (gcs.exact if is_json else gcs.quick).append(key)
                gcs.payers.append(self.headers.get("x-goog-user-project"))
            status = self._refusal(bucket)
            if status is None and key:
                self._object(key, is_json=is_json)
            elif status is None:
                self._answer(200, json.dumps({"items": [{"name": name} for name in gcs.objects]}).encode())
            else:
                self._answer(status, json.dumps({"error": {"code": status, "message": "no"}}).encode())

        def do_POST(self) -> None:
            """An upload of one request, or a new token, for whoever asks."""
            path = urlsplit(self.path).path
            if path.startswith("/upload/"):
                parts = self.rfile.read(int(self.headers["Content-Length"])).split(b"--==0==")
                name, body = (part.partition(b"\n\n")[2].removesuffix(b"\n") for part in parts[1:3])
                gcs.objects[json.loads(name)["name"]] = body
                self._answer(200, name, **{"Content-Type": "application/json"})
                return
            parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            answer = {"access_token": gcs.tokens[-1], "expires_in": 3600, "token_type": "Bearer"}
            self._answer(200, json.dumps(answer).encode(), **{"Content-Type": "application/json"})

        def _refusal(self, bucket: str) -> int | None:
            if gcs.tokens and self.headers.get("Authorization") not in [f"Bearer {token}" for token in gcs.tokens]:
                return 401
            return {"lake": None, FORBIDDEN: 403}.get(bucket, 404)

        def _object(self, key: str, *, is_json: bool) -> None:
            if key not in gcs.objects or not (is_json or gcs.speaks_xml):
                self._answer(404, b"")
                return
            headers = {} if is_json else {"x-goog-generation": "17", "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT"}
            body = gcs.objects[key]
            if key in gcs.packed:
                headers["Content-Encoding"] = "gzip"
                body = gzip.compress(body)
            self._answer(200, body, ETag='"1"', **headers)

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    gcs = ScriptedGcs(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield gcs
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
