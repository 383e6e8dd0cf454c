"""The local disk: listed with scandir, deleted through directory handles that follow no links."""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from nessie_gc_core.errors import AccessDeniedError, ListingError, NessieGcError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.locations import folders_of
from nessie_gc_core.model.mounts import Mounts
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome
from nessie_gc_core.model.unpacking import Limit, TooMuchError
from nessie_gc_iceberg_files.local_handles import open_parent, reason_of
from nessie_gc_iceberg_files.local_moves import move_one
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed
from nessie_gc_iceberg_files.traffic import asked

_LOG = logging.getLogger(__name__)
_DIRECTORY = "it is a directory"
_UNLINK_SPARES_DIRECTORIES = sys.platform == "linux"
"""Linux refuses to unlink a directory, whatever file system it is on; POSIX lets a system do that."""
_PART = 1 << 20


class LocalStore(Store):
    """Files of this machine. Keys are absolute paths.

    Links: a directory that is a link is never entered, neither to list nor to delete, because its contents
    belong to another location; nor is a base that is reached through one. A link to a file is a file (deleting it
    removes the link). A directory that is mounted from a place that is visible elsewhere is not listed either: its
    files are listed there.
    """

    can_move = True

    def __init__(self) -> None:
        self._left_alone = threading.local()

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """The whole file."""
        try:
            handle = os.open(key, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return _all_of(handle, limit)
            finally:
                os.close(handle)
        except (FileNotFoundError, TooMuchError):
            raise
        except (OSError, ValueError) as error:
            raise OSError(reason_of(error)) from error

    def create(self, key: str, data: bytes) -> None:
        """A new file, on the disk before it is named to anybody."""
        try:
            Path(key).parent.mkdir(parents=True, exist_ok=True)
            with Path(key).open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            folder = os.open(Path(key).parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            raise
        except (OSError, ValueError) as error:
            raise OSError(reason_of(error)) from error

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """All regular files below a directory."""
        pending, mounts = [prefix], Mounts.read()
        while pending:
            directory = pending.pop()
            for entry in self._entries(directory, is_base=directory == prefix):
                if self._is_folder(entry, mounts):
                    pending.append(entry.path + "/")
                elif (file := self._stored(entry)) is not None:
                    yield file

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """One directory."""
        files: list[StoredFile] = []
        prefixes: list[str] = []
        mounts = Mounts.read()
        for entry in self._entries(prefix, is_base=True):
            if limit is not None and len(files) + len(prefixes) >= limit:
                return None
            if self._is_folder(entry, mounts):
                prefixes.append(entry.path + "/")
            elif (file := self._stored(entry)) is not None:
                files.append(file)
        return Level(files, prefixes)

    def look_up(self, prefix: str, paths: Sequence[str]) -> Iterator[StoredFile]:
        """By name, one directory after the other, through handles that follow no links."""
        by_parent: dict[str, list[str]] = {}
        for path in paths:
            by_parent.setdefault(path.rpartition("/")[0], []).append(path)
        mounts = Mounts.read()
        try:
            _check_base(prefix)
            with ExitStack() as stack:
                open_parent(prefix, "", stack)
            for parent, children in by_parent.items():
                if not any(mounts.is_elsewhere(prefix + folder) for folder in folders_of(f"{parent}/")):
                    yield from _found(prefix, parent, children)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise _listing_error(prefix, error) from error

    def take_left_alone(self) -> int:
        """Links to folders, special files, and names that are not UTF-8."""
        taken: int = getattr(self._left_alone, "count", 0)
        self._left_alone.count = 0
        return taken

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """Unlinks the files, one directory after the other."""
        by_parent: dict[str, list[str]] = {}
        for path in paths:
            by_parent.setdefault(path.rpartition("/")[0], []).append(path)
        for parent, children in by_parent.items():
            with ExitStack() as stack:
                try:
                    handle: int | None = open_parent(prefix, parent, stack)
                except FileNotFoundError:
                    handle = None
                except (OSError, ValueError) as error:
                    yield from (failed(path, reason_of(error)) for path in children)
                    continue
                for path in children:
                    started = time.perf_counter()
                    outcome = _unlink(handle, path)
                    asked(started)
                    yield outcome

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """One after the other, without a copy."""
        for move in moves:
            started = time.perf_counter()
            outcome = move_one(prefix, to, move)
            asked(started)
            yield outcome

    def is_empty_directory(self, prefix: str) -> bool:
        """No link, no mount, and no name below it that is anything but a directory."""
        base = prefix.rstrip("/")
        try:
            if not base or os.path.ismount(base):
                return False
            with ExitStack() as stack:
                top = open_parent(prefix, "", stack)
                for _, directories, files, handle in os.fwalk(".", onerror=_raise, dir_fd=top):
                    if files or not all(_is_own_directory(name, handle) for name in directories):
                        return False
        except (OSError, ValueError):
            return False
        return True

    def remove_empty_directory(self, prefix: str) -> bool:
        """By ``rmdir``, which fails where a directory is not empty, and through handles that follow no links."""
        base = prefix.rstrip("/")
        if not self.is_empty_directory(prefix):
            return False
        above, _, top = base.rpartition("/")
        try:
            with ExitStack() as stack:
                folder = open_parent(above, "", stack)
                for _, directories, _, handle in os.fwalk(top, topdown=False, onerror=_raise, dir_fd=folder):
                    for name in directories:
                        os.rmdir(name, dir_fd=handle)
                os.rmdir(top, dir_fd=folder)
        except (OSError, ValueError) as error:
            _LOG.info("%s stays: %s", base, reason_of(error))
            return False
        return True

    def now(self, prefix: str) -> datetime:
        """This machine's clock, by which its file systems stamp files."""
        return datetime.now(UTC)

    def _entries(self, directory: str, *, is_base: bool) -> Iterator[os.DirEntry[str]]:
        try:
            if is_base:
                _check_base(directory)
            started = time.perf_counter()
            found = os.scandir(directory)
            asked(started)
            with found as entries:
                for entry in entries:
                    if _is_text(entry.name):
                        yield entry
                    else:
                        self._leave_alone(entry, "has a name that is not UTF-8, which no metadata can hold")
        except FileNotFoundError:
            return  # it does not exist, or went while the listing ran
        except (OSError, ValueError) as error:
            raise _listing_error(directory, error) from error

    def _is_folder(self, entry: os.DirEntry[str], mounts: Mounts) -> bool:
        """Whether to enter a directory; one that is a mount of another place is left alone as no file is."""
        return entry.is_dir(follow_symlinks=False) and not mounts.is_elsewhere(entry.path)

    def _stored(self, entry: os.DirEntry[str]) -> StoredFile | None:
        try:
            status = entry.stat(follow_symlinks=False)
            regular = stat.S_ISREG(status.st_mode) or (stat.S_ISLNK(status.st_mode) and entry.is_file())
        except FileNotFoundError:
            return None  # it went while the listing ran
        except OSError as error:
            raise ListingError(f"cannot list {entry.path}: {reason_of(error)}") from error
        if not regular:
            self._leave_alone(entry, "is a special file, or a link to something other than a file")
            return None
        return StoredFile(entry.path, status.st_size, status.st_mtime_ns // 1000)

    def _leave_alone(self, entry: os.DirEntry[str], reason: str) -> None:
        _LOG.info("skipped: %r %s", entry.path, reason)
        self._left_alone.count = getattr(self._left_alone, "count", 0) + 1


def _all_of(handle: int, limit: Limit | None) -> bytes:
    """What a file holds: in one read, which asks for more than there is, or in as many as it takes."""
    size = os.fstat(handle).st_size
    if limit is not None:
        limit.check_stored(size)
    found = os.read(handle, size + 1)
    if len(found) == size > 0:
        return found
    parts = [found]
    while part := os.read(handle, _PART):
        parts.append(part)
    return b"".join(parts)


def _raise(error: OSError) -> None:
    raise error


def _is_own_directory(name: str, folder: int) -> bool:
    """Whether a name is a directory, not a link to one, and on the same file system as the folder that has it."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return stat.S_ISDIR(status.st_mode) and status.st_dev == os.fstat(folder).st_dev


def _check_base(directory: str) -> None:
    """Refuses a base that is reached through a link at any level: locations are listed without links."""
    path = "/" + os.path.normpath(directory).lstrip("/")
    if (real := os.path.realpath(path)) != path:
        raise ListingError(f"{directory} is reached through a symbolic link: use its target {real}/")


def _is_text(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _listing_error(directory: str, error: OSError | ValueError) -> NessieGcError:
    if isinstance(error, NessieGcError):
        return error
    kind = AccessDeniedError if isinstance(error, PermissionError) else ListingError
    return kind(f"cannot list {directory}: {reason_of(error)}")


def _found(prefix: str, parent: str, paths: Sequence[str]) -> Iterator[StoredFile]:
    """Those files of one directory that are there; behind a link, or below a file, is none."""
    with ExitStack() as stack:
        try:
            handle = open_parent(prefix, parent, stack)
        except (OSError, ValueError) as error:
            if isinstance(error, PermissionError):
                raise
            return
        for path in paths:
            started = time.perf_counter()
            try:
                name = path.rpartition("/")[2]
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode) and not stat.S_ISREG(os.stat(name, dir_fd=handle).st_mode):
                    continue
            except (FileNotFoundError, ValueError):
                continue
            finally:
                asked(started)
            if not stat.S_ISDIR(status.st_mode):
                yield StoredFile(prefix + path, status.st_size, status.st_mtime_ns // 1000)


def _unlink(handle: int | None, path: str) -> DeleteOutcome:
    name = path.rpartition("/")[2]
    if name in ("", ".", ".."):
        return failed(path, f"{name!r} is not a file name")
    if handle is None:
        return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
    try:
        if not _UNLINK_SPARES_DIRECTORIES and stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
            return failed(path, _DIRECTORY)
        os.unlink(name, dir_fd=handle)
    except FileNotFoundError:
        return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
    except IsADirectoryError:
        return failed(path, _DIRECTORY)
    except (OSError, ValueError) as error:
        return failed(path, reason_of(error))
    return DeleteOutcome(path=path, status=DeleteStatus.DELETED)
