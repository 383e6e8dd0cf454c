"""Handles of local directories that are reached without following any link (S24)."""

from __future__ import annotations

import contextlib
import errno
import os
from contextlib import ExitStack

FOLLOW_NOTHING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ON_THE_WAY = FOLLOW_NOTHING | getattr(os, "O_PATH", 0)
"""Linux lets those through who may enter a directory and not list it, as it does with a path."""


def open_parent(prefix: str, parent: str, stack: ExitStack, *, make: bool = False) -> int:
    """A handle of the directory ``prefix + parent``, reached from the root without following any link.

    Locations are resolved before they are listed, so that a link on the way was put there since.

    Args:
        prefix: the base, an absolute path; doubled slashes and ``.`` in it mean nothing.
        parent: the directory below it, without a slash at its end; empty for the base itself.
        stack: closes the handles.
        make: whether directories are made where there are none.

    Raises:
        FileNotFoundError: it is not there.
        OSError, ValueError: it is a link or not a directory, or no name of a directory.
    """
    above = [name for name in prefix.split("/") if name not in ("", ".")]
    names = [*above, *(parent.split("/") if parent else ())]
    handle = _opened("/", _ON_THE_WAY if names else FOLLOW_NOTHING, stack)
    for number, name in enumerate(names, start=1):
        if name in ("", ".", ".."):
            raise ValueError(f"{name!r} is not a directory name")
        flags = _ON_THE_WAY if number < len(above) else FOLLOW_NOTHING
        try:
            handle = _opened(name, flags, stack, handle)
        except FileNotFoundError:
            if not make:
                raise
            _make(name, handle)
            handle = _opened(name, flags, stack, handle)
    return handle


def _opened(name: str, flags: int, stack: ExitStack, folder: int | None = None) -> int:
    handle = os.open(name, flags, dir_fd=folder)
    stack.callback(os.close, handle)
    return handle


def _make(name: str, folder: int) -> None:
    """Makes a directory, which is on the disk before anything is in it."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
        with ExitStack() as stack:
            os.fsync(_opened(".", FOLLOW_NOTHING, stack, folder))


def reason_of(error: BaseException) -> str:
    """What an error of the system says, for people."""
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a parent directory is a symbolic link or not a directory"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
