"""Avro files, read with a projection, and checked to be whole before anything is concluded from them."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import cast

import fastavro

from nessie_gc_core.errors import UnreadableFileError

_MAGIC = b"Obj\x01"
_ENCRYPTED_MAGIC = b"AGS1"
_SYNC_BYTES = 16

Schema = Mapping[str, object]


def read_records(path: str, data: bytes, project: Callable[[Schema], Schema]) -> Iterator[Mapping[str, object]]:
    """The records of an Avro file, with the fields of the projected schema only.

    Args:
        path: Names the file in errors.
        data: The whole file.
        project: Makes the reader's schema from the writer's; raises ValueError where fields are missing.

    Raises:
        UnreadableFileError: it is no Avro file, is cut off or damaged, or has a codec that is not known; where
            its structure shows this, before the first record.
    """
    try:
        schema, expected = check_container(data)
        records = fastavro.reader(io.BytesIO(data), dict(_projected(schema, project)))
        found = 0
        for record in records:
            found += 1
            yield cast("Mapping[str, object]", record)
    except UnreadableFileError:
        raise
    except Exception as error:  # decoders raise anything on damaged bytes
        raise UnreadableFileError(path, _reason(data, error)) from error
    if found != expected:
        raise UnreadableFileError(path, f"it has {found} records where its blocks announce {expected}")


def check_container(data: bytes) -> tuple[bytes, int]:
    """Walks over the blocks without decoding them: the writer's schema, and how many records there are.

    Raises:
        ValueError: the file does not end where a block ends, or is no Avro file.
    """
    if data[:4] != _MAGIC:
        raise ValueError("it is no Avro file")
    try:
        return _walk(data)
    except IndexError as error:
        raise ValueError("it is cut off") from error


def _walk(data: bytes) -> tuple[bytes, int]:
    schema, position = b"", 4
    while True:
        entries, position = _long(data, position)
        if entries == 0:
            break
        if entries < 0:
            _, position = _long(data, position)
        for _ in range(abs(entries)):
            key, position = _bytes(data, position)
            value, position = _bytes(data, position)
            if key == b"avro.schema":
                schema = value
    sync = data[position : position + _SYNC_BYTES]
    position += _SYNC_BYTES
    records = 0
    while position < len(data):
        count, position = _long(data, position)
        size, position = _long(data, position)
        if count < 0 or size < 0 or data[position + size : position + size + _SYNC_BYTES] != sync:
            raise ValueError("a block is damaged or cut off")
        records += count
        position += size + _SYNC_BYTES
    if position != len(data) or not schema:
        raise ValueError("its header is cut off")
    return schema, records


def _bytes(data: bytes, position: int) -> tuple[bytes, int]:
    size, position = _long(data, position)
    if size < 0 or position + size > len(data):
        raise ValueError("its header is damaged or cut off")
    return data[position : position + size], position + size


def _long(data: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > 63:
            raise ValueError("a number is damaged")


@functools.lru_cache(maxsize=256)
def _projected(schema: bytes, project: Callable[[Schema], Schema]) -> Schema:
    return cast("Schema", fastavro.parse_schema(dict(project(json.loads(schema)))))


def _reason(data: bytes, error: Exception) -> str:
    if data.startswith(_ENCRYPTED_MAGIC):
        return "it is encrypted, and the keys of encrypted tables are not at hand"
    return " ".join(f"{error}".split())[:200] or type(error).__name__
