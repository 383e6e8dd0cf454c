"""A file system of fsspec that says what it is told to say, and remembers what was asked of it."""

from __future__ import annotations

from typing import Any

from fsspec.spec import AbstractFileSystem


class ScriptedFileSystem(AbstractFileSystem):
    """Directories and what they list; ``files`` has the content of what can be read."""

    protocol = "tos"
    cachable = False

    def __init__(self, folders: dict[str, Any] | None = None, files: dict[str, bytes] | None = None) -> None:
        super().__init__()
        self.folders = folders if folders is not None else {}
        self.files = files if files is not None else {}
        self.removed: list[str] = []
        self.folds_case = False

    def ls(self, path, detail=True, **more):
        if path in self.dircache:
            return self.dircache[path]
        if path not in self.folders:
            raise FileNotFoundError(path)
        found = self.folders[path]
        if isinstance(found, Exception):
            raise found
        self.dircache[path] = list(found)
        return list(found)

    def info(self, path, **more):
        if path in self.folders:
            return {"name": path, "type": "directory", "size": 0}
        for entries in self.folders.values():
            for entry in entries if isinstance(entries, list) else ():
                if entry["name"] == path or (self.folds_case and entry["name"].lower() == path.lower()):
                    return entry
        raise FileNotFoundError(path)

    def cat_file(self, path, **more):
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def _rm(self, path):
        self.removed.append(path)
        for entries in self.folders.values():
            entries[:] = [entry for entry in entries if entry["name"] != path]


def file(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "type": "file", "size": 1, **more}


def folder(name: str) -> dict[str, object]:
    return {"name": name, "type": "directory", "size": 0}
