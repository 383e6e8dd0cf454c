"""Ranges of partitions in manifests: where they overlap, and which belong together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nessie_gc_core.model.manifests import Manifest, PartitionRange, PartitionValue

_POINTS = 64
"""The maximum number of places at which it is counted how many manifests a query opens."""
_LOWEST, _VALUE, _HIGHEST = 0, 1, 2
_Key = tuple[int] | tuple[int, PartitionValue]
Point = tuple[_Key, ...]
"""A place among partitions: one key for each field. Null comes first, NaN last."""


@dataclass(frozen=True, slots=True)
class Box:
    """The partitions that a manifest may have files of: from a lower corner to an upper one, field by field."""

    lower: Point
    upper: Point

    @classmethod
    def of(cls, manifest: Manifest) -> Box | None:
        """That of a manifest; ``None`` if its list does not say, or its spec has no fields."""
        if not manifest.partitions:
            return None
        return cls(tuple(map(_lower, manifest.partitions)), tuple(map(_upper, manifest.partitions)))

    def contains(self, point: Point) -> bool:
        """Whether the manifest may have files of a partition."""
        return all(low <= key <= high for low, key, high in zip(self.lower, point, self.upper, strict=True))


@dataclass(frozen=True, slots=True)
class Overlap:
    """How the ranges of some manifests overlap."""

    depth: float
    """How many manifests a query for one partition opens on average."""
    crowded: frozenset[int]
    """The numbers of the manifests that have a place in common with more others than allowed."""


def measured(
    boxes: Sequence[Box], allowed: float | None = None, writers: Sequence[object] = (), merged: int = 0
) -> Overlap:
    """Counts at evenly spaced lower ends of ranges how many manifests have them.

    Args:
        boxes: the ranges, at least one.
        allowed: more manifests than this are too many at one place; ``None``: no number is.
        writers: for each range, what it shares with the others that one rewrite sorted; they count as one towards
            ``allowed``, because they would be written the same way again. ``None``: a small manifest.
        merged: how many all small ones together become; they count as no more than that.
    """
    ends = sorted({box.lower for box in boxes})
    step = max(len(ends) / _POINTS, 1.0)
    points = [ends[int(number * step)] for number in range(min(len(ends), _POINTS))]
    found = [[number for number, box in enumerate(boxes) if box.contains(point)] for point in points]
    crowded: set[int] = set()
    for numbers in found:
        if allowed is not None:
            found_writers = [writers[number] for number in numbers]
            count = len({*found_writers} - {None}) + min(found_writers.count(None), merged)
            crowded.update(numbers if count > allowed else ())
    return Overlap(sum(map(len, found)) / len(points), frozenset(crowded))


def possible_partitions(boxes: Sequence[Box], files: float) -> float:
    """How many partitions there may be: no more than files, and no more than whole numbers between the ends."""
    product = 1.0
    for number in range(len(boxes[0].lower)):
        product *= _distance(min(box.lower[number] for box in boxes), max(box.upper[number] for box in boxes))
    return max(min(product, files), 1.0)


def _distance(low: _Key, high: _Key) -> float:
    """How many values there may be from one to another, both included."""
    if low == high:
        return 1
    first, last = low[-1], high[-1]
    if low[0] == high[0] == _VALUE and isinstance(first, int) and isinstance(last, int):
        return last - first + 1
    return math.inf


def by_size(length: int) -> Point:
    """Sorts by size whatever is sorted by its place otherwise."""
    return ((_VALUE, length),)


def meeting(boxes: Sequence[Box]) -> Iterator[list[int]]:
    """The numbers of ranges in groups whose values of the first field meet; different groups share no partition."""
    group: list[int] = []
    end: _Key = (_LOWEST,)
    for number in sorted(range(len(boxes)), key=lambda number: boxes[number].lower[0]):
        box = boxes[number]
        if group and box.lower[0] > end:
            yield group
            group = []
        end = box.upper[0] if not group else max(end, box.upper[0])
        group.append(number)
    if group:
        yield group


def _lower(of: PartitionRange) -> _Key:
    return (_LOWEST,) if of.contains_null or of.lower is None else (_VALUE, of.lower)


def _upper(of: PartitionRange) -> _Key:
    if of.contains_nan or (of.upper is None and not of.contains_null):
        return (_HIGHEST,)
    return (_LOWEST,) if of.upper is None else (_VALUE, of.upper)
