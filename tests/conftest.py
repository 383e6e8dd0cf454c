"""What tests of the core share: one Nessie server and one Spark session of each kind for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.testing.servers import NessieServer, skip_or_fail
from nessie_gc_core.testing.servers.spark_connect import SparkConnectServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def nessie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NessieServer]:
    """A server for tests that leave alone what others have put there."""
    server = NessieServer(log=tmp_path_factory.mktemp("nessie") / "nessie.log")
    with skip_or_fail():
        server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The only Spark session of the test process: hand it to engines, and never stop it."""
    with skip_or_fail():
        session = iceberg_session(log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkConnectServer]:
    """A Spark Connect server, whose Spark runs in a process of its own."""
    with skip_or_fail():
        server = SparkConnectServer(tmp_path_factory.mktemp("connect") / "connect.log")
    with server:
        yield server


@pytest.fixture(scope="session")
def connect(connect_server: SparkConnectServer) -> Iterator[SparkSession]:
    """The tests' session on that server: never stop it."""
    session = connect_server.new_session()
    yield session
    session.stop()
