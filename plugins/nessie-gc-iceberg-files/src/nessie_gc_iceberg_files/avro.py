"""Avro files, read with a projection, and checked to be whole before anything is concluded from them."""

from __future__ import annotations

import functools
import io
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import fastavro

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_iceberg_files.projection import Column, NotProjectable, Projection, Values, read_long

MAGIC = b"Obj\x01"
_ENCRYPTED_MAGIC = b"AGS1"
SYNC_BYTES = 16

Schema = Mapping[str, object]
Record = Mapping[str, object]
"""A record by the names of its fields."""


@dataclass(frozen=True, slots=True)
class Container:
    """The structure of an Avro file that is whole."""

    schema: bytes
    codec: bytes
    blocks: Sequence[tuple[int, int, int]]
    """Of each block the number of its records, and where its data begins and ends."""
    body: int
    """Where the first block begins; the marker that parts blocks stands before it."""


def read_columns(path: str, data: bytes, columns: tuple[Column, ...]) -> Sequence[Values]:
    """Some columns of an Avro file, each with the values of all records.

    Args:
        path: Names the file in errors.
        data: The whole file.
        columns: What is wanted.

    Raises:
        UnreadableFileError: it is not an Avro file, is cut off or damaged, lacks a column, or has a codec that is not
            known.
    """
    try:
        container = check_container(data)
        try:
            return _read_quickly(container, data, columns)
        except NotProjectable:
            return _read_thoroughly(container, data, columns)
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, reason(data, error)) from error


def read_records(path: str, data: bytes) -> list[Record]:
    """All records of an Avro file with all of their fields.

    Args:
        path: Names the file in errors.
        data: The whole file.

    Raises:
        UnreadableFileError: it is not an Avro file, is cut off or damaged, or has a codec that is not known.
    """
    try:
        container = check_container(data)
        return checked(container, fastavro.reader(io.BytesIO(data)))
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, reason(data, error)) from error


def checked(container: Container, reader: Iterable[object]) -> list[Record]:
    """All records of a reader.

    Raises:
        ValueError: they are not as many as the blocks announce.
    """
    records = [cast("Record", record) for record in reader]
    expected = sum(count for count, _, _ in container.blocks)
    if len(records) != expected:
        raise ValueError(f"it has {len(records)} records but its blocks announce {expected}")
    return records


def _read_quickly(container: Container, data: bytes, columns: tuple[Column, ...]) -> Sequence[Values]:
    if container.codec not in (b"null", b"deflate"):
        raise NotProjectable("the codec")
    projection = _projection(container.schema, columns)
    found: list[list[int | str]] = [[] for _ in columns]
    for count, start, end in container.blocks:
        block = data[start:end]
        decoded = projection.columns(_inflated(block) if container.codec == b"deflate" else block, count)
        for whole, part in zip(found, decoded, strict=True):
            whole.extend(part)
    return cast("list[Values]", found)


def _read_thoroughly(container: Container, data: bytes, columns: tuple[Column, ...]) -> Sequence[Values]:
    reader_schema = dict(_reader_schema(container.schema, columns))
    records = checked(container, fastavro.reader(io.BytesIO(data), reader_schema))
    return cast("list[Values]", [[_value(record, column.name) for record in records] for column in columns])


def _value(record: object, name: str) -> int | str:
    for part in name.split("."):
        record = cast("Mapping[str, object]", record)[part]
    return cast("int | str", record)


def _inflated(block: bytes) -> bytes:
    inflater = zlib.decompressobj(wbits=-15)
    plain = inflater.decompress(block)
    if not inflater.eof:  # what follows the end is ignored: some writers leave a part of zlib's checksum there
        raise ValueError("a block is damaged")
    return plain


def check_container(data: bytes) -> Container:
    """Walks over the blocks without decoding them.

    Raises:
        ValueError: the file does not end where a block ends, or is not an Avro file.
    """
    if data[:4] != MAGIC:
        raise ValueError("it is not an Avro file")
    try:
        return _walk(data)
    except IndexError as error:
        raise ValueError("it is truncated") from error


def _walk(data: bytes) -> Container:
    header: dict[bytes, bytes] = {}
    position = 4
    while True:
        entries, position = read_long(data, position)
        if entries == 0:
            break
        if entries < 0:
            _, position = read_long(data, position)
        for _ in range(abs(entries)):
            key, position = _bytes(data, position)
            value, position = _bytes(data, position)
            header[key] = value
    sync = data[position : position + SYNC_BYTES]
    position += SYNC_BYTES
    body = position
    blocks: list[tuple[int, int, int]] = []
    while position < len(data):
        count, position = read_long(data, position)
        size, position = read_long(data, position)
        end = position + size
        if count < 0 or size < 0 or data[end : end + SYNC_BYTES] != sync:
            raise ValueError("a block is damaged or truncated")
        blocks.append((count, position, end))
        position = end + SYNC_BYTES
    if position != len(data) or b"avro.schema" not in header:
        raise ValueError("its header is truncated")
    return Container(header[b"avro.schema"], header.get(b"avro.codec", b"null"), blocks, body)


def _bytes(data: bytes, position: int) -> tuple[bytes, int]:
    size, position = read_long(data, position)
    if size < 0 or position + size > len(data):
        raise ValueError("its header is damaged or truncated")
    return data[position : position + size], position + size


@functools.lru_cache(maxsize=256)
def _projection(schema: bytes, columns: tuple[Column, ...]) -> Projection:
    return Projection(json.loads(schema), columns)


@functools.lru_cache(maxsize=256)
def _reader_schema(schema: bytes, columns: tuple[Column, ...]) -> Schema:
    return cast("Schema", fastavro.parse_schema(dict(_narrowed(json.loads(schema), "", columns))))


def _narrowed(writer: object, prefix: str, columns: Sequence[Column]) -> Schema:
    """A record schema that resolves against the writer's: the same names, fewer fields."""
    if not isinstance(writer, dict) or writer.get("type") != "record":
        raise ValueError("its schema lacks a record")
    types = {child["name"]: child["type"] for child in writer["fields"]}
    fields: list[Schema] = []
    for name in dict.fromkeys(column.name[len(prefix) :].partition(".")[0] for column in columns):
        below = [column for column in columns if column.name.startswith(f"{prefix}{name}.")]
        column = next((column for column in columns if column.name == prefix + name), None)
        if name not in types and (column is None or column.default is None):
            raise ValueError(f"its schema has no field {prefix + name!r}")
        if column is None:
            fields.append({"name": name, "type": _narrowed(types[name], f"{prefix}{name}.", below)})
        else:
            more = {} if column.default is None else {"default": column.default}
            fields.append({"name": name, "type": column.type, **more})
    named = {key: value for key, value in writer.items() if key in ("name", "namespace")}
    return {"type": "record", **named, "fields": fields}


def reason(data: bytes, error: Exception) -> str:
    """Why an Avro file cannot be read, in a few words."""
    if data.startswith(_ENCRYPTED_MAGIC):
        return "it is encrypted, and the keys of encrypted tables are not available"
    return " ".join(f"{error}".split())[:200] or type(error).__name__
