from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import ServerProcess, ServerStartError, free_ports, process, skip_or_fail
from nessie_gc_core.testing.servers.process import LOOPBACK, answers_ok


def python(*code: str) -> list[str]:
    return [sys.executable, "-u", "-c", "\n".join(code)]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Like :func:`is_there`, but a process that ended and was not yet waited for does not count."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_server_is_ready_inside_and_gone_after(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    uri = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)]

    with ServerProcess("files", command, is_ready=lambda: answers_ok(uri), log=tmp_path / "log") as server:
        pid = server.pid
        assert answers_ok(uri)

    assert not answers_ok(uri)
    assert not is_there(pid)


def test_a_server_that_ends_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    server = ServerProcess("short", python("print('no such store')", "exit(3)"), is_ready=lambda: False, log=log)

    with pytest.raises(ServerStartError) as raised:
        server.start()

    assert f"short ended while it started; see {log}: no such store" == str(raised.value)
    assert not server.is_running


def test_a_server_that_is_not_ready_in_time_is_stopped(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import os, pathlib, time",
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))",
        "time.sleep(60)",
    )
    server = ServerProcess("slow", python(*code), is_ready=lambda: False, log=tmp_path / "log", ready_timeout_seconds=1)

    with pytest.raises(ServerStartError, match="slow was not ready after 1 s"):
        server.start()

    assert not is_there(int(pid_file.read_text()))


def test_a_server_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = ("import signal, time", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "print('up')", "time.sleep(60)")
    started = time.monotonic()
    with ServerProcess(
        "stubborn", python(*code), is_ready=lambda: "up" in log.read_text(), log=log, stop_timeout_seconds=0.2
    ) as server:
        pid = server.pid

    assert not is_there(pid)
    assert time.monotonic() - started < 30


def test_no_server_outlives_a_starter_that_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    starter_code = f"""
import os, pathlib, signal, sys
from nessie_gc_core.testing.servers import ServerProcess
command = [sys.executable, "-c", "import time; time.sleep(60)"]
server = ServerProcess("idle", command, is_ready=lambda: True, log=pathlib.Path({str(tmp_path / "log")!r}))
server.start()
pathlib.Path({str(pid_file)!r}).write_text(str(server.pid))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run(python(starter_code), check=False)
    pid, deadline = int(pid_file.read_text()), time.monotonic() + 20

    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert not is_running(pid)


def test_stopping_twice_does_no_harm(tmp_path: Path) -> None:
    server = ServerProcess("idle", python("import time; time.sleep(60)"), is_ready=lambda: True, log=tmp_path / "log")
    server.start()
    server.stop()
    server.stop()

    with pytest.raises(ServerStartError, match="not started"):
        _ = server.pid


def test_free_ports_are_different() -> None:
    assert 5 == len(set(free_ports(5)))


def test_free_ports_are_none_that_the_system_gives_to_others() -> None:
    with socket.socket() as any_port:
        any_port.bind((LOOPBACK, 0))
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        assert any_port.getsockname()[1] >= lowest
    assert [] == [port for port in free_ports(20) if port >= lowest]


def test_a_system_that_does_not_say_which_ports_it_gives_has_free_ports_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_lowest_of_the_system", lambda: 0)
    assert 5 == len(set(free_ports(5)))


@pytest.mark.parametrize("variable", ["CI", "NESSIE_GC_REQUIRE_SERVERS"])
def test_a_missing_server_fails_where_servers_are_required(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")

    with pytest.raises(ConfigurationError, match="no Java"), skip_or_fail():
        raise ConfigurationError("no Java")


def test_a_missing_server_is_else_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("NESSIE_GC_REQUIRE_SERVERS", "0")

    with pytest.raises(pytest.skip.Exception, match="no Java"), skip_or_fail():
        raise ConfigurationError("no Java")


def test_a_server_that_does_not_start_fails_and_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(ServerStartError), skip_or_fail():
        raise ServerStartError("it ended")
