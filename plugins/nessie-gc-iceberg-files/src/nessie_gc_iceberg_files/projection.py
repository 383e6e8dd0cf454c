"""Decodes a few fields of Avro records and skips all others quickly.

A manifest entry carries about a hundred statistics, and we want four fields. The fields between two wanted ones are
a run. A whole record, its wanted fields and its runs, is one compiled regular expression. Its alternatives begin with
different bytes, and no such beginning is a part of another one, so a match is the only possible reading. Long bytes
and texts, and arrays of a new length, do not match; such a record is read field by field, run by run, and the length
of an array is remembered for the next one.

Everything that is not understood raises :class:`NotProjectable`; the caller then decodes by other means.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Type = object
"""An Avro type, as the JSON of a schema has it."""
Values = list[int] | list[str] | list[int | None]
"""The values of one column, of all records."""

_MOST_BYTES = 64
_MOST_SECOND = 5
"""Text matches up to a length of which the second byte is less than this: 319 bytes."""
_MOST_LENGTHS = 16
"""How many lengths of one array are learnt."""
_VARINT = rb"[\x80-\xff]*+[\x00-\x7f]"
_FIXED_SIZES: Mapping[str, int] = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_SHORT = b"|".join(re.escape(bytes([2 * n])) + b".{%d}" % n for n in range(_MOST_BYTES))
_SHORT_BYTES = b"(?:%b)" % _SHORT


def _longer(low: int) -> bytes:
    """Texts of 64 bytes and more of which the length has these low six bits."""
    seconds = (re.escape(bytes([n])) + b".{%d}" % (low + 64 * n) for n in range(1, _MOST_SECOND))
    return re.escape(bytes([0x80 | low << 1 & 0x7F])) + b"(?:%b)" % b"|".join(seconds)


_TEXT = b"|".join([*map(_longer, range(64)), _SHORT])


class NotProjectable(Exception):  # noqa: N818 - no failure: there is another way
    """The schema or the data has something that only a full decoder knows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A wanted field."""

    name: str
    """Dotted."""
    type: str
    """``int``, ``long`` or ``string``."""
    default: int | None = None
    """The value where the writer has no such field; ``None``: it must have it."""
    nullable: bool = False
    """Whether it is ``None`` where there is no such field, or no number in it."""


_Match = Callable[[bytes, int], re.Match[bytes] | None]


@dataclass(slots=True)
class _Array:
    """An array in a run, with the lengths that were met."""

    item: Type
    lengths: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Run:
    """Fields that are stepped over at once."""

    types: list[Type] = field(default_factory=list)
    match: _Match | None = None


class Projection:
    """Reads the wanted fields of one writer's schema; used from several threads at once."""

    def __init__(self, schema: Type, columns: Sequence[Column]) -> None:
        """Prepares for the records of one writer's schema."""
        self._lock = threading.Lock()
        self._steps: list[tuple[_Run, str, bool]] = []
        self._last = _Run()
        self._flatten(schema, "", {column.name: column for column in columns})
        for run in (self._last, *(run for run, _, _ in self._steps)):
            self._compile(run)
        self._match = self._whole()
        names = [name for _, name, _ in self._steps]
        self._order: list[tuple[int, int | None]] = []
        for column in columns:
            if column.name not in names and column.default is None and not column.nullable:
                raise NotProjectable(column.name)
            self._order.append((names.index(column.name) if column.name in names else -1, column.default))

    def columns(self, block: bytes, count: int) -> list[Values]:
        """The wanted columns of a block, which must end where its last record ends."""
        records: list[Sequence[bytes]] = []
        position, match = 0, self._match
        try:
            for _ in range(count):
                matched = match(block, position)
                if matched is None:
                    record, position = self._record(block, position)
                    match = self._match
                    records.append(record)
                else:
                    records.append(matched.groups())
                    position = matched.end()
            if position != len(block):
                raise NotProjectable("a block does not end with its last record")
            written = [*zip(*records, strict=True)] or [()] * len(self._steps)
            found = [
                _texts(column) if is_text else _numbers(column)
                for column, (_, _, is_text) in zip(written, self._steps, strict=True)
            ]
        except (IndexError, ValueError) as error:
            raise NotProjectable("the data is damaged") from error
        return [found[index] if index >= 0 else _repeated(default, count) for index, default in self._order]

    def _record(self, block: bytes, position: int) -> tuple[list[bytes], int]:
        """The wanted fields of a record as they are written, and where it ends; read field by field."""
        values: list[bytes] = []
        for run, _, is_text in self._steps:
            start = position = self._skip(run, block, position)
            number, position = read_long(block, position)
            if is_text:
                position += number
                if number < 0 or position > len(block):
                    raise NotProjectable("a string is truncated")
            values.append(block[start:position])
        return values, self._skip(self._last, block, position)

    def _skip(self, run: _Run, block: bytes, position: int) -> int:
        if run.match is None:
            return position
        matched = run.match(block, position)
        if matched is not None:
            return matched.end()
        met: list[tuple[_Array, int]] = []
        for type_ in run.types:
            position = _step_over(type_, block, position, met)
        with self._lock:
            if _learn(met):
                self._compile(run)
                self._match = self._whole()
        return position

    def _flatten(self, schema: Type, prefix: str, wanted: Mapping[str, Column]) -> None:
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise NotProjectable("no record")
        for child in schema["fields"]:
            name, type_ = prefix + child["name"], child["type"]
            if name in wanted:
                if type_ != wanted[name].type:
                    raise NotProjectable(name)
                self._steps.append((self._last, name, type_ == "string"))
                self._last = _Run()
            elif any(other.startswith(name + ".") for other in wanted):
                self._flatten(type_, name + ".", wanted)
            else:
                self._last.types.append(_prepared(type_))

    def _compile(self, run: _Run) -> None:
        if run.types:
            run.match = re.compile(b"".join(map(_pattern, run.types)), re.DOTALL).match

    def _whole(self) -> _Match:
        """Matches a whole record, with a group for each wanted field."""
        pattern = bytearray()
        for run, _, is_text in self._steps:
            pattern += b"".join(map(_pattern, run.types)) + b"(%b)" % (_TEXT if is_text else _VARINT)
        return re.compile(bytes(pattern) + b"".join(map(_pattern, self._last.types)), re.DOTALL).match


