"""The command line on a Spark Connect server, in a process that has no other session."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nessie_gc_core import Collector
from nessie_gc_core.engines.spark.session import open_session
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import free_ports
from nessie_gc_core.testing.servers.spark_connect import SparkConnectServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.server
def test_the_address_of_a_connect_server_is_a_spark_master(connect_server: SparkConnectServer) -> None:
    command = [
        *(sys.executable, "-W", "error", "-m", "nessie_gc_core", "check", "--repository", "memory", "-r", "lake=none"),
        *("--engine", "spark", "--spark-master", connect_server.uri, "--spark-conf", "spark.sql.shuffle.partitions=3"),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "ok      engine spark: spark runs, and its workers have the same plugins" in done.stdout, done.stderr[-2000:]


@pytest.mark.spark
@pytest.mark.server
def test_tables_are_not_rewritten_through_spark_connect(connect: SparkSession) -> None:
    with (
        Collector(spark=connect, repository="memory") as collector,
        pytest.raises(ConfigurationError, match="Spark Connect gives no access to the JVM"),
    ):
        collector.rewrite_manifests("spark_catalog")


def test_a_connect_server_that_is_not_there_is_named_at_once_and_without_its_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    address = f"sc://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(ConfigurationError, match=f"{address} cannot be reached") as raised:
        open_session(f"{address}/;token=secret", {})
    assert "secret" not in str(raised.value)
