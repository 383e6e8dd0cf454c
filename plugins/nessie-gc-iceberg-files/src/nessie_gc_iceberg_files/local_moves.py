"""Moves on the local disk: a second name, then one less; a file is never without a name, and none is overwritten."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path

from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.local_handles import open_parent, reason_of
from nessie_gc_iceberg_files.stores import unmoved

_NO_SECOND_NAME = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK})
"""What is said where a file gets no second name: by the file system, or because of its owner."""
_NO_REPLACE = 1
"""The flag of ``renameat2``."""


def move_refusal(prefix: str, to: str) -> str | None:
    """Why files cannot be moved from one folder to another; ``None``: they can, or nobody can tell yet."""
    real = os.path.realpath(to)
    if real != os.path.normpath(to):
        return f"{to} is reached through a link: use its target {real}/"
    try:
        devices = {Path(_existing(path)).stat().st_dev for path in (prefix, to)}
    except OSError as error:
        return f"cannot tell on which file system it is: {reason_of(error)}"
    return f"{to} is on another file system; name a quarantine on the same" if len(devices) > 1 else None


def _existing(path: str) -> str:
    """The folder, or the closest one around it that is there."""
    folder = path.rstrip("/") or "/"
    while folder != "/" and not os.path.lexists(folder):
        folder = folder.rpartition("/")[0] or "/"
    return folder


class _GoneError(Exception):
    """The file was there a moment ago."""


def move_one(prefix: str, to: str, move: FileMove) -> MoveOutcome:
    """Moves one file from ``prefix + path`` to ``to + to_path``; both are absolute paths on one file system."""
    try:
        with ExitStack() as stack:
            try:
                source = open_parent(prefix, move.path.rpartition("/")[0], stack)
                status = os.stat(_name(move.path), dir_fd=source, follow_symlinks=False)
            except FileNotFoundError:
                return _gone(to, move)
            if stat.S_ISDIR(status.st_mode):
                return unmoved(move, "it is a directory")
            target = open_parent(to, move.to_path.rpartition("/")[0], stack, make=True)
            try:
                return _renamed(move, source, target, status)
            except _GoneError:  # somebody else moved it meanwhile, such as another attempt of the same task
                return _gone(to, move)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            return unmoved(move, "its new place is on another file system; name one on the same")
        return unmoved(move, reason_of(error))


def _renamed(move: FileMove, source: int, target: int, status: os.stat_result) -> MoveOutcome:
    old, new = _name(move.path), _name(move.to_path)
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        raise _GoneError from None
    except FileExistsError:
        there = os.stat(new, dir_fd=target, follow_symlinks=False)
        if not os.path.samestat(there, status):  # else a killed call made the name
            return MoveOutcome(path=move.path, status=MoveStatus.EXISTS)
    except OSError as error:
        if error.errno not in _NO_SECOND_NAME:
            raise
        return _renamed_at_once(move, source, target)
    os.fsync(target)
    os.unlink(old, dir_fd=source)
    return MoveOutcome(path=move.path, status=MoveStatus.MOVED)


def _renamed_at_once(move: FileMove, source: int, target: int) -> MoveOutcome:
    """Where this process may give no file a second name: in one step, which fails where the new one is taken."""
    try:
        _rename_new(_name(move.path), source, _name(move.to_path), target)
    except FileExistsError:
        return MoveOutcome(path=move.path, status=MoveStatus.EXISTS)
    os.fsync(target)
    return MoveOutcome(path=move.path, status=MoveStatus.MOVED)


def _rename_new(old: str, source: int, new: str, target: int) -> None:
    """``renameat2`` of Linux, which Python does not have.

    Raises:
        FileExistsError: the new name is taken.
        OSError: the system cannot do it.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOSYS, "this system cannot move the file without a second name")
    if rename(source, os.fsencode(old), target, os.fsencode(new), _NO_REPLACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _gone(to: str, move: FileMove) -> MoveOutcome:
    """What became of a file that is not at its old path."""
    with ExitStack() as stack:
        try:
            target = open_parent(to, move.to_path.rpartition("/")[0], stack)
            os.stat(_name(move.to_path), dir_fd=target, follow_symlinks=False)
        except FileNotFoundError:
            return MoveOutcome(path=move.path, status=MoveStatus.MISSING)
    return MoveOutcome(path=move.path, status=MoveStatus.MOVED)


def _name(path: str) -> str:
    name = path.rpartition("/")[2]
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a file name")
    return name
