"""The Avro schemas of Iceberg v2 manifest lists and manifests, as Iceberg itself writes them."""

from __future__ import annotations

import io
from typing import Any

import fastavro


def _field(name: str, type_: Any, field_id: int) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": type_, "field-id": field_id}
    if isinstance(type_, list):
        field["default"] = None
    return field


def _map(key_id: int, value_id: int, value: str) -> list[Any]:
    record = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field("key", "int", key_id), _field("value", value, value_id)],
    }
    return ["null", {"type": "array", "logicalType": "map", "items": record}]


_PARTITION = {"type": "record", "name": "r102", "fields": [_field("p", ["null", "int"], 1000)]}
_DATA_FILE = {
    "type": "record",
    "name": "r2",
    "fields": [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", _PARTITION, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _field("column_sizes", _map(117, 118, "long"), 108),
        _field("value_counts", _map(119, 120, "long"), 109),
        _field("null_value_counts", _map(121, 122, "long"), 110),
        _field("nan_value_counts", _map(138, 139, "long"), 137),
        _field("lower_bounds", _map(126, 127, "bytes"), 125),
        _field("upper_bounds", _map(129, 130, "bytes"), 128),
        _field("key_metadata", ["null", "bytes"], 131),
        _field("split_offsets", ["null", {"type": "array", "items": "long", "element-id": 133}], 132),
        _field("equality_ids", ["null", {"type": "array", "items": "int", "element-id": 136}], 135),
        _field("sort_order_id", ["null", "int"], 140),
    ],
}
_MANIFEST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field("status", "int", 0),
            _field("snapshot_id", ["null", "long"], 1),
            _field("sequence_number", ["null", "long"], 3),
            _field("file_sequence_number", ["null", "long"], 4),
            _field("data_file", _DATA_FILE, 2),
        ],
    }
)
_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", "boolean", 509),
        _field("contains_nan", ["null", "boolean"], 518),
        _field("lower_bound", ["null", "bytes"], 510),
        _field("upper_bound", ["null", "bytes"], 511),
    ],
}
_MANIFEST_LIST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "manifest_file",
        "fields": [
            _field("manifest_path", "string", 500),
            _field("manifest_length", "long", 501),
            _field("partition_spec_id", "int", 502),
            _field("content", "int", 517),
            _field("sequence_number", "long", 515),
            _field("min_sequence_number", "long", 516),
            _field("added_snapshot_id", "long", 503),
            _field("added_files_count", "int", 504),
            _field("existing_files_count", "int", 505),
            _field("deleted_files_count", "int", 506),
            _field("added_rows_count", "long", 512),
            _field("existing_rows_count", "long", 513),
            _field("deleted_rows_count", "long", 514),
            _field("partitions", ["null", {"type": "array", "items": _SUMMARY, "element-id": 508}], 507),
            _field("key_metadata", ["null", "bytes"], 519),
        ],
    }
)


def _int(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _pairs(value: Any) -> list[dict[str, Any]]:
    return [{"key": 1, "value": value}, {"key": 2, "value": value}]


def data_file_entry(path: str, *, size: int, partition: int, snapshot_id: int) -> dict[str, Any]:
    """One added data file, with the statistics of two columns."""
    return {
        "status": 1,
        "snapshot_id": snapshot_id,
        "data_file": {
            "content": 0,
            "file_path": path,
            "file_format": "PARQUET",
            "partition": {"p": partition},
            "record_count": 10,
            "file_size_in_bytes": size,
            "column_sizes": _pairs(50),
            "value_counts": _pairs(10),
            "null_value_counts": _pairs(0),
            "lower_bounds": _pairs(_int(partition)),
            "upper_bounds": _pairs(_int(partition)),
            "split_offsets": [4],
            "sort_order_id": 0,
        },
    }


def manifest(entries: list[dict[str, Any]], *, schema: str, partition_spec: str) -> bytes:
    """A manifest of data files."""
    metadata = {
        "schema": schema,
        "schema-id": "0",
        "partition-spec": partition_spec,
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    return _encode(_MANIFEST, entries, metadata)


def manifest_list_entry(
    path: str, *, length: int, sequence_number: int, snapshot_id: int, files: int, partitions: int
) -> dict[str, Any]:
    """One manifest, as a manifest list names it."""
    summary = {"contains_null": False, "lower_bound": _int(0), "upper_bound": _int(partitions - 1)}
    return {
        "manifest_path": path,
        "manifest_length": length,
        "partition_spec_id": 0,
        "content": 0,
        "sequence_number": sequence_number,
        "min_sequence_number": sequence_number,
        "added_snapshot_id": snapshot_id,
        "added_files_count": files,
        "existing_files_count": 0,
        "deleted_files_count": 0,
        "added_rows_count": files * 10,
        "existing_rows_count": 0,
        "deleted_rows_count": 0,
        "partitions": [summary],
    }


def manifest_list(
    entries: list[dict[str, Any]], *, snapshot_id: int, parent_id: int | None, sequence_number: int
) -> bytes:
    """A manifest list."""
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
        "sequence-number": str(sequence_number),
        "format-version": "2",
    }
    return _encode(_MANIFEST_LIST, entries, metadata)


def _encode(schema: Any, records: list[dict[str, Any]], metadata: dict[str, str]) -> bytes:
    file = io.BytesIO()
    fastavro.writer(file, schema, records, codec="deflate", metadata=metadata)
    return file.getvalue()
