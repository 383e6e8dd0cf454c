"""A Spark Connect server on loopback, from the pyspark wheel."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, ServerStartError, free_ports
from nessie_gc_core.testing.servers.spark_wheel import spark_environment, spark_program, with_connect
from nessie_gc_core.testing.servers.startable import Startable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class SparkConnectServer(Startable):
    """A server whose Spark runs in its own process on local cores; ``uri`` is what a client connects to.

    Example::

        with SparkConnectServer(folder / "connect.log") as server:
            SparkEngine(server.new_session())
    """

    conf: Mapping[str, str] = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.session.manager.defaultSessionTimeout": "24h",  # Spark closes idle sessions after an hour
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.sql.ansi.enabled": "true",  # in Spark 3.5, predicates need it
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }

    def __init__(self, log: Path, *, cores: int = 2, conf: Mapping[str, str] | None = None) -> None:
        """Prepares it.

        Args:
            log: file that gets what the server has to say.
            cores: how many tasks it runs at the same time.
            conf: more Spark properties.

        Raises:
            ConfigurationError: pyspark, its Connect client or a Java for it is missing.
        """
        if importlib.util.find_spec("grpc") is None:
            raise ConfigurationError("Spark Connect's client is not installed: pip install 'nessie-gc-core[connect]'")
        (self._port,) = free_ports(1)
        given = {**self.conf, **(conf or {}), "spark.connect.grpc.binding.port": str(self._port)}
        options = [part for key, value in with_connect(given).items() for part in ("--conf", f"{key}={value}")]
        self._server = ServerProcess(
            "Spark Connect server",
            [spark_program("spark-submit"), "--class", _CLASS, "--master", f"local[{cores}]", *options],
            is_ready=self._answers,
            log=log,
            environment=spark_environment(),
        )

    @property
    def uri(self) -> str:
        """The server's address."""
        return f"sc://{LOOPBACK}:{self._port}"

    def new_session(self) -> SparkSession:
        """A session of its own; the process may have a classic session too. Stop it before the server.

        Raises:
            ServerStartError: the server does not run; a client would try for ten minutes to reach it.
        """
        if not self._server.is_running:
            raise ServerStartError("the Spark Connect server is not started; start it before making a session")
        from pyspark.sql.connect.session import SparkSession as RemoteSession

        session: SparkSession = RemoteSession.builder.remote(self.uri).create()  # type: ignore[assignment]  # the API is the same
        return session

    def start(self) -> None:
        """Starts it; returns when it answers.

        Raises:
            ServerStartError: it ended, or does not answer in time.
        """
        self._server.start()

    def stop(self) -> None:
        """Stops it; may be called twice."""
        self._server.stop()

    def _answers(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self._port), timeout=5).close()
        except OSError:
            return False
        return True
