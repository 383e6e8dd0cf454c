"""Large prefixes of stores that list in the order of bytes: cut into ranges of keys while they are listed.

A range has every key after its first bound, up to its last. Whatever the bounds are, ranges that follow each other
have every key exactly once, so bounds may be guessed: they are the directories that come next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nessie_gc_core.errors import ListingError
from nessie_gc_iceberg_files.stores import StoredFile

PAGES = 4
"""A range that has more pages is cut; below that, asking where to cut costs more than it saves."""
RANGES = 16
"""Into how many ranges one is cut, at most."""
_LEVELS = 4


class KeyRange(NamedTuple):
    """The keys below a prefix that come after one key, up to another."""

    prefix: str
    after: str = ""
    until: str | None = None


class OrderedStore(ABC):
    """A store that may list keys in the order of their bytes, and from any key on."""

    @property
    @abstractmethod
    def is_ordered(self) -> bool:
        """Whether it does."""

    @abstractmethod
    def pages_after(self, prefix: str, after: str) -> Iterator[tuple[Sequence[StoredFile], bool]]:
        """Pages of the files below a prefix whose keys come after a key, and whether each is the last."""

    @abstractmethod
    def folders_after(self, prefix: str, after: str) -> Sequence[str]:
        """The next folders one level below a prefix that have keys after a key, in order; as many as a page has."""


def listed(store: OrderedStore, range_: KeyRange) -> Iterator[Sequence[StoredFile] | KeyRange]:
    """The files of a range, page by page; where it is large, those of its first pages, and ranges for the rest.

    Raises:
        ListingError: the keys are not in the order of their bytes.
    """
    last = range_.after
    for number, (files, is_last) in enumerate(store.pages_after(range_.prefix, range_.after), start=1):
        inside = 0
        for file in files:
            if file.key <= last:
                raise ListingError(
                    f"the listing of {range_.prefix!r} is not in key order: {file.key!r} follows {last!r}; "
                    "leave out s3.list-in-key-order"
                )
            if range_.until is not None and file.key > range_.until:
                break
            last = file.key
            inside += 1
        yield files[:inside]
        if inside < len(files):
            return
        if number == PAGES and not is_last:
            bounds = _bounds(store, range_, last)
            if bounds:
                yield from map(KeyRange, [range_.prefix] * (len(bounds) + 1), [last, *bounds], [*bounds, range_.until])
                return


def _bounds(store: OrderedStore, range_: KeyRange, last: str) -> Sequence[str]:
    """Keys after the last one and within the range at which to cut; none where everything else is in one folder."""
    prefix = range_.prefix
    for _ in range(_LEVELS):
        folders = store.folders_after(prefix, last)
        later = {found for found in folders if found > last and (range_.until is None or found < range_.until)}
        bounds = sorted(later)
        if bounds:
            step = -(-len(bounds) // (RANGES - 1))
            return bounds[::step]
        inside = next((found for found in folders if last.startswith(found)), None)
        if inside is None:
            return ()
        prefix = inside
    return ()
