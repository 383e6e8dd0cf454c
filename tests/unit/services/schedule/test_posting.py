"""What is posted ends in time, also if the other side answers byte by byte, and shows nothing that misleads."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.telling import webhook
from nessie_gc_core.services.schedule.telling.posting import post

from .conftest import FAILED, Bench, Receiver, run_with

SLOW = b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 20 + b"Content-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Dripping:
    """A server that answers byte by byte."""

    port: int
    left: threading.Event
    """Set when somebody has left before the end."""


def drip(connection: socket.socket, left: threading.Event, over: threading.Event) -> None:
    """Sends an answer, a byte every 0.1 seconds, until it is over, or the other side is gone."""
    connection.recv(65_536)
    try:
        for byte in SLOW:
            connection.sendall(bytes([byte]))
            if over.wait(0.1):
                return
    except OSError:
        left.set()


def no_content(connection: socket.socket) -> None:
    """Reads a whole request, and has nothing to say."""
    read = b""
    while not read.endswith(b"\r\n\r\n{}"):
        read += connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that answers each connection in a thread of its own; gives its port."""

    def answer_one(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # who asks may leave
            answer(connection)

    def serve() -> None:
        with suppress(OSError):  # the end
            while True:
                threading.Thread(target=answer_one, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
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
    with pytest.raises(TimeoutError, match=r"no whole answer in 0\.5 s"):
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
    with serving(no_content) as port:
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
    assert "is not told: the address does not answer within 0.5 s" in caplog.text
    assert "secret" not in caplog.text


# ---- TLS ------------------------------------------------------------------------------------------------
def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1, with its key, that is its own authority."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string("CN=ours")
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "ours.pem"
    file.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) + secret)
    return file


@pytest.fixture
def tls_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server with TLS, whose certificate is trusted, for 127.0.0.1."""
    file = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    def answer(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            no_content(wrapped)

    with serving(answer) as port:
        yield port


def test_an_answer_by_tls_has_its_status(tls_port: int) -> None:
    assert 204 == post(f"https://127.0.0.1:{tls_port}/", b"{}", seconds=10)


def test_s28_a_certificate_for_another_host_does_not_show_the_address(
    bench: Bench, tls_port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook, "_PAUSES_SECONDS", (0,))
    run_with(bench, FAILED, webhook=f"https://localhost:{tls_port}/T0")
    assert "is not told: the address cannot be reached: SSLCertVerificationError" in caplog.text
    assert "localhost" not in caplog.text


# ---- chat systems ---------------------------------------------------------------------------------------
def test_s28_names_from_data_ping_nobody_and_are_no_links(bench: Bench, receiver: Receiver) -> None:
    report = json.dumps({"error": "cannot read `a` & <!channel> <https://evil.example|the report> @all"})
    run_with(bench, Outcome(exit_code=1, report=report), webhook=receiver.address, name="prod")
    told = json.loads(receiver.bodies[0][1])
    assert (
        "Nessie GC prod: nightly FAILED: `cannot read 'a' &amp; "
        "&lt;!channel&gt; &lt;https://evil.example|the report&gt; @all`"
    ) == told["text"]
    assert "cannot read `a` & <!channel> <https://evil.example|the report> @all" == told["run"]["error"]
