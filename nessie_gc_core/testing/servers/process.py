"""A server as a child process: started, waited for, logged, and stopped by its own process id."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from nessie_gc_core.errors import ServiceUnavailableError
from nessie_gc_core.model.text import duration_text
from nessie_gc_core.testing.servers.startable import Startable

LOOPBACK = "127.0.0.1"
_LOG_TAIL_CHARACTERS = 600
_LOWEST_PORT = 15_000
"""Below are those of well-known servers."""
_CHANCE = random.SystemRandom()
"""Two processes whose tests have one seed choose different ports."""
_GUARD = 'read _; kill "$1" 2>/dev/null'
"""Waits for the end of its input, which comes when this process ends in whatever way, and ends the server then."""


class ServerStartError(ServiceUnavailableError):
    """A server ended, or was not ready in time; the message names its log and shows the end of it."""


def free_ports(count: int) -> tuple[int, ...]:
    """Different loopback ports that are free now (another process may still take one before it is used).

    They are none that the system gives to whoever asks for any: else a request that is meant for a server that does not
    run may reach someone else, such as Spark, which reads a length from it and never answers again.
    """
    lowest = _lowest_of_the_system()
    chosen: list[int] = []
    with ExitStack() as sockets:
        while len(chosen) < count:
            bound = sockets.enter_context(socket.socket())
            port = _LOWEST_PORT + _CHANCE.randrange(lowest - _LOWEST_PORT) if lowest > _LOWEST_PORT else 0
            with suppress(OSError):  # somebody has it
                bound.bind((LOOPBACK, port))
                chosen.append(bound.getsockname()[1])
    return tuple(chosen)


def _lowest_of_the_system() -> int:
    """The lowest port that the system gives to whoever asks for any; 0: unknown."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def answers_ok(uri: str) -> bool:
    """Whether an HTTP GET of the URI answers with success now; proxies are not asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(uri, timeout=5) as response:
            return 200 <= int(response.status) < 300
    except (urllib.error.URLError, OSError):
        return False


class ServerProcess(Startable):
    """One child process with its log file.

    Example::

        with ServerProcess("weed", command, is_ready=lambda: answers_ok(uri), log=folder / "weed.log"):
            ...
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        is_ready: Callable[[], bool],
        log: Path,
        environment: Mapping[str, str] | None = None,
        ready_timeout_seconds: float = 120,
        stop_timeout_seconds: float = 15,
    ) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._is_ready = is_ready
        self._environment = dict(environment or {})
        self._ready_timeout_seconds = ready_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ServerStartError(f"{self.name} is not started; start it before asking for its process id")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process and returns when it is ready.

        Raises:
            ServerStartError: it ended or did not become ready in time; it is stopped then.
        """
        if self.is_running:
            raise ServerStartError(f"{self.name} is already running with process id {self.pid}; stop it first")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment},
            )
        try:
            self._start_guard(self._process.pid)
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Terminates the process, kills it where it does not go, and waits for its end; may be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(self._stop_timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._stop_guard()

    def restart(self) -> None:
        """Stops the process and starts it again; its command, and so its ports, stay the same.

        Raises:
            ServerStartError: it does not start again.
        """
        self.stop()
        self.start()

    def log_tail(self) -> str:
        """The end of the log on one line."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return " | ".join(text.split("\n"))[-_LOG_TAIL_CHARACTERS:].strip(" |")

    def _start_guard(self, pid: int) -> None:
        """No server outlives the process that started it, even where that one is killed."""
        if os.name == "posix":
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "guard", str(pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def _stop_guard(self) -> None:
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.kill()
            guard.communicate()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self._ready_timeout_seconds
        while not self._is_ready():
            if not self.is_running:
                raise ServerStartError(f"{self.name} ended while it started; see {self.log}: {self.log_tail()}")
            if time.monotonic() > deadline:
                raise ServerStartError(
                    f"{self.name} was not ready after {duration_text(self._ready_timeout_seconds)}; "
                    f"see {self.log}: {self.log_tail()}"
                )
            time.sleep(0.1)
