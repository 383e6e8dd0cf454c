"""Nessie's own server, from its published runner jar."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nessie_gc_core.testing.servers.jar import NESSIE_VERSION, nessie_jar
from nessie_gc_core.testing.servers.java import SHORT_LIVED, JavaRole, find_java
from nessie_gc_core.testing.servers.process import (
    LOOPBACK,
    ServerProcess,
    ServerStartError,
    answers_ok,
    free_ports,
)
from nessie_gc_core.testing.servers.startable import Startable

__all__ = ["NESSIE_VERSION", "NessieServer", "nessie_jar"]

_QUIET = {
    "quarkus.http.access-log.enabled": "false",
    "quarkus.log.console.format": "%d{HH:mm:ss} %-5p [%c{3.}] %s%e%n",
    "quarkus.banner.enabled": "false",
}


class NessieServer(Startable):
    """A Nessie server on free loopback ports; its version store is in memory unless properties say otherwise.

    Example::

        with NessieServer() as nessie:
            requests.get(f"{nessie.uri}/trees")
    """

    def __init__(
        self,
        *,
        properties: Mapping[str, str] | None = None,
        log: Path | None = None,
        heap: str = "512m",
        ready_timeout_seconds: float = 120,
    ) -> None:
        self.properties = dict(properties or {})
        self._log = log
        self._heap = heap
        self._ready_timeout_seconds = ready_timeout_seconds
        self._folder: Path | None = None
        self._process: ServerProcess | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port of its REST interfaces."""
        if self._process is None:
            raise ServerStartError("Nessie's server is not started; start it before asking for its address")
        return self._port

    @property
    def uri(self) -> str:
        """Base of the REST API, version 2."""
        return f"http://{LOOPBACK}:{self.port}/api/v2"

    @property
    def iceberg_uri(self) -> str:
        """Base of the Iceberg REST catalog interface."""
        return f"http://{LOOPBACK}:{self.port}/iceberg"

    def start(self) -> None:
        """Starts it and returns when it answers.

        Raises:
            ConfigurationError: there is no suitable Java, or the jar is not available.
            ServerStartError: it did not start.
        """
        if self._process is not None:
            raise ServerStartError(f"Nessie's server is already running on port {self._port}; stop it first")
        java, jar = find_java(JavaRole.NESSIE), nessie_jar()
        try:
            self._start(java.executable, jar)
        except ServerStartError as error:
            if "already bound" not in str(error) and "in use" not in str(error):
                raise
            self._start(java.executable, jar)  # another process took the port in between

    def stop(self) -> None:
        """Stops it; may be called twice."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def restart(self) -> None:
        """Stops it and starts it again, on the same port, with what its version store keeps.

        Raises:
            ServerStartError: it does not run, or does not start again.
        """
        if self._process is None:
            raise ServerStartError("Nessie's server is not started; start it before restarting it")
        self._process.restart()

    def _start(self, java: Path, jar: Path) -> None:
        port, management_port = free_ports(2)
        process = ServerProcess(
            f"Nessie {NESSIE_VERSION}",
            [str(java), SHORT_LIVED, f"-Xmx{self._heap}", *self._definitions(port, management_port), "-jar", str(jar)],
            is_ready=lambda: (
                answers_ok(f"http://{LOOPBACK}:{port}/api/v2/config") or self._ready_by_management(management_port)
            ),
            log=self._log_file(),
            ready_timeout_seconds=self._ready_timeout_seconds,
        )
        process.start()
        self._port, self._process = port, process

    @staticmethod
    def _ready_by_management(port: int) -> bool:
        """A server that demands credentials refuses /config, and says here that it is ready."""
        return answers_ok(f"http://{LOOPBACK}:{port}/q/health/ready")

    def _definitions(self, port: int, management_port: int) -> list[str]:
        properties = {
            **_QUIET,
            "nessie.version.store.type": "IN_MEMORY",
            **self.properties,
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": str(port),
            "quarkus.management.host": LOOPBACK,
            "quarkus.management.port": str(management_port),
        }
        return [f"-D{name}={value}" for name, value in properties.items()]

    def _log_file(self) -> Path:
        """A folder of its own; it stays where the start fails, because the error names the log in it."""
        if self._log is not None:
            return self._log
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="nessie-gc-"))
        return self._folder / "nessie.log"
