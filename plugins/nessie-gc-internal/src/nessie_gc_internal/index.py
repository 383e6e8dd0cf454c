"""Nessie's key index: which key has which value at a commit.

An index is a version byte (1 or 2), in version 2 the number of elements, and the elements in the order of their keys.
An element is how many bytes of the previous key to take off (not for the first one), the rest of the key, and a
commit operation: action, payload, id of the value with its length before it, and 16 bytes of the content's id. Parts
of a key end with a zero byte, a key with another one.
https://github.com/projectnessie/nessie/blob/nessie-0.99.0/versioned/storage/common/src/main/java/org/projectnessie/versioned/storage/common/indexes/StoreIndexImpl.java
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nessie_gc_internal.wire import FormatError, varint

VERSIONS = (1, 2)
EXISTS = frozenset((b"N", b"A", b"a"))
"""Actions of keys that are there: in a full index, added by this commit, added by an earlier one."""
_ID_SIZES = sorted(range(128), key=lambda size: size != 32)
"""How long ids may be, their usual length first."""
_ID = b"|".join(re.escape(bytes([size])) + b".{%d}" % size for size in _ID_SIZES)
_STRIP = rb"[\x80-\xff]{0,4}[\0-\x7f]"
_KEY = rb"(?:[^\0]++\0)*+\0"
_ACTION, _PAYLOAD, _CONTENT_ID = rb"[NARar]", rb"[\0-\x7f]", rb".{16}"
_REST = rb"(" + _KEY + rb")(" + _ACTION + rb")" + _PAYLOAD + rb"(" + _ID + rb")" + _CONTENT_ID
_FIRST = re.compile(rb"()" + _REST, re.DOTALL)
_NEXT = re.compile(rb"(" + _STRIP + rb")" + _REST, re.DOTALL)
_ALL_NEXT = re.compile(
    rb"(?:" + _STRIP + _KEY + _ACTION + _PAYLOAD + rb"(?:" + _ID + rb")" + _CONTENT_ID + rb")*+", re.DOTALL
)
"""Possessive throughout: there is one way to read an index, and none is tried twice."""

Element = tuple[bytes, bytes, bytes, bytes]
"""How much of the previous key goes, the rest of the key, the action, and the id with its length before it."""


def value_ids(index: bytes) -> set[bytes]:
    """The ids of the values of all keys that are there.

    Raises:
        FormatError: the index is in a form that is not known.
    """
    return {element[3][1:] for element in _elements(index) if element[2] in EXISTS} - {b""}


def values_by_key(index: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Each key, its parts with zero bytes between, with the id of its value; ``None`` for a key that is gone.

    Raises:
        FormatError: the index is in a form that is not known.
    """
    key = b""
    for strip, rest, action, value in _elements(index):
        kept = len(key) - (varint(strip, 0)[0] if strip else len(key))
        if kept < 0:
            raise FormatError("an index takes more off a key than the key has")
        key = key[:kept] + rest
        yield key[:-2], (value[1:] if action in EXISTS else None)


def _elements(index: bytes) -> list[Element]:
    if not index:
        return []
    if index[0] not in VERSIONS:
        raise FormatError(f"an index has the version {index[0]}; known are 1 and 2")
    count, position = varint(index, 1) if index[0] == 2 else (None, 1)
    if position == len(index):
        elements: list[Element] = []
    else:
        first = _FIRST.match(index, position)
        if first is None or _ALL_NEXT.fullmatch(index, first.end()) is None:
            raise FormatError("an index has an element of an unknown form")
        elements = [first.groups(), *_NEXT.findall(index, first.end())]  # type: ignore[list-item]
    if count is not None and count != len(elements):
        raise FormatError(f"an index claims {count} elements, but has {len(elements)}")
    return elements
