"""What a path of the local disk is, whatever links and mounts lead to it (S24).

Asked of the disk of the process that runs: the driver for locations, a worker for the files that metadata names.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import with_slash

FILE = "file:///"
"""How the canonical form of every local path begins."""

FolderId = tuple[int, int]
"""Device and inode of a folder."""


def real_path(path: str) -> str:
    """An absolute path without links; elements that do not exist stay as they are written.

    Raises:
        UnknownLocationError: links go round in a circle, or a folder on the way may not be looked into.
    """
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        parent, _, name = path.rstrip("/").rpartition("/")
        return with_slash(real_path(parent or "/")) + name if name else "/"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UnknownLocationError(f"what {path!r} is on the disk cannot be resolved: {reason}") from error


def real_place(canonical: str) -> str:
    """The same for a canonical path of the scheme ``file``; a slash at its end stays.

    Raises:
        UnknownLocationError: as for :func:`real_path`.
    """
    real = FILE + real_path("/" + canonical.removeprefix(FILE)).lstrip("/")
    return with_slash(real) if canonical.endswith("/") else real


def is_link(path: str) -> bool:
    """Whether a path names a link; one that does not exist is none."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def folder_id(path: str) -> FolderId | None:
    """Device and inode of a folder; ``None`` where there is none to be seen."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


class SameFolders:
    """Knows folders that are one folder by two paths without a link: a mount of one into another."""

    def __init__(self, known: Iterable[tuple[FolderId, str]] = ()) -> None:
        self._first: dict[FolderId, str] = dict(known)
        self._seen: dict[str, str] = {"": ""}

    def first(self, path: str) -> str:
        """The path by which the folder was met first; ``path`` is absolute and without links."""
        path = path.rstrip("/")
        if path not in self._seen:
            parent, _, name = path.rpartition("/")
            here = f"{self.first(parent)}/{name}"
            found = folder_id(here)
            self._seen[path] = here if found is None else self._first.setdefault(found, here)
        return self._seen[path]
