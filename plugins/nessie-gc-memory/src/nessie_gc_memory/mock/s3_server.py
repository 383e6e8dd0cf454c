"""An S3 endpoint on loopback whose listings and objects are computed when they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_memory.mock import s3_answers
from nessie_gc_memory.mock.bucket import MockBucket
from nessie_gc_memory.mock.lake import MockLake
from nessie_gc_memory.mock.pace import Pace
from nessie_gc_memory.mock.s3_answers import Answer
from nessie_gc_memory.mock.spec import MockLakeSpec

_LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.05
"""How long it takes at most to notice that it is stopped."""


class ComputedS3Server:
    """Serves a computed lake to any client of S3; signatures are not checked.

    It lists (ListObjectsV2), reads whole objects and ranges, and deletes; nothing can be written. Every response takes
    the lake's ``latency``, and its ``throttled_share`` is answered with ``503 SlowDown``.

    Example::

        with ComputedS3Server(MockLakeSpec(root="s3://lake/warehouse", content_type="ICEBERG_TABLE")) as s3:
            boto3.client("s3", endpoint_url=s3.endpoint, ...)

    Args:
        spec: the lake, whose root begins with ``s3://``.
        port: 0 for a free one.

    Raises:
        ConfigurationError: the lake has another root, or the port is not free.
    """

    def __init__(self, spec: MockLakeSpec, *, port: int = 0) -> None:
        if not spec.root.startswith("s3://"):
            raise ConfigurationError(f"option 'root' cannot be {spec.root!r}: a served lake is at s3://BUCKET/FOLDER")
        bucket, pace = MockBucket(MockLake(spec)), Pace(spec)

        class Handler(_Handler):
            def answer(self, body: bytes) -> Answer:
                if pace.is_refused():
                    return s3_answers.error(503, "SlowDown", self.path)
                pace.wait()
                return _answer(bucket, self.command, self.path, self.headers.get("Range"), body)

        try:
            self._server = ThreadingHTTPServer((_LOOPBACK, port), Handler)
        except OSError as error:
            raise ConfigurationError(f"port {port} cannot be used: {error.strerror}; 0 takes a free one") from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="computed-s3", daemon=True
        )

    @property
    def endpoint(self) -> str:
        """Its base URL."""
        return f"http://{_LOOPBACK}:{self._server.server_port}"

    @property
    def properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties with which it is read; any credentials will do."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.region": "us-east-1",
            "s3.access-key-id": "anybody",
            "s3.secret-access-key": "anything",
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, body: bytes) -> Answer:
        """The response to the request."""
        raise NotImplementedError

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.answer(body)
        sent = b"" if self.command == "HEAD" else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815 - the names that the server looks for

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def _answer(bucket: MockBucket, command: str, url: str, asked_range: str | None, body: bytes) -> Answer:
    parts = urlsplit(url)
    name, _, key = unquote(parts.path).lstrip("/").partition("/")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if name != bucket.name:
        return s3_answers.error(404, "NoSuchBucket", name)
    if key:
        return _of_object(bucket, command, key, asked_range)
    return _of_bucket(bucket, command, query, body)


def _of_bucket(bucket: MockBucket, command: str, query: Mapping[str, str], body: bytes) -> Answer:
    if command == "HEAD":
        return Answer()
    if command == "POST" and "delete" in query:
        return s3_answers.delete(bucket, body)
    if command != "GET":
        return s3_answers.error(501, "NotImplemented", bucket.name)
    for setting in _SETTINGS.keys() & query.keys():
        return s3_answers.setting(_SETTINGS[setting])
    return s3_answers.listing(bucket, query)


def _of_object(bucket: MockBucket, command: str, key: str, asked_range: str | None) -> Answer:
    if command == "GET":
        return s3_answers.get(bucket, key, asked_range)
    if command == "HEAD":
        return s3_answers.head(bucket, key)
    if command == "DELETE":
        bucket.delete([key])
        return Answer(status=204)
    return s3_answers.error(501, "NotImplemented", key)


_SETTINGS = {"versioning": "VersioningConfiguration", "location": "LocationConstraint"}
"""Settings of a bucket that clients ask for."""
