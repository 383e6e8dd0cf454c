"""What a mark hands to the live-set store, and whether that is what the store keeps (S34)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from uuid import UUID

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.row_digests import RowsDigest

_AT_ONCE = 10_000


class AddedVersions:
    """Adds content versions to a live set, and adds up their digest."""

    def __init__(self, store: LiveSetStore, live_set_id: UUID) -> None:
        self._store, self._live_set_id = store, live_set_id
        self._given, self._new = RowsDigest(), 0
        self._lock = threading.Lock()

    def add(self, versions: Sequence[ContentVersion]) -> None:
        """Adds some; from several threads."""
        given = RowsDigest.of(version.values for version in versions)
        new = self._store.add_content_versions(self._live_set_id, versions)
        with self._lock:
            self._given += given
            self._new += new

    def add_all(self, versions: Iterable[ContentVersion]) -> None:
        """Adds those of a stream, piece by piece."""
        for some in in_pieces(versions, _AT_ONCE):
            self.add(some)

    def digest(self, counted: int) -> RowsDigest:
        """The digest of all that was added; to be called when nothing is added any more.

        It is that of what the store was given. Where some came twice, or were there before, only the store knows which
        of them it keeps.

        Args:
            counted: how many the store says that the live set has.

        Raises:
            StoreError: it lost some.
        """
        found = self._given
        if found.rows != self._new:
            stored = self._store.content_versions(self._live_set_id)
            found = RowsDigest.of(version.values for version in stored)
        if found.rows != counted or counted < self._new:
            raise StoreError(
                f"{self._store.name} took {self._new} content versions of live set {self._live_set_id}, has {counted} "
                f"and gave {found.rows}: repair the store, and mark again"
            )
        return found
