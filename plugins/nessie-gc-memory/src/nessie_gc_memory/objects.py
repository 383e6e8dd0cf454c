"""The objects of a simulated lake: a flat store of raw keys, as S3 is."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

SCHEME = "memory"
PREFIX = f"{SCHEME}://"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object."""

    size: int
    modified: datetime
    data: bytes | None = None
    """Its content; ``None`` for a data file, of which only the size matters."""


class MemoryObjects:
    """Objects by their whole path, ``memory://bucket/key``; used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[str, StoredObject] = {}
        self._sorted: list[str] | None = []

    def put(self, path: str, content: bytes | int, *, modified: datetime) -> None:
        """Stores an object, replacing what is there: bytes, or only a size."""
        if not path.startswith(PREFIX):
            raise ValueError(f"{path!r} is not a path of a simulated lake; these begin with {PREFIX}")
        data = content if isinstance(content, bytes) else None
        size = len(content) if isinstance(content, bytes) else content
        with self._lock:
            if path not in self._objects:
                self._sorted = None
            self._objects[path] = StoredObject(size=size, modified=modified, data=data)

    def get(self, path: str) -> StoredObject | None:
        """The object, or none."""
        return self._objects.get(path)

    def delete(self, path: str) -> bool:
        """Deletes an object; whether it was there."""
        with self._lock:
            if path in self._objects:
                self._sorted = None
            return self._objects.pop(path, None) is not None

    def below(self, prefix: str) -> Iterator[tuple[str, StoredObject]]:
        """The objects whose path begins with a prefix, by path, as they were when it was called."""
        with self._lock:
            if self._sorted is None:
                self._sorted = sorted(self._objects)
            paths = self._sorted
        for position in range(bisect.bisect_left(paths, prefix), len(paths)):
            if not paths[position].startswith(prefix):
                return
            found = self._objects.get(paths[position])
            if found is not None:
                yield paths[position], found

    def paths(self) -> set[str]:
        """All paths."""
        with self._lock:
            return set(self._objects)
