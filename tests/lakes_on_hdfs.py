"""A plain catalog whose tables lie on HDFS: PyIceberg has no FileIO for one without libhdfs, so it gets one here."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from fsspec.implementations.webhdfs import WebHDFS
from fsspec.spec import AbstractFileSystem
from pyiceberg.io.fsspec import FsspecFileIO

from nessie_gc_core.testing.servers import HdfsServer, JavaRole, find_java
from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.java import SHORT_LIVED

ADDRESS, USER = "test.webhdfs-address", "test.webhdfs-user"
"""The properties that say where WebHDFS is, and who writes."""


class ThroughWebHdfs(FsspecFileIO):
    """Reads and writes with fsspec's own file system."""

    def get_fs(self, scheme: str, hostname: str | None = None) -> AbstractFileSystem:
        host, _, port = self.properties[ADDRESS].partition(":")
        return WebHDFS(host, int(port), user=self.properties[USER])


def copied_with_sidecars(server: HdfsServer, key: str, folder: Path) -> list[Path]:
    """Has Hadoop's own client copy a directory of the cluster to a local one, where it writes its sidecars."""
    jars = f"{server.write_configuration(folder.with_suffix('.conf'))}{os.pathsep}{class_path('hdfs')}"
    command = [
        *(str(find_java(JavaRole.HDFS).executable), SHORT_LIVED, "-cp", jars),
        *("org.apache.hadoop.fs.FsShell", "-get", "-crc", f"{server.uri}{key}", str(folder)),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stderr
    return sorted(path for path in folder.rglob("*") if path.is_file())


def hdfs_stores() -> ModuleType:
    """The back doors of the plugin's own tests."""
    path = Path(__file__).parents[1] / "plugins" / "nessie-gc-iceberg-files" / "tests" / "hdfs_store.py"
    spec = importlib.util.spec_from_file_location("hdfs_store", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
