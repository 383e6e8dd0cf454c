"""MariaDB on a free loopback port, from the system's packages."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerStartError

_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin")
"""Where packages put the programs; those of administrators are not on everybody's path."""
_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def mariadb_program(name: str) -> Path:
    """A program of MariaDB: ``mariadbd``, ``mariadb-install-db`` or ``mariadb``.

    Raises:
        ConfigurationError: it is not installed.
    """
    found = shutil.which(name, path=os.pathsep.join([*os.get_exec_path(), *_FOLDERS]))
    if found is None:
        raise ConfigurationError(
            f"MariaDB is not installed ({name} is missing): install the packages mariadb-server-core and mariadb-client"
        )
    return Path(found)


class MariaDbServer(OneProcessServer):
    """A MariaDB server with a password, in a temporary folder that goes with it.

    Example::

        with MariaDbServer() as mariadb:
            engine = sqlalchemy.create_engine(mariadb.uri("test", driver="pymysql"))
    """

    title: ClassVar[str] = "MariaDB"
    user = "administrator"

    def __init__(self) -> None:
        super().__init__()
        self.password = secrets.token_urlsafe(12)

    def uri(self, database: str, *, driver: str | None = None) -> str:
        """The URI of a database, with user and password."""
        scheme = "mariadb" if driver is None else f"mariadb+{driver}"
        return f"{scheme}://{self.user}:{quote(self.password, safe='')}@{LOOPBACK}:{self.port}/{database}"

    def jdbc_url(self, database: str) -> str:
        """The URL of a database as JDBC writes it, without user and password."""
        return f"jdbc:mariadb://{LOOPBACK}:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Creates an empty database; gives its name."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a plain database name")
        self.execute(f"CREATE DATABASE {name}")
        return name

    def execute(self, statement: str) -> None:
        """Runs a statement as the administrator.

        Raises:
            ServerStartError: MariaDB refuses it.
        """
        address = ["--no-defaults", f"--host={LOOPBACK}", f"--port={self.port}", f"--user={self.user}"]
        client = [str(mariadb_program("mariadb")), *address, "--skip-ssl", f"--execute={statement}"]
        _run(client, environment={"MYSQL_PWD": self.password})

    def _command(self, folder: Path, port: int) -> list[str]:
        server, data = mariadb_program("mariadbd"), folder / "data"
        mariadb_program("mariadb")
        account = ["--user=root"] if os.geteuid() == 0 else []
        if not data.exists():
            prepare = [f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db", *account]
            _run([str(mariadb_program("mariadb-install-db")), "--no-defaults", *prepare])
        first = folder / "first.sql"
        first.touch(mode=0o600)
        first.write_text(
            f"CREATE OR REPLACE USER {self.user}@'%' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO {self.user}@'%' WITH GRANT OPTION;\n"
        )
        settings = {
            "datadir": data,
            "bind-address": LOOPBACK,
            "port": port,
            "socket": folder / "socket",
            "pid-file": folder / "pid",
            "init-file": first,
            "innodb-buffer-pool-size": "64M",
            "innodb-flush-log-at-trx-commit": 0,  # the data goes with the server anyway
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(server), "--no-defaults", *account, "--skip-name-resolve", *options]


def _run(command: Sequence[str], *, environment: dict[str, str] | None = None) -> None:
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", env={**os.environ, **(environment or {})}
    )
    if finished.returncode != 0:
        output = " | ".join((finished.stderr or finished.stdout).strip().splitlines())
        raise ServerStartError(f"{Path(command[0]).name} of MariaDB failed: {output}")
