"""The page as the scheduler serves it."""

from __future__ import annotations

import http.client
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.services.schedule import bounded_server
from nessie_gc_core.services.schedule.bounded_server import MOST_REQUESTS
from nessie_gc_core.services.schedule.page import serve
from nessie_gc_core.services.schedule.page.serve import KEPT_SECONDS, PageServer

made: list[str] = []


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def server(seconds: list[float]) -> Iterator[PageServer]:
    made.clear()

    def make() -> str:
        made.append("page")
        return f"<p>page {len(made)}</p>"

    server = PageServer(make, host="127.0.0.1", port=0, names=["gc.example"], elapsed=lambda: seconds[0])
    yield server
    server.close()


def ask(server: PageServer, target: str = "/", host: str | None = None, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.putrequest(method, target, skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{server.port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_the_page_is_made_when_it_is_asked_for_but_not_for_each(server: PageServer, seconds: list[float]) -> None:
    assert [(200, "<p>page 1</p>")] * 3 == [ask(server, target) for target in ("/", "/?x=1", "//")]
    seconds[0] += KEPT_SECONDS + 1
    assert (200, "<p>page 2</p>") == ask(server)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8080", "gc.example:443", "10.1.2.3:80", "[fe80::1%eth0]"]
)
def test_it_is_served_under_its_names_and_under_addresses(server: PageServer, host: str) -> None:
    assert 200 == ask(server, host=host)[0]


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::1", "a b"]
)
def test_another_host_is_refused_and_no_page_is_made(server: PageServer, host: str) -> None:
    assert (421, []) == (ask(server, host=host)[0], made)


@pytest.mark.parametrize(("host", "status"), [("0.0.0.0", 200), ("127.0.0.1", 421), ("localhost", 421)])
def test_the_name_of_this_machine_counts_if_others_can_reach_it(
    host: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Keeper")
    server = PageServer(str, host=host, port=0)
    assert [status, 421] == [ask(server, host=name)[0] for name in ("keeper:80", "keeper.evil.example")]
    server.close()


@pytest.mark.parametrize(("host", "written"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_its_address_can_be_opened(host: str, written: str) -> None:
    server = PageServer(lambda: "here", host=host, port=0)
    assert f"http://{written}:{server.port}/" == server.address
    with urllib.request.urlopen(server.address, timeout=10) as answer:
        assert b"here" == answer.read()
    server.close()


@pytest.mark.parametrize("target", ["/x", "/../etc/passwd", "/%2e%2e/", "http://evil.example/x", "/index.html"])
def test_an_odd_path_is_not_found(server: PageServer, target: str) -> None:
    assert (404, []) == (ask(server, target)[0], made)


def raw(server: PageServer, request: str) -> bytes:
    """All that comes back on a connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request.encode())
        found = b""
        while part := connection.recv(4096):
            found += part
        return found


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_it_can_only_be_read(server: PageServer, method: str) -> None:
    assert (501, []) == (ask(server, method=method)[0], made)


def test_the_head_of_the_page_has_no_body(server: PageServer) -> None:
    head, _, body = raw(server, "HEAD / HTTP/1.0\r\nHost: localhost\r\n\r\n").partition(b"\r\n\r\n")
    assert (True, b"") == (b" 200 OK" in head, body)


@pytest.mark.parametrize("request_", ["GET http://[ HTTP/1.0\r\nHost: localhost\r\n\r\n", "nonsense\r\n\r\n"])
def test_a_request_that_nobody_understands_is_no_traceback(
    server: PageServer, request_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw(server, request_)
    assert ("", []) == (capsys.readouterr().err, made)
    assert 200 == ask(server)[0]


def test_too_many_connections_are_closed(server: PageServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(MOST_REQUESTS)]
    time.sleep(0.3)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(server)
    for connection in idle:
        connection.close()
    deadline = time.monotonic() + 10
    while True:
        try:
            assert 200 == ask(server)[0]
            break
        except (http.client.HTTPException, ConnectionError):
            assert time.monotonic() < deadline


def test_a_client_that_sends_a_byte_now_and_then_has_no_more_time_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_server, "TIMEOUT_SECONDS", 0.5)
    server = PageServer(str, host="127.0.0.1", port=0)
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow, pytest.raises(ConnectionError):
        slow.sendall(b"GET / HTTP/1.0\r\nX: ")
        while time.monotonic() - begun < 20:
            slow.sendall(b"x")
            time.sleep(0.05)
    server.close()


def test_a_page_may_take_longer_than_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_server, "TIMEOUT_SECONDS", 0.2)
    never = threading.Event()
    server = PageServer(lambda: f"<p>{never.wait(0.6)}</p>", host="127.0.0.1", port=0)
    assert (200, "<p>False</p>") == ask(server)
    server.close()


def test_a_request_that_gets_no_thread_takes_no_place(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(MOST_REQUESTS + 1):
            with pytest.raises((http.client.HTTPException, ConnectionError)):
                ask(server)
    assert 200 == ask(server)[0]


def test_a_page_that_takes_for_ever_holds_up_no_other_request_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(serve, "_PATIENCE_SECONDS", 0.05)
    server = PageServer(lambda: str(go_on.wait(30)), host="127.0.0.1", port=0)
    first = threading.Thread(target=lambda: ask(server))
    first.start()
    time.sleep(0.2)
    assert 503 == ask(server)[0]
    go_on.set()
    first.join()
    server.close()


def test_it_loads_nothing_is_kept_nowhere_and_is_asked_for_again(server: PageServer) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10) as answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
    assert "default-src 'none'" in headers["content-security-policy"]
    assert ("no-store", "nosniff", "text/html; charset=utf-8", "60") == tuple(
        headers[name] for name in ("cache-control", "x-content-type-options", "content-type", "refresh")
    )


def test_a_store_that_is_away_is_a_line_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> str:
        raise StoreError("cannot reach postgresql://me@db/x")

    server = PageServer(make, host="127.0.0.1", port=0)
    with pytest.raises(urllib.error.HTTPError, match="503") as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10)
    assert b"the page cannot be made; see the log of the scheduler\n" == refused.value.read()
    assert "60" == refused.value.headers["Refresh"], "it is asked for again"
    refused.value.close()
    server.close()
    assert "cannot reach postgresql://me@db/x" in caplog.text


def test_a_port_that_is_taken_is_said_to_be(server: PageServer) -> None:
    with pytest.raises(ConfigurationError, match=f"cannot serve the page at 127.0.0.1:{server.port}: Address already"):
        PageServer(str, host="127.0.0.1", port=server.port)
