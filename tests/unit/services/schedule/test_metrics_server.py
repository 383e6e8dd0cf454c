"""Metrics that are served are read by nobody's page, and at one path."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest

from nessie_gc_core.services.schedule.telling.metrics import Metrics
from nessie_gc_core.services.schedule.telling.metrics_server import MetricsServer
from nessie_gc_core.services.schedule.telling.settings import listeners_of

from .conftest import DAILY, Bench
from .test_telling import has_ipv6


@contextmanager
def served(bench: Bench, host: str) -> Iterator[MetricsServer]:
    metrics = Metrics("default", bench.store)
    yield metrics.serve(host, 0)
    metrics.close()


def asked(server: MetricsServer, host: str, path: str = "/metrics") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


@pytest.mark.parametrize(
    ("at", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:9000", HTTPStatus.OK),
        ("127.0.0.1", "localhost", HTTPStatus.OK),
        ("127.0.0.1", "[::1]:9000", HTTPStatus.OK),
        ("localhost", "LocalHost:9000", HTTPStatus.OK),
        ("127.0.0.1", "evil.example:9000", HTTPStatus.MISDIRECTED_REQUEST),
        ("127.0.0.1", "localhost.evil.example", HTTPStatus.MISDIRECTED_REQUEST),
        ("127.0.0.1", "127.0.0.1.evil.example", HTTPStatus.MISDIRECTED_REQUEST),
        ("127.0.0.1", "[evil", HTTPStatus.MISDIRECTED_REQUEST),
        ("127.0.0.1", "", HTTPStatus.MISDIRECTED_REQUEST),
        ("0.0.0.0", "collector.example", HTTPStatus.OK),
    ],
)
def test_metrics_on_loopback_are_told_under_its_names_only(
    bench: Bench, at: str, host: str, status: HTTPStatus
) -> None:
    with served(bench, at) as server:
        assert status == asked(server, host).status


def test_metrics_are_at_one_path_and_say_nothing_of_python(bench: Bench) -> None:
    with served(bench, "127.0.0.1") as server:
        answers = [asked(server, "localhost", path) for path in ("/metrics?x=1", "/", "/metrics/x")]
    assert [200, 404, 404] == [answer.status for answer in answers]
    assert {"nosniff"} == {answer.headers["X-Content-Type-Options"] for answer in answers}
    assert {"nessie-gc"} == {answer.headers["Server"].strip() for answer in answers}


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_the_log_has_an_address_of_ipv6_in_brackets(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    settings: dict[str, Any] = {"metrics-host": "::1", "metrics-port": 0}
    scheduler = bench.scheduler(DAILY, **settings)
    listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=False).close(seconds=20)
    assert "metrics are served at http://[::1]:" in caplog.text
