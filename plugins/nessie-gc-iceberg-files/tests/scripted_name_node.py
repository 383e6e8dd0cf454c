"""Name nodes and data nodes that answer as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STANDBY = "Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error"
"""What a name node on standby says."""


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def exception(status: int, name: str, message: str) -> Answer:
    """An error in the form of WebHDFS."""
    said = {"exception": name, "javaClassName": f"org.apache.hadoop.{name}", "message": message}
    return Answer(status, json.dumps({"RemoteException": said}).encode(), {"Content-Type": "application/json"})


def on_standby(path: str) -> Answer:
    """What a name node on standby answers, to whatever it is asked."""
    return exception(403, "StandbyException", STANDBY)


@dataclass
class Node:
    address: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def node(answer: Callable[[str], Answer]) -> Iterator[Node]:
    """A server on loopback; ``answer`` gets the path of a request, with its query."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            running.asked.append(self.path)
            said = answer(self.path)
            self.send_response(said.status)
            for name, value in {**said.headers, "Content-Length": str(len(said.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_PUT = do_DELETE = _answer  # noqa: N815 - their names

        def log_message(self, format: str, *arguments: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running = Node(f"127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join()
