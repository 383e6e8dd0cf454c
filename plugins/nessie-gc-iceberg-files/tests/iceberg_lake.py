"""Writes small, real Iceberg metadata: metadata files, manifest lists and manifests of versions 1, 2 and 3."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import fastavro

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2


@dataclass(frozen=True)
class Entry:
    path: str
    status: int = ADDED
    content: int = DATA
    file_format: str = "PARQUET"


def _field(name: str, type_: Any, field_id: int) -> dict[str, Any]:
    return {"name": name, "type": type_, "field-id": field_id}


def _optional(name: str, type_: Any, field_id: int) -> dict[str, Any]:
    return {**_field(name, ["null", type_], field_id), "default": None}


def _int_map(name: str, value: str, field_id: int) -> dict[str, Any]:
    pair = {
        "type": "record",
        "name": f"k{field_id}_v{field_id}",
        "fields": [_field("key", "int", field_id + 1), _field("value", value, field_id + 2)],
    }
    return _optional(name, {"type": "array", "items": pair, "logicalType": "map"}, field_id)


def manifest_schema(version: int) -> dict[str, Any]:
    data_file = [
        *([_field("content", "int", 134)] if version > 1 else []),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", {"type": "record", "name": "r102", "fields": [_optional("day", "int", 1000)]}, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _int_map("column_sizes", "long", 108),
        _int_map("lower_bounds", "bytes", 125),
        *([_optional("content_offset", "long", 144)] if version > 2 else []),
    ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field("status", "int", 0),
            _optional("snapshot_id", "long", 1),
            _field("data_file", {"type": "record", "name": "r2", "fields": data_file}, 2),
        ],
    }


MANIFEST_LIST_SCHEMA = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field("manifest_path", "string", 500),
        _field("manifest_length", "long", 501),
        _field("partition_spec_id", "int", 502),
        _optional("key_metadata", "bytes", 519),
    ],
}


def manifest_bytes(
    entries: Sequence[Entry], *, version: int = 2, codec: str = "deflate", sync_interval: int = 16000
) -> bytes:
    maps = [{"key": n, "value": n * 1000} for n in range(5)]
    bounds = [{"key": n, "value": bytes([n, 255, 128])} for n in range(5)]
    records = [
        {
            "status": entry.status,
            "snapshot_id": 1,
            "data_file": {
                "content": entry.content,
                "file_path": entry.path,
                "file_format": entry.file_format,
                "partition": {"day": 20000},
                "record_count": 1,
                "file_size_in_bytes": 10,
                "column_sizes": maps,
                "lower_bounds": bounds,
                "content_offset": None,
            },
        }
        for entry in entries
    ]
    return avro_bytes(manifest_schema(version), records, codec=codec, sync_interval=sync_interval)


def counted_list_bytes(*manifests: dict[str, Any], early: bool = False, type_: Any = "int") -> bytes:
    """A manifest list that counts entries: each manifest has a path, maybe a length and counts."""
    names = {status: f"{status}_{'data_' if early else ''}files_count" for status in ("added", "existing", "deleted")}
    counts = [_field(name, ["null", type_] if early else type_, 504) for name in names.values()]
    schema = {**MANIFEST_LIST_SCHEMA, "fields": [*MANIFEST_LIST_SCHEMA["fields"], *counts]}
    records = [
        {
            "manifest_path": each["path"],
            "manifest_length": each.get("length", 1),
            "partition_spec_id": 0,
            "key_metadata": None,
            **{name: each.get(status, None if early else 0) for status, name in names.items()},
        }
        for each in manifests
    ]
    return avro_bytes(schema, records)


def manifest_list_bytes(paths: Sequence[str | None], *, codec: str = "deflate") -> bytes:
    records = [
        {"manifest_path": path, "manifest_length": 1, "partition_spec_id": 0, "key_metadata": None} for path in paths
    ]
    return avro_bytes(MANIFEST_LIST_SCHEMA, records, codec=codec)


def avro_bytes(
    schema: dict[str, Any], records: Sequence[dict[str, Any]], *, codec: str = "deflate", sync_interval: int = 16000
) -> bytes:
    out = io.BytesIO()
    # pyiceberg up to 0.6.1 wrote a partition spec that is no valid JSON list; it must not matter.
    header = {"schema": "{}", "partition-spec": "PartitionSpec(spec_id=0)", "format-version": "2"}
    fastavro.writer(out, schema, records, codec=codec, metadata=header, sync_interval=sync_interval)
    return out.getvalue()


@dataclass(frozen=True)
class Snapshot:
    snapshot_id: int
    manifest_list: str | None = None
    manifests: Sequence[str] | None = None
    parent: int | None = None
    summary: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"snapshot-id": self.snapshot_id, "timestamp-ms": 1, "summary": self.summary}
        if self.parent is not None:
            fields["parent-snapshot-id"] = self.parent
        if self.manifest_list is not None:
            fields["manifest-list"] = self.manifest_list
        if self.manifests is not None:
            fields["manifests"] = list(self.manifests)
        return fields


@dataclass
class Table:
    location: str
    version: int = 2
    snapshots: Sequence[Snapshot] = ()
    current: int | None = None
    refs: dict[str, int] = field(default_factory=dict)
    statistics: dict[int, str] = field(default_factory=dict)
    partition_statistics: dict[int, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        def named(paths: dict[int, str]) -> list[dict[str, Any]]:
            return [{"snapshot-id": key, "statistics-path": path} for key, path in paths.items()]

        return {
            "format-version": self.version,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": self.location,
            "last-column-id": 1,
            "current-snapshot-id": -1 if self.current is None else self.current,
            "snapshots": [snapshot.fields() for snapshot in self.snapshots],
            "refs": {name: {"snapshot-id": key, "type": "tag"} for name, key in self.refs.items()},
            "statistics": named(self.statistics),
            "partition-statistics": named(self.partition_statistics),
            **self.extra,
        }

    def bytes(self, *, packed: bool = False) -> bytes:
        text = json.dumps(self.fields(), ensure_ascii=False).encode()
        return gzip.compress(text) if packed else text


def view_bytes(location: str, *, packed: bool = False) -> bytes:
    text = json.dumps(
        {
            "format-version": 1,
            "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385",
            "location": location,
            "current-version-id": 1,
            "versions": [{"version-id": 1}],
        }
    ).encode()
    return gzip.compress(text) if packed else text
