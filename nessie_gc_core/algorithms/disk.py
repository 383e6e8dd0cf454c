"""What a path of the local disk is, whatever links and mounts lead to it (S24).

Asked of the disk of the process that runs: the driver for locations, a worker for the files that metadata names.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import stat
from collections.abc import Iterator
from urllib.parse import unquote

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import with_slash
from nessie_gc_core.model.mounts import Mounts

FILE = "file:///"
"""The beginning of the canonical form of every local path."""
_MOST_LINKS = 40
"""A longer chain of links counts as a cycle, as in Linux itself."""


def real_path(path: str) -> str:
    """An absolute path without links; elements that do not exist stay as they are written.

    Raises:
        UnknownLocationError: links form a cycle, or a folder on the way may not be read.
    """
    try:
        return os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        parent, _, name = path.rstrip("/").rpartition("/")
        return with_slash(real_path(parent or "/")) + name if name else "/"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UnknownLocationError(f"cannot resolve {path!r} on the disk: {reason}") from error


def real_place(canonical: str, mounts: Mounts) -> str:
    """A canonical path of the scheme ``file`` without links, by the first path of its mount; a slash at its end stays.

    Raises:
        UnknownLocationError: as for :func:`real_path`.
    """
    real = FILE + mounts.first(real_path("/" + canonical.removeprefix(FILE))).lstrip("/")
    return with_slash(real) if canonical.endswith("/") else real


def decoded(canonical: str) -> Iterator[str]:
    """What a canonical local path may mean as a URI, if that is another one: iceberg-go encodes what it then decodes.

    A path whose decoded form is not valid text, or not a path, has none.
    """
    if "%" not in canonical:
        return
    with contextlib.suppress(UnicodeDecodeError):
        path = unquote("/" + canonical.removeprefix(FILE), errors="strict")
        elements = posixpath.normpath(path).lstrip("/")
        found = FILE + elements + ("/" if elements and path.endswith("/") else "")
        if found != canonical and "\0" not in found:
            yield found


def is_link(path: str) -> bool:
    """Whether a path names a link; ``False`` if it does not exist."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def link_names(folder: str) -> frozenset[str] | None:
    """The names of the links in a folder, which has none if it does not exist; ``None`` if it may not be read."""
    try:
        with os.scandir(folder) as entries:
            return frozenset(entry.name for entry in entries if entry.is_symlink())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return frozenset()
    except OSError:
        return None


def links_of(path: str) -> Iterator[str]:
    """What a link leads to, link by link: reading it needs all of them.

    Raises:
        UnknownLocationError: they form a cycle.
    """
    for _ in range(_MOST_LINKS):
        if not is_link(path):
            return
        folder, _, _ = path.rpartition("/")
        target = os.path.join(folder or "/", os.readlink(path))  # noqa: PTH115, PTH118 - a target may be no plain path
        folder, _, name = target.rstrip("/").rpartition("/")
        path = with_slash(real_path(folder or "/")) + name
        yield path
    raise UnknownLocationError(f"the links of {path!r} form a cycle")
