"""What is posted ends in time, also if the other side answers byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from nessie_gc_core.services.schedule.telling import webhook
from nessie_gc_core.services.schedule.telling.posting import post

from .conftest import FAILED, Bench, run_with

SLOW = b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 20 + b"Content-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Dripping:
    """A server that answers byte by byte."""

    port: int
    left: threading.Event
    """Set when somebody has left before the end."""


def drip(connection: socket.socket, left: threading.Event, over: threading.Event) -> None:
    """Sends an answer, a byte every 0.1 seconds, until it is over, or the other side is gone."""
    try:
        for byte in SLOW:
            connection.sendall(bytes([byte]))
            if over.wait(0.1):
                return
    except OSError:
        left.set()


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that answers each connection in a thread of its own; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer_one, args=(connection,), daemon=True).start()

        def answer_one(connection: socket.socket) -> None:
            with connection:
                connection.recv(65_536)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.fixture
def dripping() -> Iterator[Dripping]:
    left, over = threading.Event(), threading.Event()
    with serving(lambda connection: drip(connection, left, over)) as port:
        yield Dripping(port, left)
        over.set()


def test_an_answer_that_comes_byte_by_byte_is_none(dripping: Dripping) -> None:
    with pytest.raises(TimeoutError, match=r"no whole answer in 0\.5 seconds"):
        post(f"http://127.0.0.1:{dripping.port}/", b"{}", seconds=0.5)
    assert dripping.left.wait(5)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_answers_byte_by_byte_is_left(
    dripping: Dripping, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{dripping.port}")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(TimeoutError):
        post(f"{scheme}://hooks.invalid/", b"{}", seconds=0.5)
    assert dripping.left.wait(5)


def test_an_answer_in_time_has_its_status() -> None:
    with serving(lambda connection: connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")) as port:
        assert 204 == post(f"http://127.0.0.1:{port}/", b"{}", seconds=10)


def test_a_webhook_that_answers_byte_by_byte_is_tried_again_and_left(
    bench: Bench,
    dripping: Dripping,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(webhook, "_PAUSES_SECONDS", (0, 0, 0))
    run_with(bench, FAILED, webhook=f"http://127.0.0.1:{dripping.port}/secret")
    assert "is not told: the address does not answer within 0.5 seconds" in caplog.text
    assert "secret" not in caplog.text