def read_long(data: bytes, position: int) -> tuple[int, int]:
    """An Avro number, and where it ends; IndexError where the data ends first, ValueError where it is not a number."""
    byte = data[position]
    position += 1
    value, shift = byte & 0x7F, 7
    while byte >= 0x80:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise ValueError("a number is damaged")
    return (value >> 1) ^ -(value & 1), position


def _numbers(written: Sequence[bytes]) -> list[int]:
    known = {each: read_long(each, 0)[0] for each in set(written)}
    return [known[each] for each in written]


def _repeated(default: int | None, count: int) -> Values:
    return [default] * count


def _texts(written: Sequence[bytes]) -> list[str]:
    """Texts without the lengths before them."""
    return [
        each[1 if each[0] < 0x80 else 2 if each[1] < 0x80 else read_long(each, 0)[1] :].decode() for each in written
    ]


def _prepared(type_: Type) -> Type:
    """The type with its arrays ready to learn; named types that are used by name are not known here."""
    if isinstance(type_, list):
        return [_prepared(branch) for branch in type_]
    if isinstance(type_, str):
        if type_ in _FIXED_SIZES or type_ in ("int", "long", "string", "bytes"):
            return type_
        raise NotProjectable(type_)
    if not isinstance(type_, dict):
        raise NotProjectable(str(type_))
    kind = type_["type"]
    if kind == "record":
        return {"type": "record", "fields": [_prepared(child["type"]) for child in type_["fields"]]}
    if kind == "array":
        return _Array(_prepared(type_["items"]))
    if kind == "map":
        return _Array({"type": "record", "fields": ["string", _prepared(type_["values"])]})
    if kind == "fixed":
        return {"type": "fixed", "size": int(type_["size"])}
    if kind == "enum":
        return "int"
    return _prepared(kind)  # a plain type with a logical type


def _pattern(type_: Type) -> bytes:
    if isinstance(type_, _Array):
        item = _pattern(type_.item)
        lengths = sorted(type_.lengths)
        return (
            b"(?:"
            + b"|".join([rb"\x00", *(_written(n) + b"(?:%b){%d}" % (item, n) + rb"\x00" for n in lengths)])
            + b")"
        )
    if isinstance(type_, list):
        return b"(?:" + b"|".join(_written(n) + _pattern(branch) for n, branch in enumerate(type_)) + b")"
    if isinstance(type_, dict):
        if type_["type"] == "fixed":
            return b".{%d}" % type_["size"]
        return b"".join(map(_pattern, type_["fields"]))
    if type_ in ("int", "long"):
        return _VARINT
    if type_ in ("string", "bytes"):
        return _SHORT_BYTES
    return b".{%d}" % _FIXED_SIZES[str(type_)]


def _written(number: int) -> bytes:
    """A small number of zero or more as Avro writes it, for a pattern."""
    value, found = number << 1, bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return re.escape(bytes(found))


def _step_over(type_: Type, data: bytes, position: int, met: list[tuple[_Array, int]]) -> int:
    """Where a value ends, read field by field; arrays and their lengths go into ``met``."""
    if isinstance(type_, _Array):
        return _step_over_array(type_, data, position, met)
    if isinstance(type_, list):
        branch, position = read_long(data, position)
        if not 0 <= branch < len(type_):
            raise NotProjectable("a branch that the schema lacks")
        return _step_over(type_[branch], data, position, met)
    if isinstance(type_, dict) and type_["type"] == "record":
        for child in type_["fields"]:
            position = _step_over(child, data, position, met)
        return position
    if type_ in ("int", "long"):
        return read_long(data, position)[1]
    if type_ in ("string", "bytes"):
        size, position = read_long(data, position)
    else:
        size = type_["size"] if isinstance(type_, dict) else _FIXED_SIZES[str(type_)]
    if size < 0 or position + size > len(data):
        raise NotProjectable("a value is truncated")
    return position + size


def _step_over_array(array: _Array, data: bytes, position: int, met: list[tuple[_Array, int]]) -> int:
    blocks = 0
    while True:
        count, position = read_long(data, position)
        if count == 0:
            return position
        blocks += 1
        if count < 0:
            size, position = read_long(data, position)
            position += size
            if size < 0 or position > len(data):
                raise NotProjectable("an array is truncated")
            continue
        if count > len(data):
            raise NotProjectable("an array is longer than its block")
        for _ in range(count):
            position = _step_over(array.item, data, position, met)
        if blocks == 1:
            met.append((array, count))


def _learn(met: Sequence[tuple[_Array, int]]) -> bool:
    """Whether any length was new."""
    is_new = False
    for array, length in met:
        if length not in array.lengths and len(array.lengths) < _MOST_LENGTHS:
            array.lengths.add(length)
            is_new = True
    return is_new
