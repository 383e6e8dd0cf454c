"""What each record of Nessie's database names.

The forms are those of ``storage.proto``:
https://github.com/projectnessie/nessie/blob/nessie-0.99.0/versioned/storage/common-proto/src/main/proto/org/projectnessie/versioned/storage/common/proto/storage.proto
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nessie_gc_internal import kinds
from nessie_gc_internal.contents import StoredContent, read_content
from nessie_gc_internal.index import value_ids
from nessie_gc_internal.wire import BYTES, NUMBER, FormatError, Message, varint

_FIELDS = {"c": 2, "r": 3, "v": 4, "I": 5, "i": 6, "s": 7, "t": 8, "u": 10}
"""The field of a record that holds it, by its kind."""
_CUSTOM = 9
_REFERENCED = 11
_RECORD = {**dict.fromkeys((*_FIELDS.values(), _CUSTOM), BYTES), _REFERENCED: NUMBER}
_COMMIT = {
    1: NUMBER,
    2: NUMBER,
    **dict.fromkeys(range(3, 10), BYTES),
    10: NUMBER,
    11: NUMBER,
}
_CREATED, _TAIL, _SECONDARY_PARENTS, _HEADERS, _REFERENCE_INDEX, _STRIPES = 1, 3, 4, 5, 7, 8
_INCREMENTAL_INDEX, _INCOMPLETE, _TYPE = 9, 10, 11
_INTERNAL = 2
"""The type of commits of Nessie's own references."""
_HEADER = {1: BYTES, 2: BYTES}
_STRIPE = {1: BYTES, 2: BYTES, 3: BYTES}
_REFERENCE = {1: BYTES, 2: BYTES, 3: NUMBER, 4: BYTES}
_VALUE = {1: BYTES, 2: NUMBER, 3: BYTES}
_STRING = {1: BYTES, 2: NUMBER, 3: BYTES, 4: BYTES, 54: BYTES}
_PREVIOUS = {1: BYTES, 2: NUMBER}
_END_OF_TIME = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedReference:
    """A reference that was deleted."""

    name: str
    pointer: bytes
    """The commit to which it pointed."""
    time: int
    """When it was deleted, in microseconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a record names."""

    needed: Iterable[bytes] = ()
    """Ids of records that must exist."""
    welcome: Iterable[bytes] = ()
    """Ids of records that are kept where they exist."""
    content: StoredContent | None = None
    """The content that it is a state of."""
    dropped: DroppedReference | None = None
    """The reference whose deletion it notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIndexes:
    """Where the keys of a commit are."""

    incremental: bytes
    """The index within the commit, whose elements come before those of the other one."""
    segments: tuple[bytes, ...]
    """Ids of the records with the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReference:
    """The record of a reference's creation."""

    name: str
    initial_pointer: bytes
    """The commit at which it was created."""


def named_by(kind: str, data: bytes) -> Named:
    """What a record names.

    Raises:
        FormatError: its kind or its form is not known.
    """
    if kind not in _READERS:
        raise FormatError(f"its kind {kind!r} is unknown")
    return _READERS[kind](data)


def commit_indexes(data: bytes) -> CommitIndexes:
    """Where the keys of a commit are.

    Raises:
        FormatError: its form is not known, or its index is not complete.
    """
    commit = _commit(data)
    pointer = commit.one(_REFERENCE_INDEX)
    segments = [*([pointer] if pointer is not None else []), *_segments(commit.all(_STRIPES))]
    return CommitIndexes(incremental=commit.one(_INCREMENTAL_INDEX) or b"", segments=tuple(segments))


def index_segments(data: bytes) -> list[bytes]:
    """The ids of the indexes that a record of segments puts together.

    Raises:
        FormatError: its form is not known.
    """
    return _segments(Message(_body("I", data), {1: BYTES}, "a record of index segments").all(1))


def index_of(data: bytes) -> bytes:
    """The index that a record holds.

    Raises:
        FormatError: its form is not known.
    """
    return Message(_body("i", data), {1: BYTES}, "an index").one(1) or b""


def new_reference(data: bytes) -> NewReference:
    """The record of a reference's creation.

    Raises:
        FormatError: its form is not known.
    """
    record = Message(_body("r", data), _REFERENCE, "a reference")
    return NewReference(name=record.text(1) or "", initial_pointer=record.one(2) or kinds.NO_COMMIT)


def content_of(data: bytes) -> StoredContent:
    """The content that a record of contents holds.

    Raises:
        FormatError: its form is not known.
    """
    value = Message(_body("v", data), _VALUE, "a content's record")
    return read_content(value.text(1) or "", value.number(2), value.one(3) or b"")


