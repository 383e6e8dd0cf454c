"""Schemas of Avro files that let a few bytes of data keep a decoder busy forever."""

from __future__ import annotations

_READING = -1
"""Stands for the size of a type of which the fields are being looked at."""


def refuse_endless(schema: object) -> None:
    """Checks that the records of a schema cannot have more values than bytes.

    Arrays of values without bytes can have any length, and a type within itself any depth, which overflows the stack of
    a compiled decoder.

    Args:
        schema: the JSON of a schema.

    Raises:
        ValueError: it has such an array or such a type, or is invalid.
    """
    _least_bytes(schema, {})


def _least_bytes(type_: object, named: dict[str, int]) -> int:
    """The fewest bytes of a value."""
    if isinstance(type_, list):
        for branch in type_:
            _least_bytes(branch, named)
        return 1
    if isinstance(type_, str):
        size = named.get(_short(type_), 0 if type_ == "null" else 1)
        if size == _READING:
            raise ValueError("its schema has a type within itself")
        return size
    if not isinstance(type_, dict):
        raise ValueError("its schema is invalid")  # noqa: TRY004 - data that is wrong, no argument
    kind = type_.get("type")
    if kind == "array":
        if _least_bytes(type_.get("items"), named) == 0:
            raise ValueError("its schema has an array of values without bytes")
        return 1
    if kind == "map":
        _least_bytes(type_.get("values"), named)
        return 1
    return _least_named(type_, named) if kind in ("record", "fixed", "enum") else _least_bytes(kind, named)


def _least_named(type_: dict[str, object], named: dict[str, int]) -> int:
    name, size = _short(str(type_.get("name"))), 1
    if type_["type"] == "fixed":
        size = int(str(type_.get("size")))
    elif type_["type"] == "record":
        named[name] = _READING
        fields = type_.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise ValueError("its schema is invalid")
        size = sum(_least_bytes(field.get("type"), named) for field in fields)
    named[name] = size
    return size


def _short(name: str) -> str:
    return name.rpartition(".")[2]
