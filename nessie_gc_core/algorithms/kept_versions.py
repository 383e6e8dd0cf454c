"""Content versions that only this process needs: in a temporary file, so that many of them fit."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields
from threading import RLock

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.repository import ContentVersion

_NAMES = tuple(field.name for field in fields(ContentVersion))


class KeptVersions(Closing):
    """Distinct content versions, which several threads add and read."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as this is
        self._known: set[bytes] = set()
        self._places: dict[str, array[int]] = {}
        """By content id, where in the file its versions are."""
        self._lock = RLock()
        self._end = 0

    def close(self) -> None:
        """Removes the file."""
        self._file.close()

    def add(self, version: ContentVersion) -> bool:
        """Adds a version; returns whether it is new.

        Raises:
            StoreError: the temporary folder is full.
        """
        identity = hashlib.blake2b(repr(version.identity).encode(), digest_size=16).digest()
        row = pickle.dumps(tuple(getattr(version, name) for name in _NAMES))
        with self._lock:
            if identity in self._known:
                return False
            start = self._end
            try:
                self._file.seek(start)
                self._end += self._file.write(row)
                self._file.flush()
            except OSError as error:
                folder = tempfile.gettempdir()
                reason = f"cannot keep content versions in {folder}: {error}; set TMPDIR to a folder with more space"
                raise StoreError(reason) from error
            self._known.add(identity)
            self._places.setdefault(version.content_id, array("Q")).append(start)
        return True

    def of(self, content_ids: Collection[str] | None = None) -> Iterator[ContentVersion]:
        """The versions of some contents, or all."""
        for content_id in self.content_ids() if content_ids is None else content_ids:
            yield from self._at(self._places.get(content_id, ()))

    def _at(self, places: Iterable[int]) -> Iterator[ContentVersion]:
        for place in places:
            with self._lock:
                self._file.seek(place)
                row = pickle.load(self._file)
            yield ContentVersion(**dict(zip(_NAMES, row, strict=True)))

    def content_ids(self) -> list[str]:
        """The contents, each once."""
        with self._lock:
            return list(self._places)

    def counts(self) -> tuple[int, int]:
        """How many versions and contents."""
        with self._lock:
            return len(self._known), len(self._places)
