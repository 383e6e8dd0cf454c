"""Airflow with a metadata database of its own, and a lake of one table."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

HOME = Path(tempfile.mkdtemp(prefix="nessie-gc-airflow-"))
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = str(free.getsockname()[1])
URL = f"http://127.0.0.1:{PORT}/execution/"
os.environ.update(  # before anything imports Airflow
    AIRFLOW_HOME=str(HOME),
    AIRFLOW__CORE__DAGS_FOLDER=str(HOME / "dags"),
    AIRFLOW__CORE__LOAD_EXAMPLES="false",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{HOME}/airflow.db",
    AIRFLOW__API_AUTH__JWT_SECRET=token_hex(32),
    AIRFLOW__CORE__EXECUTION_API_SERVER_URL=URL,
    AIRFLOW__CORE__EXECUTOR="LocalExecutor",
    AIRFLOW__CORE__PARALLELISM="1",
    AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL="1",
    AIRFLOW__LOGGING__BASE_LOG_FOLDER=str(HOME / "logs"),
)

from lake import Lake  # noqa: E402 - after the environment


@pytest.fixture(scope="session", autouse=True)
def airflow_home() -> Iterator[Path]:
    """The folder of Airflow, with a new database and no DAGs."""
    (HOME / "dags").mkdir()
    command = [sys.executable, "-m", "airflow", "db", "migrate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    yield HOME
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session")
def api_server(airflow_home: Path) -> Iterator[None]:
    """The server that workers of Airflow talk to."""
    command = [sys.executable, "-m", "airflow", "api-server", "--host", "127.0.0.1", "--port", PORT]
    with (airflow_home / "api-server.log").open("w") as log:
        server = subprocess.Popen([*command, "--workers", "1", "--apps", "execution"], stdout=log, stderr=log)
    try:
        _wait_for(f"{URL}health", server)
        yield
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    while True:
        assert server.poll() is None, (HOME / "api-server.log").read_text()[-4000:]
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            time.sleep(0.2)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A lake with one file of garbage."""
    lake = Lake(tmp_path)
    yield lake
    lake.close()
