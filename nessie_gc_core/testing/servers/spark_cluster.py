"""A standalone Spark cluster on loopback: one master, one worker, from the pyspark wheel."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, free_ports
from nessie_gc_core.testing.servers.spark_wheel import spark_environment, spark_program
from nessie_gc_core.testing.servers.startable import Startable

_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}


class SparkCluster(Startable):
    """A master and a worker with two cores; ``master_uri`` is what ``--spark-master`` takes.

    Example::

        with SparkCluster(folder) as cluster:
            SparkEngine(master=cluster.master_uri, conf=cluster.driver_conf)
    """

    driver_conf = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}  # noqa: RUF012 - a constant

    def __init__(self, folder: Path, *, cores: int = 2, memory: str = "1g") -> None:
        """Prepares it; logs and the worker's files go to the folder.

        Raises:
            ConfigurationError: pyspark is not installed.
            ServerStartError: there is no Java that Spark runs on.
        """
        self._folder = folder
        self._cores, self._memory = cores, memory
        self._stack = ExitStack()
        self._port, self._worker_port = free_ports(2)

    @property
    def master_uri(self) -> str:
        """The master's address."""
        return f"spark://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Starts both; returns when the worker is registered.

        Raises:
            ServerStartError: one of them does not become ready in time.
        """
        listen = ["--host", LOOPBACK, "--webui-port", "0"]
        worker = ["--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(self._folder / "work")]
        options = [*listen, "--port", str(self._worker_port), *worker, self.master_uri]
        with ExitStack() as started:
            started.callback(self.stop)
            self._run("master", [*listen, "--port", str(self._port)], "I have been elected leader")
            self._run("worker", options, "Successfully registered with master")
            started.pop_all()

    def stop(self) -> None:
        """Stops both; may be called twice."""
        self._stack.close()

    def _run(self, role: str, options: list[str], ready: str) -> None:
        log = self._folder / f"{role}.log"
        server = ServerProcess(
            f"Spark {role}",
            [spark_program("spark-class"), _CLASSES[role], *options],
            is_ready=lambda: ready in log.read_text(encoding="utf-8", errors="replace"),
            log=log,
            environment=spark_environment(),
        )
        server.start()
        self._stack.callback(server.stop)
