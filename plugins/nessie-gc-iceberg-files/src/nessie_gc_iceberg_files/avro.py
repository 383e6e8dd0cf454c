"""Avro files, read with a projection, and checked to be whole before anything is concluded from them."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import fastavro

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.unpacking import MEBIBYTE, Limit, Room
from nessie_gc_iceberg_files.avro_schemas import refuse_endless
from nessie_gc_iceberg_files.blocks import unpack_block
from nessie_gc_iceberg_files.options import MANIFEST_LIMIT
from nessie_gc_iceberg_files.projection import Column, NotProjectable, Projection, Values, read_long

MAGIC = b"Obj\x01"
_ENCRYPTED_MAGIC = b"AGS1"
SYNC_BYTES = 16
_MOST_SCHEMA_BYTES = MEBIBYTE

Schema = dict[str, object]
Record = Mapping[str, object]
"""A record by the names of its fields."""


@dataclass(frozen=True, slots=True)
class Container:
    """The structure of an Avro file that is whole."""

    schema: bytes
    codec: str
    blocks: Sequence[tuple[int, int, int]]
    """Of each block the number of its records, and where its data begins and ends."""


def read_columns(
    path: str, data: bytes, columns: tuple[Column, ...], limit: Limit = MANIFEST_LIMIT
) -> Sequence[Values]:
    """Some columns of an Avro file, each with the values of all records.

    Args:
        path: Names the file in errors.
        data: The whole file.
        columns: What is wanted.
        limit: How much it may unpack to.

    Raises:
        UnreadableFileError: it is not an Avro file, is cut off or damaged, lacks a column, has a codec that is not
            known, or unpacks to more than the limit.
    """
    try:
        container = check_container(data)
        try:
            return _read_quickly(container, data, columns, limit)
        except NotProjectable:
            return _read_thoroughly(container, data, columns, limit)
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, reason(data, error)) from error


def read_records(path: str, data: bytes, limit: Limit = MANIFEST_LIMIT) -> list[Record]:
    """All records of an Avro file with all of their fields.

    Args:
        path: Names the file in errors.
        data: The whole file.
        limit: How much it may unpack to.

    Raises:
        UnreadableFileError: it is not an Avro file, is cut off or damaged, has a codec that is not known, or unpacks to
            more than the limit.
    """
    try:
        container = check_container(data)
        writer = cast("Schema", fastavro.parse_schema(checked_schema(container.schema)))
        return decoded(plain_blocks(container, data, limit), writer, None)
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, reason(data, error)) from error


def plain_blocks(container: Container, data: bytes, limit: Limit) -> Iterator[tuple[int, bytes]]:
    """The blocks, each with the number of its records and what they are encoded as.

    Raises:
        ValueError: one is damaged, or they unpack to more than the limit.
    """
    room: Room = limit.room(len(data))
    for count, start, end in container.blocks:
        plain = unpack_block(container.codec, data[start:end], room)
        if count > len(plain):  # no record that Iceberg writes is empty
            raise ValueError(f"a block announces {count:,} records in {plural(len(plain), 'byte')}")
        yield count, plain


def decoded(blocks: Iterator[tuple[int, bytes]], writer: Schema, reader: Schema | None) -> list[Record]:
    """All records of some blocks, each of which must end where its last record ends.

    Args:
        blocks: each with the number of its records.
        writer: the schema that they were written with, parsed.
        reader: the schema that is wanted, parsed; ``None``: the same.

    Raises:
        ValueError: a block has more in it than the records that it announces.
        Exception: whatever the decoder raises where it has less.
    """
    found: list[Record] = []
    for count, plain in blocks:
        stream = io.BytesIO(plain)
        for _ in range(count):
            record = fastavro.schemaless_reader(stream, writer, reader)
            found.append(cast("Record", record))
        if stream.tell() != len(plain):
            raise ValueError("a block does not end with its last record")
    return found


def checked_schema(schema: bytes) -> Schema:
    """The schema of a file's records.

    Raises:
        ValueError: it is not that of a record, is too long, or makes records of any length out of a few bytes.
    """
    if len(schema) > _MOST_SCHEMA_BYTES:
        raise ValueError(f"its schema has more than {plural(_MOST_SCHEMA_BYTES, 'byte')}")
    found = parsed_json(schema)
    if not isinstance(found, dict) or found.get("type") != "record":
        raise ValueError("its schema is not a record")
    refuse_endless(found)
    return found


def _read_quickly(container: Container, data: bytes, columns: tuple[Column, ...], limit: Limit) -> Sequence[Values]:
    projection = _projection(container.schema, columns)
    found: list[list[int | str | None]] = [[] for _ in columns]
    for count, plain in plain_blocks(container, data, limit):
        for whole, part in zip(found, projection.columns(plain, count), strict=True):
            whole.extend(part)
    return cast("list[Values]", found)


def _read_thoroughly(container: Container, data: bytes, columns: tuple[Column, ...], limit: Limit) -> Sequence[Values]:
    writer, reader = _schemas(container.schema, columns)
    records = decoded(plain_blocks(container, data, limit), writer, reader)
    return cast("list[Values]", [[_value(record, column) for record in records] for column in columns])


def _value(record: object, column: Column) -> int | str | None:
    for part in column.name.split("."):
        fields = cast("Mapping[str, object]", record)
        record = fields.get(part) if column.nullable else fields[part]
    if column.nullable:
        return record if isinstance(record, int) else None
    return cast("int | str", record)


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
    return Container(header[b"avro.schema"], header.get(b"avro.codec", b"null").decode(errors="replace"), blocks)


def _bytes(data: bytes, position: int) -> tuple[bytes, int]:
    size, position = read_long(data, position)
    if size < 0 or position + size > len(data):
        raise ValueError("its header is damaged or truncated")
    return data[position : position + size], position + size


@functools.lru_cache(maxsize=256)
def _projection(schema: bytes, columns: tuple[Column, ...]) -> Projection:
    return Projection(checked_schema(schema), columns)


@functools.lru_cache(maxsize=256)
def _schemas(schema: bytes, columns: tuple[Column, ...]) -> tuple[Schema, Schema]:
    """The writer's schema, and one that has the wanted fields of it."""
    writer = checked_schema(schema)
    reader = _narrowed(writer, "", columns)
    return cast("Schema", fastavro.parse_schema(writer)), cast("Schema", fastavro.parse_schema(reader))


def _narrowed(writer: object, prefix: str, columns: Sequence[Column]) -> Schema:
    """A record schema that resolves against the writer's: the same names, fewer fields."""
    if not isinstance(writer, dict) or writer.get("type") != "record":
        raise ValueError("its schema lacks a record")
    types = {child["name"]: child["type"] for child in writer["fields"]}
    fields: list[Schema] = []
    for name in dict.fromkeys(column.name[len(prefix) :].partition(".")[0] for column in columns):
        below = [column for column in columns if column.name.startswith(f"{prefix}{name}.")]
        column = next((column for column in columns if column.name == prefix + name), None)
        if column is not None and column.nullable:
            if name in types:
                fields.append({"name": name, "type": types[name]})
            continue
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
