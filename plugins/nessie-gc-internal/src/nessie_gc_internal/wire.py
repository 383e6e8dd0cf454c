"""Reads protocol buffers, and refuses fields that nobody here knows.

Five small messages of Nessie's ``storage.proto`` and ``table.proto`` are read. A library would skip a field that a
later Nessie adds, and with it perhaps the id of something that is needed; generated code would also tie every
installation to one version of its run-time library. So this is the format itself, which has four kinds of fields:
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

NUMBER = 0
BYTES = 2
_FIXED_SIZES = {1: 8, 5: 4}


class FormatError(ValueError):
    """Something is stored in a form that is not known here; the message says which."""


class Message:
    """The fields of one message by their numbers."""

    __slots__ = ("_numbers", "_parts")

    def __init__(self, data: bytes, known: Mapping[int, int], name: str) -> None:
        """Reads a message.

        Args:
            data: the message.
            known: the number of each field that it may have, with its wire type, :data:`NUMBER` or :data:`BYTES`.
            name: what the message is called in errors.

        Raises:
            FormatError: it is truncated, or has a field that is not known or of another type.
        """
        self._numbers: dict[int, int] = {}
        self._parts: dict[int, list[bytes]] = {}
        position, end = 0, len(data)
        while position < end:
            key, after = data[position], position + 1  # most numbers are of one byte, and a call costs more than that
            key, position = (key, after) if key < 0x80 else varint(data, position)
            field, wire_type = key >> 3, key & 7
            if known.get(field) != wire_type or wire_type in _FIXED_SIZES:
                raise FormatError(f"{name} has a field {field} of the unknown wire type {wire_type}")
            value, after = (data[position] if position < end else 0x80), position + 1
            value, position = (value, after) if value < 0x80 else varint(data, position)
            if wire_type == NUMBER:
                self._numbers[field] = value
                continue
            if position + value > end:
                raise FormatError(f"{name} is truncated")
            self._parts.setdefault(field, []).append(data[position : position + value])
            position += value

    def number(self, field: int) -> int:
        """A number, 0 where it is not set."""
        return self._numbers.get(field, 0)

    def signed(self, field: int) -> int:
        """The same of a number that may be below zero, of 64 bits."""
        return int(struct.unpack("<q", struct.pack("<Q", self.number(field) & 0xFFFFFFFFFFFFFFFF))[0])

    def all(self, field: int) -> list[bytes]:
        """Every value of a field of bytes."""
        return self._parts.get(field, [])

    def one(self, field: int) -> bytes | None:
        """The last value of a field of bytes; ``None`` if it is not set."""
        parts = self._parts.get(field)
        return parts[-1] if parts else None

    def text(self, field: int) -> str | None:
        """The same of a field of text."""
        value = self.one(field)
        return None if value is None else value.decode("utf-8", "surrogateescape")

    @property
    def fields(self) -> frozenset[int]:
        """The numbers of the fields that are set."""
        return frozenset(self._numbers) | frozenset(self._parts)


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position after it.

    Raises:
        FormatError: the data ends, or the number has more than 64 bits.
    """
    value = shift = 0
    while shift < 70:
        if position >= len(data):
            raise FormatError("a number is truncated")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise FormatError("a number is too long")
