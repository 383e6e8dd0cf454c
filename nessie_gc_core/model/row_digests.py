"""Counts and digests of stored rows, by which a reader notices that one was lost, doubled or changed (S34)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

import xxhash

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MODULUS = 2**128

RowValues = Sequence[str | int | datetime | None]
"""The values of a row, in a fixed order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsDigest:
    """How many rows there are, and the sum of their digests.

    A sum depends on no order, so that parts can be added up wherever they are read, and what is removed subtracted.
    """

    rows: int = 0
    """How many."""
    total: int = 0
    """The sum of the 128-bit digests of all rows, modulo 2**128."""

    @classmethod
    def of(cls, rows: Iterable[RowValues]) -> Self:
        """The digest of some rows; equal instants count as equal, whatever their time zone."""
        count = total = 0
        for row in rows:
            count, total = count + 1, total + xxhash.xxh3_128_intdigest(_encode(row).encode())
        return cls(rows=count, total=total % _MODULUS)

    def __add__(self, other: RowsDigest) -> RowsDigest:
        return RowsDigest(rows=self.rows + other.rows, total=(self.total + other.total) % _MODULUS)

    def __sub__(self, other: RowsDigest) -> RowsDigest:
        return RowsDigest(rows=self.rows - other.rows, total=(self.total - other.total) % _MODULUS)

    def __str__(self) -> str:
        """As a store may keep it."""
        return f"{self.rows}:{self.total:032x}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The other way round.

        Raises:
            ValueError: the text is not a digest.
        """
        rows, _, total = text.partition(":")
        return cls(rows=int(rows), total=int(total, 16))


def _micros(value: object) -> int:
    assert isinstance(value, datetime)
    return (value - _EPOCH) // _MICROSECOND


_encode = json.JSONEncoder(separators=(",", ":"), default=_micros).encode
"""Tells all different rows apart; ASCII only, so that it never depends on a version of Unicode."""
