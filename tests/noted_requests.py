"""A proxy on loopback that notes every request to a server behind it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from nessie_gc_core.testing.servers.handing_on import HandingOn, ProxyServer
from nessie_gc_core.testing.servers.process import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, and how it was answered."""

    method: str
    path: str
    """Without escapes."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes
    status: int


@dataclass(slots=True)
class Recording:
    """The address of the proxy, and what it was asked for."""

    endpoint: str = ""
    asked: list[Asked] = field(default_factory=list)

    def take(self) -> list[Asked]:
        """All requests so far; they are forgotten."""
        taken, self.asked = self.asked, []
        return taken


@contextmanager
def recording(endpoint: str) -> Iterator[Recording]:
    """A proxy before the server at ``endpoint``."""
    record = Recording()

    class Handler(HandingOn):
        def respond(self) -> None:
            body = self.read_body()
            answer = self.hand_on(body)
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
            record.asked.append(
                Asked(
                    method=self.command,
                    path=unquote(url.path),
                    query=query,
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=body,
                    status=answer.status,
                )
            )
            self.say(answer)

    Handler.endpoint = endpoint
    with ProxyServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        record.endpoint = f"http://{LOOPBACK}:{server.server_port}"
        yield record
        server.shutdown()
        thread.join()
