"""Moves in a store that cannot rename: copy, look at the copy, and only then delete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from nessie_gc_core.model.files import DeleteOutcome
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.concurrency import gathered
from nessie_gc_iceberg_files.stores import moved_by

T = TypeVar("T")
"""What the store says of an object."""


class CopiedMoves(ABC, Generic[T]):
    """The requests of a move in one bucket or container; each may raise whatever the client raises."""

    async def move_all(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Sequence[MoveOutcome]:
        """Moves the objects ``prefix + path`` to ``to + to_path``, several at a time."""
        return await gathered([self._move(prefix, to, move) for move in moves])

    async def _move(self, prefix: str, to: str, move: FileMove) -> MoveOutcome:
        try:
            status = await self._copied(prefix + move.path, to + move.to_path)
            if status is not None:
                return MoveOutcome(path=move.path, status=status)
            deleted = await self.delete(prefix, move.path)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=self.reason(error))
        return moved_by(deleted)

    async def _copied(self, key: str, new_key: str) -> MoveStatus | None:
        """Copies one object; ``None``: it is whole at both keys now."""
        source, there = await self.stat(key), await self.stat(new_key)
        if source is None:
            return MoveStatus.MISSING if there is None else MoveStatus.MOVED
        if there is not None:
            return None if self.is_copy(source, there) else MoveStatus.EXISTS
        await self.copy(key, new_key, source)
        found = await self.stat(new_key)
        if found is None or not self.is_copy(source, found):
            raise OSError("its copy is not whole")
        return None

    @abstractmethod
    async def stat(self, key: str) -> T | None:
        """What the store says of an object; ``None``: there is none."""

    @abstractmethod
    def is_copy(self, source: T, there: T) -> bool:
        """Whether another object certainly has the same content."""

    @abstractmethod
    async def copy(self, key: str, new_key: str, source: T) -> None:
        """Copies an object as it was seen; fails where there is one by now, or the source has changed."""

    @abstractmethod
    async def delete(self, prefix: str, path: str) -> DeleteOutcome:
        """Deletes the object ``prefix + path``."""

    @abstractmethod
    def reason(self, error: Exception) -> str:
        """What an error says, in one line and without secrets."""
