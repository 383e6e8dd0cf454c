from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

ONCE = ("-r", "retries=0", "-r", "reconnect_seconds=0", "--read-timeout", "PT1S", "--connect-timeout", "PT1S")


class Answer(BaseHTTPRequestHandler):
    """Answers every request in the way that the path begins with: a status, or silence; or silence but for its name."""

    def do_GET(self) -> None:
        kind = self.path.split("/")[1]
        named = kind == "named" and self.path.endswith("/config")
        if kind in ("silence", "named") and not named:
            time.sleep(3)
            return
        body = b"<html>this is no Nessie</html>" if kind == "nonsense" else b"{}"
        self.send_response(200 if kind in ("nonsense", "named") else int(kind))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", ["401", "403", "404", "503", "nonsense", "silence"])
def test_a_server_that_does_not_serve_is_named_in_one_line(run: Run, server: str, kind: str) -> None:
    result = run("gc", "--inmemory", "--engine", "local", "-u", f"{server}/{kind}/api/v2", *ONCE)
    assert (2 if kind == "404" else 1) == result.exit_code  # a 404 says that the address is wrong
    assert server in one_line(result)


def test_nobody_there_is_named_in_one_line(run: Run) -> None:
    result = run("mark", "-u", "http://127.0.0.1:1/api/v2", *ONCE)
    assert 1 == result.exit_code
    assert "http://127.0.0.1:1/api/v2" in one_line(result)


def test_a_repository_that_does_not_say_which_it_is_gets_no_live_set(run: Run) -> None:
    assert 1 == run("mark", "-u", "http://127.0.0.1:1/api/v2", *ONCE).exit_code
    assert [] == json.loads(run("list", "--json").stdout)["live_sets"]


def test_a_failed_mark_names_its_live_set_in_json(server: str, run: Run) -> None:
    body = json.loads(run("mark", "-u", f"{server}/named/api/v2", *ONCE, "--json").stdout)
    assert [body["live_set_id"]] == [found["id"] for found in json.loads(run("list", "--json").stdout)["live_sets"]]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_file_that_is_no_database_is_named(run: Run, home: Path) -> None:
    (home / "x.db").write_text("this is no database, whatever its name says" * 100)
    result = run("list", "--jdbc-url", f"sqlite:///{home}/x.db")
    assert 1 == result.exit_code
    assert "x.db" in one_line(result)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_database_of_another_program_is_left_alone(run: Run, home: Path) -> None:
    connection = sqlite3.connect(home / "x.db")
    connection.execute("CREATE TABLE mine (a)")
    connection.commit()
    connection.close()
    assert 0 == run("list", "--jdbc-url", f"sqlite:///{home}/x.db").exit_code
    connection = sqlite3.connect(home / "x.db")
    assert 0 == connection.execute("SELECT count(*) FROM mine").fetchone()[0]
    connection.close()


def test_a_run_that_is_terminated_says_so_and_fails_its_live_set(server: str, home: Path, run: Run) -> None:
    command = [sys.executable, "-m", "nessie_gc_core", "mark", "-u", f"{server}/named/api/v2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        deadline = time.monotonic() + 60
        while "IDENTIFY_IN_PROGRESS" not in run("list").stdout and time.monotonic() < deadline:
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (143, "error: terminated") == (process.returncode, said.splitlines()[-1])
    assert "IDENTIFY_FAILED" in run("list").stdout


def test_metadata_that_is_no_json_freezes_its_table_and_is_named(run: Run, lake: MemoryLake) -> None:
    head = lake.history.state_at(lake.history.reference("main").commit_id)["db.t"].metadata_location or ""
    lake.objects.delete(head)
    lake.put(head, b'{"cut": "of')
    before = lake.paths()
    result = run("gc", *COLLECT, "--inmemory", "--json")
    assert 1 == result.exit_code
    assert any(head in found["reason"] for found in json.loads(result.stdout)["unknown"])
    assert before == lake.paths()
