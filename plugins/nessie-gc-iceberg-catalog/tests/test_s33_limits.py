from __future__ import annotations

import gzip
import json
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from nessie_gc_iceberg_catalog import IcebergCatalogConnector

from nessie_gc_core.errors import ConfigurationError, LimitExceededError, RepositoryError
from nessie_gc_core.model.options import OptionValue

MEGABYTE = 1024 * 1024
Serve = Callable[[BaseHTTPRequestHandler], bytes | None]


def gave_up(handler: BaseHTTPRequestHandler, pause_seconds: float = 0.02) -> None:
    """Says a byte now and then, until the client has had enough."""
    try:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000000")
        handler.end_headers()
        for _ in range(1_500):
            handler.wfile.write(b" ")
            time.sleep(pause_seconds)
    except OSError:
        handler.close_connection = True


@contextmanager
def serving(answer: Callable[[str, BaseHTTPRequestHandler], object]) -> Iterator[str]:
    """A catalog that answers by a function: with JSON, packed bytes, or as it likes (``None``)."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = {"defaults": {}, "overrides": {}} if "/config" in self.path else answer(self.path, self)
            if found is None:
                return
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(200)
            if isinstance(found, bytes):
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _handle  # noqa: N815 - the names that http.server looks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def error_of(uri: str, **options: OptionValue) -> RepositoryError:
    values: dict[str, OptionValue] = {"uri": uri, "type": "rest", "retries": 0, **options}
    with IcebergCatalogConnector.from_options(values) as connector, pytest.raises(RepositoryError) as caught:
        list(connector.references())
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("properties", [{}, {"rest.sigv4-enabled": "true", "rest.signing-region": "eu"}])
def test_s33_a_response_that_unpacks_to_more_than_is_allowed_is_given_up(
    properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    bomb = gzip.compress(b" " * 64 * MEGABYTE)
    with serving(lambda path, handler: bomb) as uri:
        tracemalloc.start()
        try:
            error = error_of(uri, max_response_bytes=MEGABYTE, properties=properties)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert isinstance(error, LimitExceededError)
    assert "more than 1,048,576 bytes" in str(error)
    assert most < 48 * MEGABYTE


def test_s33_a_server_that_trickles_is_given_up() -> None:
    with serving(lambda path, handler: gave_up(handler)) as uri:
        started = time.monotonic()
        error = error_of(uri, response_timeout_seconds=0.5)
        assert time.monotonic() - started < 10
    assert isinstance(error, LimitExceededError)
    assert "response_timeout_seconds" in str(error)


def test_s33_a_token_endpoint_that_answers_with_a_bomb_is_given_up() -> None:
    with serving(lambda path, handler: gzip.compress(b" " * 4 * MEGABYTE)) as uri:
        token = {"credential": "a:b", "oauth2-server-uri": f"{uri}/tokens"}
        error = error_of(uri, max_response_bytes=MEGABYTE, properties=token)
    assert isinstance(error, LimitExceededError)
    assert "/tokens has more than" in str(error)


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (0, {"max_empty_pages": 5}, "max_empty_pages"),
        (1, {"max_pages": 5}, "max_pages"),
    ],
)
def test_s33_pages_that_never_end_are_given_up(rows: int, options: dict[str, OptionValue], said: str) -> None:
    asked: list[str] = []

    def answer(path: str, handler: object) -> object:
        asked.append(path)
        found = [[f"n{len(asked)}"]] * rows
        return {"namespaces": found, "next-page-token": f"t{len(asked)}"}

    with serving(answer) as uri:
        error = error_of(uri, **options)
    assert isinstance(error, LimitExceededError)
    assert said in str(error)
    assert len(asked) < 10


@pytest.mark.parametrize("tokens", ["a", "ab"])
def test_s34_pages_whose_tokens_come_again_are_an_error(tokens: str) -> None:
    asked: list[str] = []

    def answer(path: str, handler: object) -> object:
        asked.append(path)
        return {"namespaces": [[f"n{len(asked)}"]], "next-page-token": tokens[len(asked) % len(tokens)]}

    with serving(answer) as uri:
        assert "goes in circles" in str(error_of(uri))


def test_s33_an_answer_that_is_nested_too_deeply_is_an_error() -> None:
    with serving(lambda path, handler: gzip.compress(b"[" * 100_000)) as uri:
        assert "its values are nested too deeply" in str(error_of(uri))


@pytest.mark.parametrize("name", ["max_response_bytes", "response_timeout_seconds", "max_pages", "max_empty_pages"])
def test_s33_a_limit_is_a_positive_number(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        IcebergCatalogConnector.from_options({"uri": "http://localhost", name: 0})
