"""A server that is one process on one port, with a folder that goes when it does."""

from __future__ import annotations

import shutil
import socket
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, ServerStartError, free_ports
from nessie_gc_core.testing.servers.startable import Startable


class OneProcessServer(Startable):
    """What such servers share: a free port, tried once more where another process takes it in between."""

    title: ClassVar[str]
    """What messages call it."""
    ready_timeout_seconds: ClassVar[float] = 120

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._process: ServerProcess | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The loopback port that it listens on."""
        if self._process is None:
            raise ServerStartError(f"{self.title} is not started; start it before asking for its address")
        return self._port

    def start(self) -> None:
        """Starts it and returns when it answers.

        Raises:
            ConfigurationError: something that it needs is not installed.
            ServerStartError: it did not start.
        """
        if self._process is not None:
            raise ServerStartError(f"{self.title} is already running on port {self._port}; stop it first")
        self._folder = Path(tempfile.mkdtemp(prefix="nessie-gc-"))
        try:
            self._start(self._folder)
        except ServerStartError as error:
            if "in use" not in str(error):
                raise
            self._start(self._folder)

    def stop(self) -> None:
        """Stops it and removes its folder; may be called twice."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def restart(self) -> None:
        """Stops it and starts it again, on the same port and with its data; clients lose their connections.

        Raises:
            ServerStartError: it does not run, or does not start again.
        """
        if self._process is None:
            raise ServerStartError(f"{self.title} is not started; start it before restarting it")
        self._process.restart()

    def _start(self, folder: Path) -> None:
        (port,) = free_ports(1)
        process = ServerProcess(
            self.title,
            self._command(folder, port),
            is_ready=lambda: self._is_ready(port),
            log=folder / "server.log",
            environment=self._environment(),
            ready_timeout_seconds=self.ready_timeout_seconds,
        )
        process.start()
        self._port, self._process = port, process

    @abstractmethod
    def _command(self, folder: Path, port: int) -> list[str]:
        """The program and its arguments; files may be written to the folder."""

    def _environment(self) -> dict[str, str]:
        """What is added to this process' environment."""
        return {}

    def _is_ready(self, port: int) -> bool:
        """Whether it answers on its port."""
        return accepts(port)


def accepts(port: int) -> bool:
    """Whether someone takes connections on a loopback port."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=5):
            return True
    except OSError:
        return False
