"""A host that data names: every name below ``evil.example`` leads to a port of this machine, and is counted."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

DOMAIN = "evil.example"


@dataclass
class EvilHost:
    """What arrived there, and what was looked up."""

    connections: list[object] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    @property
    def is_untouched(self) -> bool:
        return not self.connections and not self.looked_up


@contextlib.contextmanager
def evil_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[EvilHost]:
    """Runs it; whatever connects is closed at once."""
    found, real = EvilHost(), socket.getaddrinfo
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = server.accept()
                    found.connections.append(address)
                    connection.close()

        def resolve(host: Any, asked: Any, *more: Any, **names: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else host
            if isinstance(name, str) and name.rstrip(".").endswith(DOMAIN):
                found.looked_up.append(name)
                return real("127.0.0.1", port, *more, **names)
            return real(host, asked, *more, **names)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)
