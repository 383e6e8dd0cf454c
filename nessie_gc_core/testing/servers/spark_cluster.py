"""A standalone Spark cluster on loopback, from the pyspark wheel: one master, and some workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from nessie_gc_core.testing.servers.java import SHORT_LIVED
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, free_ports
from nessie_gc_core.testing.servers.spark_wheel import spark_environment, spark_program
from nessie_gc_core.testing.servers.startable import Startable

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}


class SparkCluster(Startable):
    """A master and its workers, each a process; ``master_uri`` is what ``--spark-master`` takes.

    Example::

        with SparkCluster(folder) as cluster:
            SparkEngine(master=cluster.master_uri, conf=cluster.driver_conf)
    """

    def __init__(self, folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        """Prepares it.

        Args:
            folder: gets a log of each process, and a folder ``worker-N`` for what the executors of a worker write.
            workers: how many there are.
            cores: how many tasks a worker runs at the same time.
            memory: what the executors of a worker may have together.

        Raises:
            ConfigurationError: pyspark is not installed, or there is no Java that Spark runs on.
        """
        self._folder = folder
        self._workers, self._cores, self._memory = workers, cores, memory
        self._environment = {**spark_environment(), "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}
        self._stack = ExitStack()
        self._port, *self._worker_ports = free_ports(1 + workers)

    @property
    def master_uri(self) -> str:
        """The master's address."""
        return f"spark://{LOOPBACK}:{self._port}"

    @property
    def driver_conf(self) -> Mapping[str, str]:
        """Properties of a session that uses all workers: an executor on each, waited for before the first task."""
        return {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.executor.cores": str(self._cores),
            "spark.executor.memory": self._memory,
            "spark.cores.max": str(self._workers * self._cores),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        }

    def executor_pids(self) -> list[int]:
        """The process ids of the executors that run now, in no order; Linux only."""
        urls = [f"spark://Worker@{LOOPBACK}:{port}" for port in self._worker_ports]
        return [pid for pid, command in _commands() if _EXECUTOR in command and any(url in command for url in urls)]

    def start(self) -> None:
        """Starts all; returns when every worker is registered.

        Raises:
            ServerStartError: one of them does not become ready in time.
        """
        listen = ["--host", LOOPBACK, "--webui-port", "0"]
        with ExitStack() as started:
            started.callback(self.stop)
            self._run("master", "master", [*listen, "--port", str(self._port)], "I have been elected leader")
            for number, port in enumerate(self._worker_ports, start=1):
                name = f"worker-{number}"
                offered = [
                    "--cores",
                    str(self._cores),
                    "--memory",
                    self._memory,
                    "--work-dir",
                    str(self._folder / name),
                ]
                options = [*listen, "--port", str(port), *offered, self.master_uri]
                self._run("worker", name, options, "Successfully registered with master")
            started.pop_all()

    def stop(self) -> None:
        """Stops all; may be called twice."""
        self._stack.close()

    def _run(self, role: str, name: str, options: list[str], ready: str) -> None:
        log = self._folder / f"{name}.log"
        server = ServerProcess(
            f"Spark {name}",
            [spark_program("spark-class"), _CLASSES[role], *options],
            is_ready=lambda: ready in log.read_text(encoding="utf-8", errors="replace"),
            log=log,
            environment=self._environment,
        )
        server.start()
        self._stack.callback(server.stop)


def _commands() -> Iterator[tuple[int, Sequence[str]]]:
    """Every process with its command; those that end meanwhile are left out."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(folder.name), (folder / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
