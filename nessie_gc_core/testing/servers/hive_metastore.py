"""A Hive Metastore over Derby in a folder, from published jars."""

from __future__ import annotations

import importlib.resources
import shutil
import subprocess
from pathlib import Path

from nessie_gc_core.model.text import duration_text
from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import SHORT_LIVED, JavaRole, find_java
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerStartError

HIVE_VERSION = "4.0.0"
"""The newest one that PyIceberg 0.12 can talk to: 4.0.1 took calls away that it makes."""
_NO_SYNC = "-Dderby.system.durability=test"
"""Derby does not wait for the disk: its database goes with the server anyway."""
_TIMEOUT_SECONDS = 120


class HiveMetastore(OneProcessServer):
    """A metastore that is empty, asks nobody who they are, and forgets all when it stops.

    Tables can be created, registered, changed under its locks, and dropped. It has no tables for transactions, so that
    locks belong to none, and nothing takes back a lock that someone left behind.

    Args:
        warehouse: a folder, in which namespaces without a location of their own lie.
    """

    title = f"Hive Metastore {HIVE_VERSION}"

    def __init__(self, warehouse: Path) -> None:
        super().__init__()
        self.warehouse = warehouse

    @property
    def uri(self) -> str:
        """What a client is given."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def _command(self, folder: Path, port: int) -> list[str]:
        java = find_java(JavaRole.HIVE)
        program = [
            *(str(java.executable), SHORT_LIVED, "-Xmx512m", _NO_SYNC),
            *(f"-Dderby.stream.error.file={folder / 'derby.log'}", "-cp", class_path("hive_metastore")),
        ]
        settings = {
            "metastore.thrift.bind.host": LOOPBACK,
            "metastore.warehouse.dir": self.warehouse.as_uri(),
            "metastore.schema.verification": "false",
            "metastore.task.threads.always": "",
            "metastore.task.threads.remote": "",
            "javax.jdo.option.ConnectionURL": self._create_database(program, folder / "metastore"),
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
        }
        return [
            *(*program, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)),
            *(part for name, value in settings.items() for part in ("--hiveconf", f"{name}={value}")),
        ]

    def _create_database(self, program: list[str], place: Path) -> str:
        """A new database with the tables for locks; the metastore itself adds the others and leaves these out."""
        shutil.rmtree(place, ignore_errors=True)
        uri = f"jdbc:derby:{place}"
        tables = importlib.resources.files(__package__).joinpath("hive_metastore.sql").read_text(encoding="utf-8")
        command = [*program, f"-Dij.database={uri};create=true", "org.apache.derby.tools.ij"]
        try:
            done = subprocess.run(
                command, input=tables, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ServerStartError(
                f"{self.title} has no database after {duration_text(_TIMEOUT_SECONDS)} of Derby's ij"
            ) from error
        errors = [line for line in done.stdout.splitlines() if "ERROR" in line]  # of which ij's exit code says nothing
        if done.returncode or errors:
            said = " | ".join(errors or done.stderr.splitlines())
            raise ServerStartError(f"{self.title} has no database, because Derby's ij failed: {said}")
        return uri
