"""Moves on the local disk: a second name, then one less; a file is never without a name, and none is overwritten."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path

from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.local_handles import open_parent, reason_of
from nessie_gc_iceberg_files.stores import unmoved

_NO_SECOND_NAME = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK})
"""What file systems say that cannot give a file a second name."""


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
            Path(to).mkdir(parents=True, exist_ok=True)
            target = open_parent(to, move.to_path.rpartition("/")[0], stack, make=True)
            return _renamed(move, source, target, status)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            return unmoved(move, "its new place is on another file system; name one on the same")
        return unmoved(move, reason_of(error))


def _renamed(move: FileMove, source: int, target: int, status: os.stat_result) -> MoveOutcome:
    old, new = _name(move.path), _name(move.to_path)
    try:
        os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
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
    """On a file system that gives no file a second name: a look whether the new one is free, then one step."""
    old, new = _name(move.path), _name(move.to_path)
    try:
        os.stat(new, dir_fd=target, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
        os.fsync(target)
        return MoveOutcome(path=move.path, status=MoveStatus.MOVED)
    return MoveOutcome(path=move.path, status=MoveStatus.EXISTS)


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
