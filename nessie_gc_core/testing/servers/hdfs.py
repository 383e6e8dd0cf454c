"""An HDFS cluster of one name node and one data node in one process, from published jars."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import SHORT_LIVED, JavaRole, find_java
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerStartError, answers_ok, free_ports

HADOOP_VERSION = "3.4.2"
"""The one whose client is in Spark 4.1."""
_PROGRAM = "org.apache.hadoop.test.MiniDFSClusterManager"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_SETTINGS = {
    "fs.trash.interval": "60",  # so that a client that asks for it would move to the trash what it deletes
    "dfs.replication": "1",
}


class HdfsServer(OneProcessServer):
    """A cluster that is empty and forgets all when it stops.

    As in a cluster without Kerberos, whoever asks is who he says he is. Rights are checked; the user of this process
    is the superuser.

    Example::

        with HdfsServer() as server:
            os.environ["HADOOP_CONF_DIR"] = str(server.write_configuration(folder))
    """

    title = f"HDFS {HADOOP_VERSION}"

    def __init__(self) -> None:
        super().__init__()
        self._rpc_port = 0
        self._details: Path | None = None

    @property
    def user(self) -> str:
        """The superuser."""
        return getpass.getuser()

    @property
    def uri(self) -> str:
        """The root of its files, for clients of Hadoop; with a slash at its end."""
        return f"hdfs://{self.rpc_address}/"

    @property
    def rpc_address(self) -> str:
        """Host and port of the name node for clients of Hadoop."""
        if not self._rpc_port:
            raise ServerStartError(f"{self.title} is not started; start it before asking for its address")
        return f"{LOOPBACK}:{self._rpc_port}"

    @property
    def http_address(self) -> str:
        """Host and port of the name node for WebHDFS."""
        return f"{LOOPBACK}:{self.port}"

    def write_configuration(self, folder: Path, properties: Mapping[str, str] | None = None) -> Path:
        """Writes the files that its clients have, ``core-site.xml`` and ``hdfs-site.xml``, and gives the folder.

        Args:
            folder: is created.
            properties: what is in ``hdfs-site.xml``, instead of the address of WebHDFS.
        """
        folder.mkdir(parents=True, exist_ok=True)
        given = {"dfs.namenode.http-address": self.http_address} if properties is None else properties
        write_site(folder / "core-site.xml", {"fs.defaultFS": self.uri.rstrip("/")})
        write_site(folder / "hdfs-site.xml", given)
        return folder

    def _command(self, folder: Path, port: int) -> list[str]:
        java = find_java(JavaRole.HDFS)
        (self._rpc_port,) = free_ports(1)
        self._details = folder / "details.json"
        self._details.unlink(missing_ok=True)
        settings = {**_SETTINGS, "hadoop.tmp.dir": str(folder / "tmp")}
        return [
            *(str(java.executable), SHORT_LIVED, "-Xmx512m", _QUIET, f"-Dtest.build.data={folder / 'data'}"),
            *("-cp", class_path("hdfs"), _PROGRAM, "-format", "-datanodes", "1"),
            *("-nnport", str(self._rpc_port), "-httpport", str(port), "-writeDetails", str(self._details)),
            *(part for name, value in settings.items() for part in ("-D", f"{name}={value}")),
        ]

    def _is_ready(self, port: int) -> bool:
        """Whether the data node is known to the name node too: the program writes its details then."""
        is_active = self._details is not None and self._details.is_file()
        return is_active and answers_ok(f"http://{LOOPBACK}:{port}/webhdfs/v1/?op=LISTSTATUS")


def write_site(path: Path, properties: Mapping[str, str]) -> None:
    """Writes a configuration file of Hadoop."""
    lines = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n", encoding="utf-8")
