"""The objects of a simulated lake: a flat store of raw keys, as S3 is."""

from __future__ import annotations

import bisect
import itertools
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from nessie_gc_core.model.object_tags import TaggedObject
from nessie_gc_core.model.versions import KeyVersion

SCHEME = "memory"
PREFIX = f"{SCHEME}://"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object."""

    size: int
    modified: datetime
    data: bytes | None = None
    """Its content; ``None`` for a data file, of which only the size matters."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Its tags."""


class _Version(NamedTuple):
    """One version of a path, or a delete marker, which has no object."""

    id: str
    stored: StoredObject | None
    modified: datetime


class MemoryObjects:
    """Objects by their whole path, ``memory://bucket/key``; used from several threads."""

    def __init__(self) -> None:
        self.keeps_versions = False
        """Set it to have versions kept from then on, as in a bucket with versioning."""
        self._versions: dict[str, list[_Version]] = {}
        self._ids = itertools.count(1)
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
            new = StoredObject(size=size, modified=modified, data=data)
            self._remember(path, new, modified)
            self._objects[path] = new

    def get(self, path: str) -> StoredObject | None:
        """The object, or none."""
        return self._objects.get(path)

    def tagged(self, path: str) -> TaggedObject | None:
        """The object as a store shows it, with its tags; its entity tag is made of its content."""
        stored = self._objects.get(path)
        if stored is None:
            return None
        etag = f"{stored.size}-{zlib.crc32(stored.data or b'')}"
        return TaggedObject(size=stored.size, modified=stored.modified, etag=etag, tags=stored.tags)

    def set_tags(self, path: str, tags: Mapping[str, str]) -> None:
        """Replaces all tags of an object, if it is there; it stays what it is otherwise."""
        with self._lock:
            there = self._objects.get(path)
            if there is not None:
                self._objects[path] = replace(there, tags=dict(tags))

    def delete(self, path: str) -> bool:
        """Deletes an object; whether it was there."""
        with self._lock:
            if path not in self._objects:
                return False
            self._sorted = None
            there = self._objects[path]
            self._remember(path, None, there.modified)
            del self._objects[path]
            return True

    def hide(self, path: str, *, at: datetime) -> str:
        """Puts a delete marker over what is at a path, if anything is; the id of the marker."""
        with self._lock:
            self._sorted = None
            marker = self._remember(path, None, at)
            self._objects.pop(path, None)
            return marker

    def versions(self, path: str) -> list[KeyVersion]:
        """The versions and markers of a path, newest first."""
        with self._lock:
            kept = self._kept(path)
            return [
                KeyVersion(
                    version=each.id,
                    marker=each.stored is None,
                    current=each is kept[-1],
                    size=None if each.stored is None else each.stored.size,
                    modified=each.modified,
                )
                for each in reversed(kept)
            ]

    def delete_version(self, path: str, version: str) -> None:
        """Removes a version or a marker for good; the newest that is left is what is at the path."""
        with self._lock:
            self._sorted = None
            left = self._versions[path] = [each for each in self._kept(path) if each.id != version]
            self._objects.pop(path, None)
            if left and left[-1].stored is not None:
                self._objects[path] = left[-1].stored

    def _remember(self, path: str, stored: StoredObject | None, at: datetime) -> str:
        if not self.keeps_versions:
            return ""
        kept = self._kept(path)
        kept.append(_Version(f"v{next(self._ids)}", stored, at))
        self._versions[path] = kept
        return kept[-1].id

    def _kept(self, path: str) -> list[_Version]:
        """What is kept of a path; what was there before versions were kept is one of them."""
        if path not in self._versions and (there := self._objects.get(path)) is not None:
            return [_Version("null", there, there.modified)]
        return self._versions.get(path, [])

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
