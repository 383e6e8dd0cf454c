"""A Hive Metastore over Derby in memory, from published jars."""

from __future__ import annotations

from pathlib import Path

from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import SHORT_LIVED, JavaRole, find_java
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK

HIVE_VERSION = "4.0.0"
"""The newest one that PyIceberg 0.12 can talk to: 4.0.1 took calls away that it makes."""


class HiveMetastore(OneProcessServer):
    """A metastore that is empty, asks nobody who they are, and forgets all when it stops.

    Its database is made as it goes and has no tables for locks, so that tables can be registered and not changed.

    Args:
        warehouse: a folder, in which namespaces without a location of their own lie.
    """

    title = f"Hive Metastore {HIVE_VERSION}"

    def __init__(self, warehouse: Path) -> None:
        super().__init__()
        self._warehouse = warehouse

    @property
    def uri(self) -> str:
        """What a client is given."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def _command(self, folder: Path, port: int) -> list[str]:
        java = find_java(JavaRole.HIVE)
        settings = {
            "metastore.thrift.bind.host": LOOPBACK,
            "metastore.warehouse.dir": self._warehouse.as_uri(),
            "metastore.schema.verification": "false",
            "metastore.task.threads.always": "",
            "metastore.task.threads.remote": "",
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
        }
        jars = class_path("hive_metastore")
        return [
            *(str(java.executable), SHORT_LIVED, "-Xmx512m", f"-Dderby.stream.error.file={folder / 'derby.log'}"),
            *("-cp", jars, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)),
            *(part for name, value in settings.items() for part in ("--hiveconf", f"{name}={value}")),
        ]
