"""A GCS whose bucket keeps versions, as its documentation says, with the conditions that no emulator checks.

Generations, what becomes noncurrent and what is deleted, ``ifGenerationMatch``, rewrites in several calls, and locks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "versions"
_START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Generation:
    """One generation of an object."""

    number: int
    data: bytes
    created: datetime
    deleted: datetime | None = None


class RefusedError(Exception):
    """A request that is answered with a status other than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class VersionedGcs:
    """Its generations, and what was asked of it."""

    endpoint: str
    settings: dict[str, Any] = field(default_factory=lambda: {"versioning": {"enabled": True}})
    """What the bucket says of itself."""
    kept: dict[str, list[Generation]] = field(default_factory=dict)
    """By key, oldest first."""
    locked: set[int] = field(default_factory=set)
    """Numbers of generations that cannot be deleted."""
    calls_of_a_rewrite: int = 1
    asked: list[str] = field(default_factory=list)
    """Methods and paths."""
    answers: int | None = None
    """How many requests are answered before all are refused, as when a client is killed; none: all of them."""
    before: list[tuple[str, Callable[[], object]]] = field(default_factory=list)
    """What happens once before the next request with a method."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    time: datetime | None = None
    """None: that of this machine."""
    _uploads: list[str] = field(default_factory=list)
    """The names of those that were begun."""

    @property
    def properties(self) -> dict[str, str]:
        """Iceberg FileIO properties for it."""
        return {"gcs.service.host": self.endpoint, "gcs.oauth2.token": "anon"}

    def put(self, key: str, data: bytes) -> Generation:
        """Writes an object; what was live becomes noncurrent, or is gone without versioning."""
        with self.lock:
            now = self._now()
            live = self.live(key)
            if live is not None:
                self._end(key, live, now)
            kept = self.kept.setdefault(key, [])
            made = Generation(max([int(now.timestamp() * 1_000_000), *(each.number + 1 for each in kept)]), data, now)
            kept.append(made)
            return made

    def live(self, key: str) -> Generation | None:
        """What a reader gets."""
        with self.lock:
            return next((each for each in self.kept.get(key, ()) if each.deleted is None), None)

    def delete(self, key: str, number: int | None = None) -> None:
        """Deletes what is live, or one generation for good."""
        with self.lock:
            if number is None:
                live = self.live(key)
                assert live is not None
                self._end(key, live, self._now())
            else:
                self.kept[key] = [each for each in self.kept[key] if each.number != number]

    def of(self, key: str, number: int | None) -> Generation:
        """A generation, or what is live."""
        with self.lock:
            found = self.live(key) if number is None else None
            found = found or next((each for each in self.kept.get(key, ()) if each.number == number), None)
        if found is None:
            raise RefusedError(404)
        return found

    def _now(self) -> datetime:
        if self.time is not None:
            self.time += timedelta(milliseconds=1)
        now = datetime.now(UTC) if self.time is None else self.time
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def _end(self, key: str, live: Generation, now: datetime) -> None:
        if (self.settings.get("versioning") or {}).get("enabled"):
            live.deleted = now
        else:
            self.kept[key].remove(live)

    # ---- requests -----------------------------------------------------------------------------------------
    def answer(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Any:
        """What a request gets: something for JSON, bytes, or where to go on with an upload."""
        with self.lock:
            act = next((each for each in self.before if each[0] == method), None)
            if act is not None:
                self.before.remove(act)
                act[1]()
            self.asked.append(f"{method} {unquote(path)}")
            if self.answers is not None:
                if self.answers == 0:
                    raise RefusedError(403)
                self.answers -= 1
            parts = [unquote(part) for part in path.partition("/storage/v1/")[2].split("/")]
            if parts[:2] != ["b", BUCKET]:
                raise RefusedError(404)
            if method == "POST" and path.startswith("/upload/"):
                return self._uploaded(query, body)
            if len(parts) == 2:
                return self.settings
            if len(parts) == 3:
                return self._listed(query)
            return self._of_an_object(method, parts[3], query, parts[4:])

    def _of_an_object(self, method: str, key: str, query: Mapping[str, str], more: list[str]) -> Any:
        if more[:1] == ["rewriteTo"]:
            return self._rewritten(key, more[-1], query)
        found = self.of(key, _number(query, "generation"))
        if method == "DELETE":
            condition = _number(query, "ifGenerationMatch")
            if condition is not None and condition != found.number:
                raise RefusedError(412)
            if found.number in self.locked:
                raise RefusedError(403)
            self.delete(key, _number(query, "generation"))
            return b""
        return found.data if query.get("alt") == "media" else _item(key, found)

    def _rewritten(self, key: str, to: str, query: Mapping[str, str]) -> Any:
        source = self.of(key, _number(query, "sourceGeneration"))
        if _number(query, "ifSourceGenerationMatch") not in (None, source.number):
            raise RefusedError(412)
        self._check_condition(to, query)
        step = int(query.get("rewriteToken", 1))
        if step < self.calls_of_a_rewrite:
            return {"done": False, "rewriteToken": str(step + 1)}
        return {"done": True, "resource": _item(to, self.put(to, source.data))}

    def _uploaded(self, query: Mapping[str, str], body: bytes) -> Any:
        if query["uploadType"] == "resumable" and "upload_id" not in query:
            self._uploads.append(query["name"])
            return f"{self.endpoint}/upload/storage/v1/b/{BUCKET}/o?uploadType=resumable&upload_id={len(self._uploads)}"
        if query["uploadType"] == "resumable":  # all of it in one chunk
            name, data = self._uploads[int(query["upload_id"]) - 1], body
        elif query["uploadType"] == "media":
            name, data = query["name"], body
        else:
            boundary = body.partition(b"\n")[0].strip()
            head, data = (part.split(b"\n\n", 1)[1].removesuffix(b"\n") for part in body.split(boundary)[1:3])
            name = json.loads(head)["name"]
        self._check_condition(name, query)
        return _item(name, self.put(name, data))

    def _check_condition(self, key: str, query: Mapping[str, str]) -> None:
        live, condition = self.live(key), _number(query, "ifGenerationMatch")
        if condition is not None and condition != (0 if live is None else live.number):
            raise RefusedError(412)

    def _listed(self, query: Mapping[str, str]) -> Any:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        items, folders = [], dict[str, None]()
        for key in sorted(self.kept):
            inside = key.removeprefix(prefix)
            if not key.startswith(prefix):
                continue
            wanted = [each for each in self.kept[key] if each.deleted is None or "versions" in query]
            if wanted and delimiter and delimiter in inside:
                folders[prefix + inside.partition(delimiter)[0] + delimiter] = None
            else:
                items += [_item(key, each) for each in wanted]
        start, size = int(query.get("pageToken", 0)), int(query.get("maxResults", 1000))
        more = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
        return {"items": items[start : start + size], "prefixes": [*folders], **more}


def _number(query: Mapping[str, str], name: str) -> int | None:
    return int(query[name]) if name in query else None


def _item(key: str, generation: Generation) -> dict[str, Any]:
    digest = hashlib.md5(generation.data, usedforsecurity=False).digest()
    created = _text(generation.created)
    ended = {} if generation.deleted is None else {"timeDeleted": _text(generation.deleted)}
    return {
        "name": key,
        "generation": str(generation.number),
        "size": str(len(generation.data)),
        "timeCreated": created,
        "updated": created,
        "crc32c": base64.b64encode(digest[:4]).decode(),
        "md5Hash": base64.b64encode(digest).decode(),
        **ended,
    }


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def versioned_gcs() -> Iterator[VersionedGcs]:
    """Such a GCS on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body together

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, kind = 200, "application/json"
            try:
                said = gcs.answer(self.command, asked.path, query, body)
            except RefusedError as refused:
                status, said = refused.status, {"error": {"code": refused.status, "message": "the store says no"}}
            headers = {"Location": said} if isinstance(said, str) else {}
            if isinstance(said, bytes):
                data, kind = said, "application/octet-stream"
            else:
                data = json.dumps(said).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    gcs = VersionedGcs(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield gcs
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
