"""Who is told of runs: a webhook that may hang, and metrics that are scraped or pushed."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from typing import Any

import pytest

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.services.schedule import bounded_server
from nessie_gc_core.services.schedule.bounded_server import MOST_REQUESTS
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.telling import listeners
from nessie_gc_core.services.schedule.telling.metrics import Metrics
from nessie_gc_core.services.schedule.telling.settings import listeners_of

from .conftest import DAILY, FAILED, Bench, Receiver, run_with


# ---- webhook --------------------------------------------------------------------------------------------
def test_a_webhook_is_told_of_failures_without_their_reports(bench: Bench, receiver: Receiver) -> None:
    run_with(bench, FAILED, webhook=f"{receiver.address}/T0/secret")
    ((path, body),) = receiver.bodies
    told = json.loads(body)
    assert ("/T0/secret", "default", "Nessie GC default: nightly FAILED: `it failed`") == (
        path,
        told["schedule"],
        told["text"],
    )
    assert ("FAILED", False) == (told["run"]["status"], "report" in told["run"])


@pytest.mark.parametrize(("on", "count"), [(None, 0), (["succeeded"], 1), ([], 0)])
def test_a_webhook_is_told_of_the_statuses_that_were_asked_for(
    bench: Bench, receiver: Receiver, on: list[str] | None, count: int
) -> None:
    more: dict[str, Any] = {} if on is None else {"webhook-on": on}
    run_with(bench, webhook=receiver.address, **more)
    assert count == len(receiver.bodies)


def test_a_webhook_that_refuses_is_tried_again_and_never_shown(
    bench: Bench, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 503
    run_with(bench, FAILED, webhook=f"{receiver.address}/secret")
    assert 3 == len(receiver.bodies)
    assert "is not told: the address answers 503 Service Unavailable" in caplog.text
    assert "secret" not in caplog.text


def test_a_webhook_that_hangs_holds_up_no_run(
    bench: Bench, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.hangs.set()
    monkeypatch.setattr(listeners, "MOST_WAITING", 2)
    scheduler = bench.scheduler(DAILY, webhook=receiver.address)
    scheduler.listeners = listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=False)
    scheduler.define()
    bench.runner.outcomes["nightly"] = [FAILED] * 6
    for _ in range(6):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    assert 6 == len(bench.runs())
    begun = time.monotonic()
    scheduler.listeners.close(seconds=0.1)
    assert time.monotonic() - begun < 5
    assert "the webhook is not told of the run" in caplog.text
    assert "the webhook does not end, and is left" in caplog.text
    receiver.go_on.set()
    scheduler.listeners.close(seconds=30)  # else it speaks in a later test


def test_a_webhook_that_nobody_answers_is_one_line(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    run_with(bench, FAILED, webhook="http://127.0.0.1:9/secret")
    assert "the address cannot be reached: [Errno 111] Connection refused" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"webhook": "ftp://host/secret"}, "`webhook` is not an HTTP address"),
        ({"webhook": "secret"}, "`webhook` is not an HTTP address"),
        ({"webhook": "http://user:secret@host/x"}, "`webhook` is not an HTTP address"),
        ({"webhook": "http://host:secret/x"}, "`webhook` is not an HTTP address"),
        ({"webhook": "http://host/a/secret x"}, "`webhook` is not an HTTP address"),
        ({"webhook": "http://[secret/x"}, "`webhook` is not an HTTP address"),
        ({"webhook": "http://secret\u2100/x"}, "`webhook` is not an HTTP address"),
        ({"metrics-push": "http://user:secret@host"}, "`metrics-push` is not an HTTP address"),
        ({"webhook": "http://host", "webhook-on": ["BROKEN"]}, "unknown status 'BROKEN'; there are: SUCCEEDED, FAILED"),
    ],
)
def test_a_webhook_that_is_wrong_is_refused_at_once(bench: Bench, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        run_with(bench, **settings)
    assert "secret" not in str(caught.value)


def test_a_webhook_that_moved_has_taken_nothing(
    bench: Bench, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 302
    run_with(bench, FAILED, webhook=receiver.address)
    assert 3 == len(receiver.bodies)
    assert "is not told: the address answers 302 Found" in caplog.text


# ---- metrics --------------------------------------------------------------------------------------------
def lines_of(text: str) -> dict[str, float]:
    """Each series with its value."""
    series = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in series}


def test_metrics_say_what_the_last_runs_were_and_what_comes(bench: Bench) -> None:
    scheduler = bench.scheduler(DAILY)
    report = '{"deleted": {"files": 3, "bytes": 70}}'
    bench.runner.outcomes["nightly"] = [FAILED, Outcome(exit_code=0, report=report)]
    scheduler.define()
    for _ in range(2):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    later = Metrics("default", bench.store, clock=bench.clock)
    port = later.serve("127.0.0.1", 0).port
    job = 'schedule="default",schedule_job="nightly",service="gc"'
    ended = bench.clock().timestamp()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = lines_of(answer.read().decode())
    expected = {
        f'nessie_gc_last_run_timestamp_seconds{{{job},status="SUCCEEDED"}}': ended,
        f'nessie_gc_last_run_timestamp_seconds{{{job},status="FAILED"}}': ended - 86_400,
        f'nessie_gc_last_run_bytes{{outcome="deleted",{job}}}': 70,
        f"nessie_gc_job_next_start_timestamp_seconds{{{job}}}": ended + 86_400,
        f"nessie_gc_job_running{{{job}}}": 0,
        f"nessie_gc_job_paused{{{job}}}": 0,
        'nessie_gc_schedule_store_up{schedule="default"}': 1,
    }
    assert {name: _sorted(found).get(name) for name in _sorted(expected)} == _sorted(expected)


def _sorted(series: dict[str, float]) -> dict[str, float]:
    """The same with the labels of each series in order."""
    return {
        f"{name}{{{','.join(sorted(labels.rstrip('}').split(',')))}}}": value
        for (name, _, labels), value in ((series_.partition("{"), value) for series_, value in series.items())
    }


def test_the_port_of_metrics_that_were_closed_is_free(bench: Bench) -> None:
    first, second = Metrics("default", bench.store), Metrics("default", bench.store)
    port = first.serve("127.0.0.1", 0).port
    first.close()
    assert port == second.serve("127.0.0.1", port).port
    second.close()


def test_metrics_of_a_store_that_is_away_say_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client import generate_latest

    def away(schedule: str) -> None:
        raise StoreError("the database is away")

    metrics = Metrics("default", bench.store)
    monkeypatch.setattr(bench.store, "jobs", away)
    assert {'nessie_gc_schedule_store_up{schedule="default"}': 0.0} == lines_of(
        generate_latest(metrics.registry).decode()
    )


def test_a_short_scheduler_pushes_its_metrics_when_it_ends(bench: Bench, receiver: Receiver) -> None:
    run_with(bench, once=True, **{"metrics-push": receiver.address, "metrics-port": 0})
    ((path, body),) = receiver.bodies
    assert "/metrics/job/nessie-gc/schedule/default" == path
    assert b"nessie_gc_last_run_timestamp_seconds" in body


def test_a_pushgateway_takes_several_jobs_of_one_service_and_keeps_their_names(
    bench: Bench, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    settings: dict[str, Any] = {"metrics-push": receiver.address}
    scheduler = bench.scheduler({**DAILY, "weekly": {"cron": "@daily"}}, **settings)
    scheduler.listeners = listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=True)
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    scheduler.listeners.close(seconds=20)
    assert [] == [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    labels = [dict(each) for name, each in receiver.pushed if name == "nessie_gc_last_run_timestamp_seconds"]
    assert [("nightly", "nessie-gc"), ("weekly", "nessie-gc")] == sorted(
        (each["schedule_job"], each["job"]) for each in labels
    )


def test_a_gateway_that_is_away_is_one_line(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    run_with(bench, once=True, **{"metrics-push": "http://127.0.0.1:9/secret"})
    assert ["metrics: the Pushgateway does not take them: URLError"] == [
        record.getMessage() for record in caplog.records if record.levelname == "ERROR"
    ]


def test_a_port_that_is_taken_is_said_to_be(bench: Bench) -> None:
    port = Metrics("default", bench.store).serve("127.0.0.1", 0).port
    with pytest.raises(ConfigurationError, match=f"cannot serve metrics at 127.0.0.1:{port}: Address already in use"):
        Metrics("default", bench.store).serve("127.0.0.1", port)


def test_clients_that_ask_for_nothing_keep_metrics_from_nobody_for_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_server, "TIMEOUT_SECONDS", 0.5)
    port = Metrics("default", bench.store).serve("127.0.0.1", 0).port
    idle = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(2 * MOST_REQUESTS)]
    assert {b""} == {connection.recv(1) for connection in idle}  # all were closed
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        assert "nessie_gc_schedule_store_up" in answer.read().decode()
    for connection in idle:
        connection.close()


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_metrics_are_served_at_an_address_of_ipv6(bench: Bench) -> None:
    port = Metrics("default", bench.store).serve("::1", 0).port
    with urllib.request.urlopen(f"http://[::1]:{port}/metrics", timeout=10) as answer:
        assert 200 == answer.status
