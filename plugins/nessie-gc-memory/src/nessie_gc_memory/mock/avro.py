"""Manifests and manifest lists of the format versions 1 to 3, as Iceberg's specification describes them."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import fastavro


def _field(name: str, type_: Any, field_id: int) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": type_, "field-id": field_id}
    if isinstance(type_, list):
        field["default"] = None
    return field


def _optional(type_: Any) -> list[Any]:
    return ["null", type_]


def _data_file(version: int) -> dict[str, Any]:
    fields = [_field("content", "int", 134)] if version > 1 else []
    fields += [
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", {"type": "record", "name": "r102", "fields": []}, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
    ]
    fields += [_field("block_size_in_bytes", "long", 105)] if version == 1 else []
    fields += [
        _field("split_offsets", _optional({"type": "array", "items": "long", "element-id": 133}), 132),
        _field("sort_order_id", _optional("int"), 140),
    ]
    if version > 1:
        fields.append(_field("referenced_data_file", _optional("string"), 143))
    if version > 2:
        fields += [
            _field("first_row_id", _optional("long"), 142),
            _field("content_offset", _optional("long"), 144),
            _field("content_size_in_bytes", _optional("long"), 145),
        ]
    return {"type": "record", "name": "r2", "fields": fields}


@functools.cache
def _manifest_schema(version: int) -> Any:
    fields = [_field("status", "int", 0), _field("snapshot_id", _optional("long"), 1)]
    if version > 1:
        fields += [
            _field("sequence_number", _optional("long"), 3),
            _field("file_sequence_number", _optional("long"), 4),
        ]
    fields.append(_field("data_file", _data_file(version), 2))
    return fastavro.parse_schema({"type": "record", "name": "manifest_entry", "fields": fields})


@functools.cache
def _list_schema(version: int) -> Any:
    files = "files" if version > 1 else "data_files"
    fields = [
        _field("manifest_path", "string", 500),
        _field("manifest_length", "long", 501),
        _field("partition_spec_id", "int", 502),
    ]
    if version > 1:
        fields += [
            _field("content", "int", 517),
            _field("sequence_number", "long", 515),
            _field("min_sequence_number", "long", 516),
        ]
    fields.append(_field("added_snapshot_id", "long", 503))
    for field_id, name in ((504, "added"), (505, "existing"), (506, "deleted")):
        fields.append(_field(f"{name}_{files}_count", "int" if version > 1 else _optional("int"), field_id))
    for field_id, name in ((512, "added"), (513, "existing"), (514, "deleted")):
        fields.append(_field(f"{name}_rows_count", "long" if version > 1 else _optional("long"), field_id))
    if version > 2:
        fields.append(_field("first_row_id", _optional("long"), 520))
    return fastavro.parse_schema({"type": "record", "name": "manifest_file", "fields": fields})


def manifest(entries: Sequence[Mapping[str, Any]], *, version: int, schema: str, deletes: bool) -> bytes:
    """A manifest, uncompressed and in one block, so that its size follows from its number of entries."""
    return _encode(_manifest_schema(version), entries, _manifest_header(version, schema, deletes=deletes))


def manifest_size(entry: Mapping[str, Any], count: int, *, version: int, schema: str, deletes: bool) -> int:
    """The size of a manifest whose entries all take as many bytes as the given one."""
    single = io.BytesIO()
    fastavro.schemaless_writer(single, _manifest_schema(version), dict(entry))
    entries = len(single.getvalue()) * count
    return _empty_size(version, schema, deletes) + entries + _long_size(count) + _long_size(entries) + _SYNC_BYTES


@functools.cache
def _empty_size(version: int, schema: str, deletes: bool) -> int:  # noqa: FBT001 - functools.cache wants one spelling
    return len(manifest([], version=version, schema=schema, deletes=deletes))


def manifest_list(
    entries: Iterable[Mapping[str, Any]], *, version: int, snapshot_id: int, parent_id: int | None
) -> bytes:
    """A manifest list, uncompressed."""
    parent = "null" if parent_id is None else str(parent_id)
    header = {"snapshot-id": str(snapshot_id), "parent-snapshot-id": parent, "format-version": str(version)}
    return _encode(_list_schema(version), entries, header)


_SYNC_BYTES = 16
_ONE_BLOCK = 1 << 62


def _manifest_header(version: int, schema: str, *, deletes: bool) -> dict[str, str]:
    header = {"schema": schema, "partition-spec": "[]", "partition-spec-id": "0", "format-version": str(version)}
    return header | ({"content": "deletes" if deletes else "data"} if version > 1 else {})


def _encode(schema: Any, records: Iterable[Mapping[str, Any]], header: dict[str, str]) -> bytes:
    file = io.BytesIO()
    fastavro.writer(
        file,
        schema,
        records,
        codec="null",
        metadata=header,
        sync_interval=_ONE_BLOCK,
        sync_marker=b"\x07" * _SYNC_BYTES,
    )
    return file.getvalue()


def _long_size(value: int) -> int:
    """How many bytes Avro needs for a number that is not negative."""
    return max(1, -(-(value << 1).bit_length() // 7))
