"""Moves on a server with folders that renames without overwriting: a file is at one of its paths at any time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.fsspec_store import FsspecStore
from nessie_gc_iceberg_files.stores import one_line, unmoved
from nessie_gc_iceberg_files.traffic import asking

_TOGETHER = 200
"""The outcomes of more moves would wait in memory."""
_IS_THERE = ("file", "link")


class RenamingStore(FsspecStore):
    """Fsspec itself does not say whether a file system renames in one step, nor what it does with a taken name."""

    can_move: ClassVar[bool] = True

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """One request for each file, after it was looked at, and the folders on the way to both paths (S24)."""
        try:
            self._check_base(to)
        except NessieGcError as error:
            yield from (unmoved(move, one_line(error)) for move in moves)
            return
        for start in range(0, len(moves), _TOGETHER):
            batch = moves[start : start + _TOGETHER]
            with asking(len(batch)), ThreadPoolExecutor(self._threads) as pool:
                outcomes = [*pool.map(partial(self._move_one, prefix, to, passed=set()), batch)]
            yield from outcomes

    def _move_one(self, prefix: str, to: str, move: FileMove, *, passed: set[str]) -> MoveOutcome:
        key, new_key = prefix + move.path, to + move.to_path
        try:
            old, new = self._paths.of(key), self._paths.of(new_key)
            folder, new_folder = key.rpartition("/")[0], new_key.rpartition("/")[0]
            if not all(self.is_reached(*way, passed) for way in ((prefix, folder), (to, new_folder))):
                return unmoved(move, "a parent directory is a link or not a directory")
            try:
                status = self._renamed(old, new, new_folder)
            except (FileNotFoundError, FileExistsError):  # somebody else was quicker, such as another attempt
                status = self._renamed(old, new, new_folder)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return unmoved(move, self._reason(error))
        return MoveOutcome(path=move.path, status=status)

    def _renamed(self, old: str, new: str, folder: str) -> MoveStatus:
        kind, there = self._kind_to_delete(old), self._kind(new)
        if kind is None:
            return MoveStatus.MOVED if there in _IS_THERE else MoveStatus.MISSING
        if kind != "file":
            raise OSError(f"it is not a file but a {kind}")
        if there is not None:
            return MoveStatus.EXISTS
        self._make_folders(folder)
        self._rename(old, new)
        if self._kind(new) not in _IS_THERE:
            raise OSError(f"it is not at {new} after it was renamed: look for it there")
        return MoveStatus.MOVED

    @abstractmethod
    def _make_folders(self, key: str) -> None:
        """Makes a folder, and those above it, where they are not there; the key has no slash at its end."""

    @abstractmethod
    def _rename(self, old: str, new: str) -> None:
        """Gives a file another path in one step.

        Raises:
            FileExistsError: something is at the new path; it stays.
            FileNotFoundError: nothing is at the old path.
            OSError: it was not renamed.
        """
