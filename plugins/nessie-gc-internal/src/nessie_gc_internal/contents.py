"""Contents as Nessie stores them, and the ids of records that follow from them."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from nessie_gc_internal.kinds import CONTENT_ID_SPACE
from nessie_gc_internal.wire import BYTES, NUMBER, FormatError, Message

_TYPES = {1: "ICEBERG_TABLE", 2: "ICEBERG_TABLE", 3: "ICEBERG_VIEW", 4: "DELTA_LAKE_TABLE", 6: "NAMESPACE", 7: "UDF"}
"""The field that is set, and the type that it stands for; 1 is of Nessie before 0.26."""
_PAYLOADS = range(6)
"""Payloads of contents of these types; 0 stands for any, in early versions."""
_ICEBERG = ("ICEBERG_TABLE", "ICEBERG_VIEW")
_CONTENT = {1: BYTES, 2: BYTES, 3: BYTES, 4: BYTES, 5: BYTES, 6: BYTES, 7: BYTES}
_STATES = {
    1: {1: BYTES},
    2: {1: NUMBER, 2: NUMBER, 3: NUMBER, 4: NUMBER, 5: BYTES, 6: BYTES, 7: BYTES, 8: BYTES},
    3: {1: NUMBER, 2: NUMBER, 3: BYTES, 4: BYTES, 5: BYTES, 6: BYTES, 7: BYTES, 8: BYTES},
    7: {1: BYTES, 2: BYTES, 3: BYTES, 4: BYTES, 5: BYTES},
}
_LOCATION_FIELDS = {1: 1, 2: 5, 3: 5, 7: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """One state of one content."""

    content_id: str
    """Its stable id."""
    content_type: str
    """Nessie's name of its type."""
    metadata_location: str | None = None
    """Where its metadata file is, for types that have one."""
    version_id: int | None = None
    """The snapshot of a table, the version of a view."""


def read_content(content_id: str, payload: int, data: bytes) -> StoredContent:
    """Reads a stored content.

    Raises:
        FormatError: its type or its form is not known.
    """
    if payload not in _PAYLOADS:
        raise FormatError(f"the content {content_id!r} has the unknown payload {payload}")
    content = Message(data, _CONTENT, "a content")
    states = content.fields & _TYPES.keys()
    if len(states) != 1:
        raise FormatError(f"the content {content_id!r} has an unknown type")
    (field,) = states
    if field not in _STATES:
        return StoredContent(content_id=content_id, content_type=_TYPES[field])
    state = Message(content.one(field) or b"", _STATES[field], "a content's state")
    return StoredContent(
        content_id=content_id,
        content_type=_TYPES[field],
        metadata_location=state.text(_LOCATION_FIELDS[field]),
        version_id=state.signed(1) if field in (2, 3) else None,
    )


def related_ids(content: StoredContent) -> Iterator[bytes]:
    """The ids of the records that belong to a content: its unique id, its catalog entity, this state's snapshot.

    They are digests, as Nessie makes them (``CatalogObjIds``, ``UniqueIdObj``); a record need not exist.
    """
    with suppress(ValueError):  # ids of imported repositories may be any text; Nessie makes no unique id of such a one
        yield _digest("UNIQUE", CONTENT_ID_SPACE, UUID(content.content_id).bytes)
    if content.content_type in _ICEBERG:
        yield _digest("NessieEntity", content.content_id)
        version = struct.pack("<q", content.version_id or 0)
        yield _digest("ContentSnapshot", content.metadata_location or "", version)


def _digest(*parts: str | bytes) -> bytes:
    """SHA-256 of the parts, one after the other."""
    joined = b"".join(part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape") for part in parts)
    return hashlib.sha256(joined).digest()
