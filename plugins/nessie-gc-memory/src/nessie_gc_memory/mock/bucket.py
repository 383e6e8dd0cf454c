"""A computed lake as a bucket of an object store: single objects, and pages of listings in the order of keys."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from nessie_gc_memory.mock.lake import MockLake, MockObject
from nessie_gc_memory.mock.layout import Block, MockLayout

_AFTER_ALL = "\U0010ffff"
"""Sorts after every character of a key."""
_TABLES_AT_HAND = 16


@dataclass(slots=True, kw_only=True)
class Page:
    """A part of a listing."""

    objects: list[MockObject] = field(default_factory=list)
    """Their paths are keys."""
    folders: list[str] = field(default_factory=list)
    """Common prefixes, which end in the delimiter."""
    last: str | None = None
    """Where the next page begins; ``None``: this is the last one."""


class MockBucket:
    """The objects of a lake by their keys; from any thread.

    Args:
        lake: its root names the bucket.
    """

    def __init__(self, lake: MockLake) -> None:
        self._lake = lake
        scheme, _, rest = lake.spec.root.partition("://")
        self.name = rest.partition("/")[0]
        self._start = f"{scheme}://{self.name}/"
        self._ordered = lru_cache(_TABLES_AT_HAND)(_order)

    def content(self, key: str) -> bytes | None:
        """The content of an object; ``None`` if there is none."""
        return self._now().content(self._start + key)

    def object(self, key: str) -> MockObject | None:
        """Size and time of an object; ``None`` if there is none."""
        return self._now().object(self._start + key)

    def delete(self, keys: Iterable[str]) -> None:
        """Deletes objects, whether they exist or not."""
        self._lake.changes.delete(self._start + key for key in keys)

    def page(self, prefix: str, *, delimiter: str = "", after: str = "", limit: int = 1000) -> Page:
        """The objects and folders below a prefix that come after a key or a folder, at most so many."""
        page = Page()
        while True:
            for found in self._objects(prefix, after):
                if len(page.objects) + len(page.folders) >= limit:
                    page.last = after
                    return page
                below, separator, _ = found.path[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
                if separator:
                    folder = prefix + below + delimiter
                    page.folders.append(folder)
                    after = folder + _AFTER_ALL
                    break
                page.objects.append(found)
                after = found.path
            else:
                return page

    def _objects(self, prefix: str, after: str) -> Iterator[MockObject]:
        """The objects below a prefix and after a key, in the order of their keys."""
        lake = self._now()
        put = lake.changes.put_files()
        known = (
            MockObject(path=path[len(self._start) :], size=len(each.data), modified=each.modified)
            for path, each in sorted(put.items())
            if path.startswith(self._start + prefix) and path[len(self._start) :] > after
        )
        return heapq.merge(self._computed(lake, prefix, after), known, key=lambda found: found.path)

    def _computed(self, lake: MockLake, prefix: str, after: str) -> Iterator[MockObject]:
        gone = lake.changes.deleted() | lake.changes.put_files().keys()
        for block in self._blocks(lake, prefix, after):
            start = lake.layout.location(block.table)[len(self._start) :] + "/"
            size: int | None = None
            for index in range(_first(block, start + block.prefix, after), block.count):
                key = start + block.name(index)
                if key <= after or not key.startswith(prefix) or self._start + key in gone:
                    continue
                if lake.is_stored(block, index):
                    size = lake.size(block) if size is None else size
                    yield MockObject(path=key, size=size, modified=lake.modified(block, index))

    def _blocks(self, lake: MockLake, prefix: str, after: str) -> Iterator[Block]:
        """The blocks that may have objects below a prefix and after a key."""
        for table in self._tables(lake, prefix, after):
            start = lake.layout.location(table)[len(self._start) :] + "/"
            blocks, lasts = self._ordered(lake.layout, table)
            first = bisect_right(lasts, after, key=start.__add__)
            for block in blocks[first:]:
                head = start + block.prefix
                if head.startswith(prefix) or prefix.startswith(head):
                    yield block
                elif head > prefix:
                    break

    def _tables(self, lake: MockLake, prefix: str, after: str) -> Iterator[int]:
        for table in lake.tables:
            start = lake.layout.location(table)[len(self._start) :] + "/"
            if (start.startswith(prefix) or prefix.startswith(start)) and start + _AFTER_ALL > after:
                yield table

    def _now(self) -> MockLake:
        self._lake = self._lake.now()
        return self._lake


def _first(block: Block, start: str, after: str) -> int:
    """The first number of a block whose key may come after another key."""
    digits = after[len(start) : len(start) + block.digits] if block.digits and after.startswith(start) else ""
    return int(digits) if len(digits) == block.digits and re.fullmatch("[0-9]+", digits) else 0


def _order(layout: MockLayout, table: int) -> tuple[list[Block], list[str]]:
    """The blocks of a table, and the last name of each."""
    blocks = list(layout.blocks(table))
    return blocks, [block.name(block.count - 1) for block in blocks]
