"""Contents that no live commit sees, named from the states that are still stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from nessie_gc_internal.objects import content_of
from nessie_gc_internal.report import UnseenContent
from nessie_gc_internal.store import ObjectRow, ObjectStore
from nessie_gc_internal.wire import FormatError

MOST_NAMED = 10_000
"""So many contents are named; all are counted."""


class UnseenContents:
    """Gathers them from rows of contents that nothing live reaches."""

    def __init__(self, store: ObjectStore, seen: Set[str]) -> None:
        """Takes an open store, and the ids of contents that live commits see."""
        self._store = store
        self._seen = seen
        self._latest: dict[str, tuple[int, UnseenContent]] = {}

    def add(self, rows: Iterable[ObjectRow]) -> None:
        """Looks at the contents of some rows, which are still stored; one that cannot be read is passed over."""
        stamps: Mapping[bytes, int] = {row.id: row.referenced or 0 for row in rows}
        for record in self._store.fetch(list(stamps)) if stamps else ():
            try:
                content = content_of(record.data)
            except FormatError:
                continue
            stamp, known = stamps[record.id], self._latest.get(content.content_id)
            if content.content_id in self._seen or (known is not None and known[0] >= stamp):
                continue
            self._latest[content.content_id] = (
                stamp,
                UnseenContent(
                    content_id=content.content_id,
                    content_type=content.content_type,
                    metadata_location=content.metadata_location,
                ),
            )

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._latest)

    def named(self) -> list[UnseenContent]:
        """The first of them, by id."""
        return [self._latest[id_][1] for id_ in sorted(self._latest)[:MOST_NAMED]]
