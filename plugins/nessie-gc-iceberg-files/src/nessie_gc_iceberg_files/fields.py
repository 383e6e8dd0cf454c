"""Some fields of Avro records, of whatever type: numbers and bytes as they are stored, not as dates or decimals."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import cast

import fastavro

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.avro import (
    Record,
    Schema,
    check_container,
    checked_schema,
    decoded,
    plain_blocks,
    reason,
)
from nessie_gc_iceberg_files.options import MANIFEST_LIMIT

_NAMES = ("name", "namespace")


def read_fields(path: str, data: bytes, wanted: frozenset[str], limit: Limit = MANIFEST_LIMIT) -> list[Record]:
    """The records of an Avro file, with those of some fields that its writer has.

    A date that no calendar has is a number like any other.

    Args:
        path: names the file in errors.
        data: the whole file.
        wanted: dotted names.
        limit: how much it may unpack to.

    Raises:
        UnreadableFileError: it is not an Avro file, is cut off or damaged, has a codec that is not known, or unpacks to
            more than the limit.
    """
    try:
        container = check_container(data)
        writer, reader = _schemas(container.schema, wanted)
        return decoded(plain_blocks(container, data, limit), writer, reader)
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, reason(data, error)) from error


def decimal_fields(data: bytes, record: str) -> frozenset[str]:
    """The names of those fields of a record in an Avro file that are decimals, whose values are bytes.

    Args:
        data: the whole file, which :func:`read_fields` could read.
        record: its dotted name.
    """
    return _decimals(check_container(data).schema, record)


@functools.lru_cache(maxsize=256)
def _decimals(schema: bytes, record: str) -> frozenset[str]:
    whole = parsed_json(schema)
    named, found = frozenset(_named_decimals(whole)), whole
    for name in record.split("."):
        found = next((each["type"] for each in _fields(found) if each.get("name") == name), None)
    return frozenset(str(each.get("name")) for each in _fields(found) if _is_decimal(each.get("type"), named))


def _named_decimals(type_: object) -> Iterator[str]:
    """The names of decimals, by which a schema refers to a type where it occurs once more."""
    if isinstance(type_, dict):
        if type_.get("logicalType") == "decimal" and isinstance(type_.get("name"), str):
            yield type_["name"].rpartition(".")[2]
        yield from _named_decimals(list(type_.values()))
    elif isinstance(type_, list):
        for each in type_:
            yield from _named_decimals(each)


def _fields(type_: object) -> list[dict[str, object]]:
    return type_["fields"] if isinstance(type_, dict) and isinstance(type_.get("fields"), list) else []


def _is_decimal(type_: object, named: frozenset[str]) -> bool:
    if isinstance(type_, list):
        return any(_is_decimal(arm, named) for arm in type_)
    if isinstance(type_, str):
        return type_.rpartition(".")[2] in named
    return isinstance(type_, dict) and type_.get("logicalType") == "decimal"


@functools.lru_cache(maxsize=256)
def _schemas(schema: bytes, wanted: frozenset[str]) -> tuple[Schema, Schema]:
    """The writer's schema without logical types, and one that has the wanted fields of it."""
    plain = cast("dict[str, object]", _without_logical_types(checked_schema(schema)))
    reader = _narrowed(plain, "", wanted)
    return cast("Schema", fastavro.parse_schema(plain)), cast("Schema", fastavro.parse_schema(reader))


def _without_logical_types(type_: object) -> object:
    if isinstance(type_, list):
        return [_without_logical_types(each) for each in type_]
    if isinstance(type_, dict):
        return {key: _without_logical_types(value) for key, value in type_.items() if key != "logicalType"}
    return type_


def _narrowed(writer: Mapping[str, object], prefix: str, wanted: Collection[str]) -> dict[str, object]:
    fields = []
    for field in cast("list[dict[str, object]]", writer["fields"]):
        name, type_ = f"{prefix}{field['name']}", field["type"]
        if name in wanted:
            fields.append(field)
        elif isinstance(type_, dict) and any(each.startswith(f"{name}.") for each in wanted):
            fields.append({**field, "type": _narrowed(type_, f"{name}.", wanted)})
    return {"type": "record", **{key: writer[key] for key in _NAMES if key in writer}, "fields": fields}
