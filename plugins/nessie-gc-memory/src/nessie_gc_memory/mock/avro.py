"""Manifests and manifest lists of the format versions 1 to 3, as Iceberg's specification describes them."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro


def _field(name: str, type_: Any, field_id: int) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": type_, "field-id": field_id}
    if isinstance(type_, list):
        field["default"] = None
    return field


def _optional(type_: Any) -> list[Any]:
    return ["null", type_]


def _map(key_id: int, value_id: int, value: str) -> list[Any]:
    fields = [_field("key", "int", key_id), _field("value", value, value_id)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}
    return _optional({"type": "array", "logicalType": "map", "items": record})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What manifests and manifest lists of a table have in common."""

    version: int
    schema: str
    """As JSON."""
    partition_fields: str
    """As JSON."""
    statistics: bool = False
    """Whether manifests have statistics of columns."""
    compressed: bool = False

    @property
    def is_partitioned(self) -> bool:
        """Whether there is a partition field, which is text and called ``p``."""
        return self.partition_fields != "[]"


def statistics(columns: int, *, rows: int) -> dict[str, Any]:
    """The statistics of a data file whose first columns are numbers from 0."""

    def each(value: int | bytes) -> list[dict[str, Any]]:
        return [{"key": column, "value": value} for column in range(1, columns + 1)]

    if not columns:
        return {}
    return {
        "column_sizes": each(rows * 4),
        "value_counts": each(rows),
        "null_value_counts": each(0),
        "lower_bounds": each((0).to_bytes(8, "little")),
        "upper_bounds": each((rows - 1).to_bytes(8, "little")),
    }


_STATISTICS = (
    _field("column_sizes", _map(117, 118, "long"), 108),
    _field("value_counts", _map(119, 120, "long"), 109),
    _field("null_value_counts", _map(121, 122, "long"), 110),
    _field("nan_value_counts", _map(138, 139, "long"), 137),
    _field("lower_bounds", _map(126, 127, "bytes"), 125),
    _field("upper_bounds", _map(129, 130, "bytes"), 128),
    _field("key_metadata", _optional("bytes"), 131),
    _field("equality_ids", _optional({"type": "array", "items": "int", "element-id": 136}), 135),
)


def _data_file(form: Form) -> dict[str, Any]:
    version, partition = form.version, [_field("p", _optional("string"), 1000)] if form.is_partitioned else []
    fields = [_field("content", "int", 134)] if version > 1 else []
    fields += [
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", {"type": "record", "name": "r102", "fields": partition}, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
    ]
    fields += [_field("block_size_in_bytes", "long", 105)] if version == 1 else []
    fields += _STATISTICS if form.statistics else ()
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
def _manifest_schema(form: Form) -> Any:
    fields = [_field("status", "int", 0), _field("snapshot_id", _optional("long"), 1)]
    if form.version > 1:
        fields += [
            _field("sequence_number", _optional("long"), 3),
            _field("file_sequence_number", _optional("long"), 4),
        ]
    fields.append(_field("data_file", _data_file(form), 2))
    return fastavro.parse_schema({"type": "record", "name": "manifest_entry", "fields": fields})


_RANGE = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", "boolean", 509),
        _field("contains_nan", _optional("boolean"), 518),
        _field("lower_bound", _optional("bytes"), 510),
        _field("upper_bound", _optional("bytes"), 511),
    ],
}


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
    fields.append(_field("partitions", _optional({"type": "array", "items": _RANGE, "element-id": 508}), 507))
    if version > 2:
        fields.append(_field("first_row_id", _optional("long"), 520))
    return fastavro.parse_schema({"type": "record", "name": "manifest_file", "fields": fields})


def manifest(entries: Sequence[Mapping[str, Any]], form: Form, *, deletes: bool) -> bytes:
    """A manifest in one block, so that its size follows from its number of entries, unless it is compressed."""
    header = _manifest_header(form, deletes=deletes)
    return _encode(_manifest_schema(form), entries, header, compressed=form.compressed)


def manifest_size(entry: Mapping[str, Any], count: int, form: Form, *, deletes: bool) -> int:
    """The size of a manifest that is not compressed, and whose entries all take as many bytes as the given one."""
    single = io.BytesIO()
    fastavro.schemaless_writer(single, _manifest_schema(form), dict(entry))
    entries = len(single.getvalue()) * count
    return _empty_size(form, deletes) + entries + _long_size(count) + _long_size(entries) + _SYNC_BYTES


@functools.cache
def _empty_size(form: Form, deletes: bool) -> int:  # noqa: FBT001 - functools.cache wants one spelling
    return len(manifest([], form, deletes=deletes))


def manifest_list(
    entries: Iterable[Mapping[str, Any]], form: Form, *, snapshot_id: int, parent_id: int | None
) -> bytes:
    """A manifest list."""
    parent, version = "null" if parent_id is None else str(parent_id), form.version
    header = {"snapshot-id": str(snapshot_id), "parent-snapshot-id": parent, "format-version": str(version)}
    return _encode(_list_schema(version), entries, header, compressed=form.compressed)


_SYNC_BYTES = 16
_ONE_BLOCK = 1 << 62


def _manifest_header(form: Form, *, deletes: bool) -> dict[str, str]:
    header = {
        "schema": form.schema,
        "partition-spec": form.partition_fields,
        "partition-spec-id": "0",
        "format-version": str(form.version),
    }
    return header | ({"content": "deletes" if deletes else "data"} if form.version > 1 else {})


def _encode(schema: Any, records: Iterable[Mapping[str, Any]], header: dict[str, str], *, compressed: bool) -> bytes:
    file = io.BytesIO()
    fastavro.writer(
        file,
        schema,
        records,
        codec="deflate" if compressed else "null",
        metadata=header,
        sync_interval=_ONE_BLOCK,
        sync_marker=b"\x07" * _SYNC_BYTES,
    )
    return file.getvalue()


def _long_size(value: int) -> int:
    """How many bytes Avro needs for a number that is not negative."""
    return max(1, -(-(value << 1).bit_length() // 7))
