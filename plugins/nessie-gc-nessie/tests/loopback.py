"""Small real HTTP servers on loopback, for what a healthy Nessie never answers."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: Mapping[str, str]
    form: Mapping[str, str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.target.partition("?")[2]))


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0
    announced_length: int | None = None
    """Where it differs from the body's own, the answer breaks off half way."""


def json_reply(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status=status, body=json.dumps(value).encode(), headers=headers or {})


class LoopbackServer:
    """Answers each request by a function, and remembers what was asked."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _handle(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
                asked = Asked(self.command, self.path, dict(self.headers), form)
                outer.asked.append(asked)
                self._reply(answer(asked))

            def _reply(self, reply: Reply) -> None:
                time.sleep(reply.delay_seconds)
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(reply.announced_length or len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client did not wait

            do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - the names that http.server looks for

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.uri = f"{self.origin}/api/v2"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def scripted(*replies: Reply) -> Callable[[Asked], Reply]:
    """One reply after the other; the last one for ever."""
    remaining = list(replies)
    return lambda asked: remaining.pop(0) if len(remaining) > 1 else remaining[0]


class TokenServer:
    """An OAuth2 token endpoint that issues numbered tokens with a lifetime."""

    def __init__(self, *, lifetime_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.issued: dict[str, float] = {}
        self.lifetime_seconds = lifetime_seconds
        self.clock = clock
        self.secret = "client-s3cret"

    def __call__(self, asked: Asked) -> Reply:
        from base64 import b64encode

        expected = "Basic " + b64encode(f"collector:{self.secret}".encode()).decode()
        if asked.headers.get("Authorization") != expected or asked.form["grant_type"] != "client_credentials":
            return json_reply({"error": "invalid_client", "error_description": "no client-s3cret"}, status=401)
        token = f"token-{len(self.issued) + 1}"
        self.issued[token] = self.clock() + self.lifetime_seconds
        return json_reply({"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime_seconds})

    def accepts(self, header: str | None) -> bool:
        return self.issued.get((header or "").removeprefix("Bearer "), 0) > self.clock()

    def take_back(self) -> None:
        self.issued = dict.fromkeys(self.issued, 0.0)


def demanding(target_origin: str, accepts: Callable[[str | None], bool]) -> Callable[[Asked], Reply]:
    """Passes on to another server what has the right Authorization header."""

    def answer(asked: Asked) -> Reply:
        if not accepts(asked.headers.get("Authorization")):
            return Reply(status=401)
        with urllib.request.urlopen(target_origin + asked.target, timeout=30) as response:
            return Reply(body=response.read(), headers={"Content-Type": response.headers["Content-Type"]})

    return answer