def unique_id_space(data: bytes) -> str:
    """What a unique id was made for.

    Raises:
        FormatError: its form is not known.
    """
    return Message(_body("u", data), {1: BYTES, 2: BYTES}, "a unique id").text(1) or ""


def previous_pointers(data: bytes) -> list[tuple[bytes, int]]:
    """Where a reference pointed before, each with the time of the change in microseconds, the latest first.

    Raises:
        FormatError: its form is not known.
    """
    found, position = [], 0
    while position < len(data):
        size, position = varint(data, position)
        previous = Message(data[position : position + size], _PREVIOUS, "a previous pointer")
        found.append((previous.one(1) or kinds.NO_COMMIT, previous.number(2)))
        position += size
    return found


# ---- kinds --------------------------------------------------------------------------------------------
def _of_commit(data: bytes) -> Named:
    commit = _commit(data)
    pointer = commit.one(_REFERENCE_INDEX)
    parents = (*commit.all(_TAIL), *commit.all(_SECONDARY_PARENTS))
    indexes = (*([pointer] if pointer is not None else []), *_segments(commit.all(_STRIPES)))
    return Named(
        needed=(*parents, *indexes, *value_ids(commit.one(_INCREMENTAL_INDEX) or b"")),
        dropped=_dropped(commit) if commit.number(_TYPE) == _INTERNAL else None,
    )


def _dropped(commit: Message) -> DroppedReference | None:
    """The reference whose deletion an internal commit notes in its headers, as Nessie's ``ReferenceLogicImpl`` does.

    The time is the later one of those of the headers and of the commit; where the headers have none, it is now.
    """
    entries = [Message(entry, _HEADER, "a header") for entry in commit.all(_HEADERS)]
    headers = {entry.text(1) or "": entry.text(2) or "" for entry in entries}
    if headers.get("operation") != "delete":
        return None
    name = headers.get("name", "")
    try:
        pointer, millis = bytes.fromhex(headers["head"]), int(headers.get("timestamp.millis", _END_OF_TIME))
    except (KeyError, ValueError):
        raise FormatError(f"it records the deletion of the reference {name!r} in an unknown form") from None
    return DroppedReference(name=name, pointer=pointer, time=max(millis * 1000, commit.number(_CREATED)))


def _of_reference(data: bytes) -> Named:
    """A reference's creation needs no commit: where the reference points now is kept elsewhere."""
    record = Message(_body("r", data), _REFERENCE, "a reference")
    return Named(welcome=record.all(4))


def _of_string(data: bytes) -> Named:
    return Named(welcome=Message(_body("s", data), _STRING, "a text").all(4))


def _of_nothing(kind: str) -> Callable[[bytes], Named]:
    def read(data: bytes) -> Named:
        _body(kind, data)
        return Named()

    return read


def _of_custom(data: bytes) -> Named:
    """Entities and snapshots of the catalog service name a content by its id, and nothing else."""
    if Message(data, _RECORD, "a record").one(_CUSTOM) is None:
        raise FormatError("its kind and what it holds do not fit")
    return Named()


_READERS: Mapping[str, Callable[[bytes], Named]] = {
    kinds.COMMIT: _of_commit,
    kinds.VALUE: lambda data: Named(content=content_of(data)),
    kinds.REFERENCE: _of_reference,
    kinds.INDEX: lambda data: Named(needed=value_ids(index_of(data))),
    kinds.INDEX_SEGMENTS: lambda data: Named(needed=index_segments(data)),
    kinds.STRING: _of_string,
    kinds.TAG: _of_nothing("t"),
    kinds.UNIQUE_ID: _of_nothing("u"),
    kinds.CATALOG_ENTITY: _of_custom,
    kinds.CATALOG_SNAPSHOT: _of_custom,
}


def _commit(data: bytes) -> Message:
    commit = Message(_body("c", data), _COMMIT, "a commit")
    if commit.number(_INCOMPLETE):
        raise FormatError("its index is not complete; finish the import of the repository first")
    return commit


def _segments(stripes: Iterable[bytes]) -> list[bytes]:
    found = [Message(stripe, _STRIPE, "an index stripe").one(3) for stripe in stripes]
    return [segment for segment in found if segment is not None]


def _body(kind: str, data: bytes) -> bytes:
    """The one message that a record holds, which must be of its kind."""
    record = Message(data, _RECORD, "a record")
    body = record.one(_FIELDS[kind])
    if body is None or record.fields - {_FIELDS[kind], _REFERENCED}:
        raise FormatError("its kind and what it holds do not fit")
    return body
