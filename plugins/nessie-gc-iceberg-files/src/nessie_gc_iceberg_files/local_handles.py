"""Handles of local directories that are reached without following any link (S24)."""

from __future__ import annotations

import contextlib
import errno
import os
from contextlib import ExitStack

FOLLOW_NOTHING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_parent(prefix: str, parent: str, stack: ExitStack, *, make: bool = False) -> int:
    """A handle of the directory ``prefix + parent``, reached from the base without following any link.

    Args:
        prefix: the base, an absolute path.
        parent: the directory below it, without a slash at its end; empty for the base itself.
        stack: closes the handles.
        make: whether directories below the base are made where there are none.

    Raises:
        FileNotFoundError: it is not there.
        OSError, ValueError: it is a link or not a directory, or no name of a directory.
    """
    handle = os.open(prefix.rstrip("/") or "/", FOLLOW_NOTHING)
    stack.callback(os.close, handle)
    for name in parent.split("/") if parent else ():
        if name in ("", ".", ".."):
            raise ValueError(f"{name!r} is not a directory name")
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=handle)
                os.fsync(handle)
        handle = os.open(name, FOLLOW_NOTHING, dir_fd=handle)
        stack.callback(os.close, handle)
    return handle


def reason_of(error: BaseException) -> str:
    """What an error of the system says, for people."""
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a parent directory is a symbolic link or not a directory"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
