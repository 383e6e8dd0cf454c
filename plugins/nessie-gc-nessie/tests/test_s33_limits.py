from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from loopback import Asked, LoopbackServer, Reply, json_reply
from nessie_gc_nessie import NessieConnector

from nessie_gc_core.errors import CommitUnknownError, ConfigurationError, LimitExceededError
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.repository import Reference, ReferenceKind

MAIN = {"type": "BRANCH", "name": "main", "hash": "aa" * 32}
PAGE = json.dumps({"references": [MAIN], "hasMore": False}).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
MEGABYTE = 1024 * 1024


@contextmanager
def trickling(begin: bytes, part: bytes, *, pause_seconds: float) -> Iterator[str]:
    """A server that never ends what it says; its URI."""
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection:
                try:
                    connection.recv(65536)
                    connection.sendall(begin)
                    while not stopped.wait(pause_seconds):
                        connection.sendall(part)
                except OSError:
                    continue  # the client has had enough

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/api/v2"
        finally:
            stopped.set()
            thread.join()


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        pytest.param(HEAD + b"Content-Length: 1000000\r\n\r\n{", b" ", id="a body of known length"),
        pytest.param(HEAD + b"\r\n" + PAGE, b" ", id="a body that ends with its connection"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", id="chunks"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0", id="the length of a chunk"),
        pytest.param(HEAD + b"X-Long: ", b"x", id="a header"),
        pytest.param(b"", b"H", id="a status"),
    ],
)
def test_s33_a_server_that_trickles_is_given_up(begin: bytes, part: bytes) -> None:
    options = {"response_timeout_seconds": 0.5, "retries": 0}
    with (
        trickling(begin, part, pause_seconds=0.02) as uri,
        NessieConnector.from_options({"uri": uri, **options}) as connector,
    ):
        started = time.monotonic()
        with pytest.raises(LimitExceededError, match=r"took longer than 0\.5 s.*response_timeout_seconds"):
            list(connector.references())
        assert time.monotonic() - started < 10


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}, {"Content-Encoding": "gzip, gzip"}])
def test_s33_a_response_that_unpacks_to_more_than_is_allowed_is_given_up(headers: dict[str, str]) -> None:
    body = b" " * (64 * MEGABYTE)
    for _ in headers.get("Content-Encoding", "").split(",") if headers else ():
        body = gzip.compress(body)
    options = {"max_response_bytes": MEGABYTE, "retries": 3}
    with (
        LoopbackServer(lambda asked: Reply(body=body, headers=headers)) as server,
        NessieConnector.from_options({"uri": server.uri, **options}) as connector,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(LimitExceededError, match=r"more than 1,048,576 bytes.*max_response_bytes"):
                list(connector.references())
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert 1 == len(server.asked)
    assert most < 32 * MEGABYTE


def test_s33_a_response_within_the_limits_is_read_as_before() -> None:
    packed = Reply(body=gzip.compress(PAGE), headers={"Content-Encoding": "gzip"})
    with LoopbackServer(lambda asked: packed) as server, NessieConnector.from_options({"uri": server.uri}) as found:
        assert ["main"] == [reference.name for reference in found.references()]


@pytest.mark.parametrize(
    ("rows", "options", "name"),
    [(0, {"max_empty_pages": 5}, "max_empty_pages"), (1, {"max_pages": 5}, "max_pages")],
)
def test_s33_pages_that_never_end_are_given_up(rows: int, options: dict[str, int], name: str) -> None:
    def answer(asked: Asked) -> Reply:
        number = len(server.asked)
        found = [{**MAIN, "name": f"b{number}"}] * rows
        return json_reply({"references": found, "hasMore": True, "token": f"{number}"})

    with (
        LoopbackServer(answer) as server,
        NessieConnector.from_options({"uri": server.uri, **options}) as connector,
        pytest.raises(LimitExceededError, match=f"more than 5 .*{name}"),
    ):
        list(connector.references())
    assert len(server.asked) < 10


def test_s33_a_token_endpoint_that_answers_with_a_bomb_is_given_up() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(body=gzip.compress(b" " * 4 * MEGABYTE), headers={"Content-Encoding": "gzip"})

    with LoopbackServer(answer) as server:
        options: dict[str, OptionValue] = {
            "authentication": "oauth2",
            "oauth2_token_endpoint": f"{server.origin}/token",
            "oauth2_client_id": "a",
            "oauth2_client_secret": "b",
            "max_response_bytes": MEGABYTE,
        }
        with (
            NessieConnector.from_options({"uri": server.uri, **options}) as connector,
            pytest.raises(LimitExceededError, match="/token has more than"),
        ):
            list(connector.references())


def test_s33_of_a_commit_whose_answer_is_too_large_nobody_knows() -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(body=b" " * 4 * MEGABYTE)

    with (
        LoopbackServer(answer) as server,
        NessieConnector.from_options({"uri": server.uri, "max_response_bytes": MEGABYTE}) as connector,
        pytest.raises(CommitUnknownError, match="max_response_bytes"),
    ):
        connector.make_tag("v1", Reference(name="main", kind=ReferenceKind.BRANCH, commit_id="aa" * 32))


@pytest.mark.parametrize("name", ["max_response_bytes", "response_timeout_seconds", "max_pages", "max_empty_pages"])
@pytest.mark.parametrize("value", [0, -1, True])
def test_s33_a_limit_is_a_positive_number(name: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=name):
        NessieConnector.from_options({name: value})
