"""A plain catalog whose tables lie on an SFTP server: PyIceberg has no FileIO for one, so it writes past the server."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from pyiceberg.io.fsspec import FsspecFileIO

ROOT = "test.sftp-root"
"""The property that has the folder which the server serves."""


class _Served(LocalFileSystem):
    """The folder, under the names that the server has for it."""

    cachable = False

    def __init__(self, folder: str) -> None:
        super().__init__(auto_mkdir=True)
        self._folder = folder

    def open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        return super().open(self._on_disk(path), mode, **more)

    def info(self, path: str, **more: Any) -> Any:
        return super().info(self._on_disk(path), **more)

    def lexists(self, path: str, **more: Any) -> bool:
        return os.path.lexists(self._on_disk(path))

    def _on_disk(self, path: str) -> str:
        return f"{self._folder}/{path.removeprefix('sftp://').partition('/')[2]}" if "://" in path else path


class BehindTheServer(FsspecFileIO):
    """Reads and writes the folder of the server."""

    def get_fs(self, scheme: str, hostname: str | None = None) -> AbstractFileSystem:
        return _Served(self.properties[ROOT])


def sftp_servers() -> ModuleType:
    """The server of the plugin's own tests."""
    path = Path(__file__).parents[1] / "plugins" / "nessie-gc-iceberg-files" / "tests" / "sftp_server.py"
    spec = importlib.util.spec_from_file_location("sftp_server", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
