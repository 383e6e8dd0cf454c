"""Two file systems of fsspec of our own: a server with directories and links, and a bucket that is asynchronous."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, ClassVar

from fsspec.asyn import AsyncFileSystem
from fsspec.spec import AbstractFileSystem
from fsspec.utils import infer_storage_options


class DiskServer(AbstractFileSystem):
    """A folder of this machine as a server; one call at a time, or it fails."""

    protocol = "hdfs"
    cachable = False
    broken: ClassVar[set[str]] = set()

    def __init__(self, host: str, folder: str, **more: Any) -> None:
        super().__init__(**more)
        self.host, self._folder, self._busy = host, folder, False

    @classmethod
    def _strip_protocol(cls, path):
        return infer_storage_options(path)["path"]

    def ls(self, path, detail=True, **more):
        with self:
            if path in self.broken:
                raise RuntimeError("the name node does not answer")
            return [self._said(f"{path.rstrip('/')}/{found.name}") for found in Path(self._folder + path).iterdir()]

    def info(self, path, **more):
        with self:
            return self._said(path)

    def cat_file(self, path, **more):
        with self:
            return Path(self._folder + path).read_bytes()

    def pipe_file(self, path, value, mode="overwrite", **more):
        with self:
            Path(self._folder + path).write_bytes(value)

    def _rm(self, path):
        with self:
            target = Path(self._folder + path)
            target.rmdir() if target.is_dir() else target.unlink()

    def _said(self, path):
        found = Path(self._folder + path).lstat()
        kinds = {stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFLNK: "symlink"}
        kind = kinds.get(stat.S_IFMT(found.st_mode), "other")
        return {"name": path, "type": kind, "size": found.st_size, "modificationTime": int(found.st_mtime * 1000)}

    def __enter__(self):
        assert not self._busy, "two calls at once"
        self._busy = True

    def __exit__(self, *error):
        self._busy = False


class AsyncBucket(AsyncFileSystem):
    """Buckets as dictionaries of keys, with the directories that object stores make up; times of creation only."""

    protocol = "oss"
    cachable = False
    buckets: ClassVar[dict[str, dict[str, bytes]]] = {"lake": {}}

    async def _ls(self, path, detail=True, **more):
        bucket, _, folder = path.partition("/")
        prefix = f"{folder}/" if folder else ""
        if bucket not in self.buckets:
            raise FileNotFoundError(bucket)
        found: dict[str, dict[str, Any]] = {}
        for key, data in sorted(self.buckets[bucket].items()):
            name, slash, _ = key.removeprefix(prefix).partition("/")
            if key.startswith(prefix):
                kind = "directory" if slash else "file"
                made = {"name": f"{bucket}/{prefix}{name}", "type": kind, "size": None if slash else len(data)}
                found[name + slash] = {**made, "created": "2026-01-01T00:00:00Z"}
        if not found and folder:
            raise FileNotFoundError(path)
        return list(found.values())

    async def _info(self, path, **more):
        bucket, _, key = path.partition("/")
        if key in self.buckets[bucket]:
            return {"name": path, "type": "file", "size": len(self.buckets[bucket][key])}
        await self._ls(path)
        return {"name": path, "type": "directory", "size": None}

    async def _cat_file(self, path, **more):
        bucket, _, key = path.partition("/")
        try:
            return self.buckets[bucket][key]
        except KeyError as error:
            raise FileNotFoundError(path) from error

    async def _pipe_file(self, path, value, mode="overwrite", **more):
        bucket, _, key = path.partition("/")
        self.buckets[bucket][key] = value

    async def _rm_file(self, path, **more):
        bucket, _, key = path.partition("/")
        if self.buckets[bucket].pop(key, None) is None:
            raise FileNotFoundError(path)
