"""The content of a computed lake's metadata files, manifest lists and manifests."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from nessie_gc_memory.mock import avro
from nessie_gc_memory.mock.history import MockHistory, Snapshot
from nessie_gc_memory.mock.layout import Block, MockLayout, Role
from nessie_gc_memory.mock.numbers import mixed
from nessie_gc_memory.mock.spec import MockLakeSpec

_ROWS = 100
"""Of each data file."""
_VECTOR_BYTES = 40
_SIZES = 100_000
"""How many sizes of manifests are remembered."""
_CONTENTS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class MockMetadata:
    """Writes them, from numbers alone."""

    def __init__(self, spec: MockLakeSpec, history: MockHistory, layout: MockLayout) -> None:
        self._spec = spec
        self._history = history
        self._layout = layout
        self._schema, self._partition_fields = _schema(spec), _partition_fields(spec)
        self._form = functools.cache(self._new_form)
        self._manifest_size = functools.lru_cache(_SIZES)(self._computed_manifest_size)
        """Lists name the same manifests again and again."""
        self.content = functools.lru_cache(_CONTENTS)(self._computed_content)
        """The whole content of a metadata file, manifest list or manifest; who asks for a size often reads it next."""

    def _computed_content(self, block: Block) -> bytes:
        assert block.snapshot is not None
        if block.role is Role.METADATA:
            return json.dumps(self._table(block.snapshot)).encode()
        if block.role is Role.MANIFEST_LIST:
            return self._manifest_list(block.snapshot)
        form, deletes = self._form(self._history.format_version(block.table)), block.role is Role.DELETE_MANIFEST
        return avro.manifest(list(self._entries(block)), form, deletes=deletes)

    def size(self, block: Block) -> int:
        """The size of the same, without writing a manifest."""
        if block.role not in (Role.MANIFEST, Role.DELETE_MANIFEST):
            return len(self.content(block))
        return self._manifest_size(block)

    def _computed_manifest_size(self, block: Block) -> int:
        if self._spec.compressed:
            return len(self.content(block))
        entry, form = next(self._entries(block)), self._form(self._history.format_version(block.table))
        deletes = block.role is Role.DELETE_MANIFEST
        return avro.manifest_size(entry, self.entry_count(block), form, deletes=deletes)

    def _new_form(self, version: int) -> avro.Form:
        return avro.Form(
            version=version,
            schema=json.dumps(self._schema),
            partition_fields=json.dumps(self._partition_fields),
            statistics=self._spec.columns > 0,
            compressed=self._spec.compressed,
        )

    def file_bytes(self, block: Block) -> int:
        """The size of each data or delete file of a block, of a statistics file, and of garbage."""
        line, position = (0, 0) if block.snapshot is None else (block.snapshot.line, block.snapshot.position)
        return self._spec.file_bytes + mixed(self._spec.seed, 7, block.table, line, position) % self._spec.file_bytes

    def entry_count(self, manifest: Block) -> int:
        """How many entries a manifest has."""
        is_data = manifest.role is Role.MANIFEST
        return self._spec.files_per_commit if is_data else self._spec.deletes_per_commit

    def manifests(self, snapshot: Snapshot) -> Iterator[Block]:
        """The manifests that the manifest list of a snapshot names."""
        for each in self._history.sharing(snapshot):
            yield self._layout.block(each, Role.MANIFEST)
            if self._history.has_deletes(each):
                yield self._layout.block(each, Role.DELETE_MANIFEST)

    def named(self, manifest: Block) -> list[Block]:
        """The files that a manifest names."""
        assert manifest.snapshot is not None
        if manifest.role is Role.MANIFEST:
            return list(self._layout.data(manifest.snapshot))
        return [self._layout.block(manifest.snapshot, Role.DELETES)]

    # ---- the metadata file ----------------------------------------------------------------------------
    def _table(self, snapshot: Snapshot) -> dict[str, Any]:
        table, spec = self._history.table_of(snapshot), self._spec
        version, listed = self._history.format_version(table), list(self._history.listed(snapshot))
        fields: dict[str, Any] = {
            "format-version": version,
            "table-uuid": str(UUID(int=mixed(spec.seed, 8, table) << 64 | mixed(spec.seed, 9, table), version=4)),
            "location": self._layout.location(table),
            "last-updated-ms": self._milliseconds(snapshot),
            "last-column-id": len(self._schema["fields"]),
            "current-schema-id": 0,
            "schemas": [self._schema],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": self._partition_fields}],
            "last-partition-id": 999 + len(self._partition_fields),
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": self._history.snapshot_id(snapshot),
            "refs": {"main": {"snapshot-id": self._history.snapshot_id(snapshot), "type": "branch"}},
            "snapshots": [self._snapshot(each) for each in listed],
            "snapshot-log": [
                {"timestamp-ms": self._milliseconds(each), "snapshot-id": self._history.snapshot_id(each)}
                for each in listed
            ],
            "metadata-log": [self._logged(each) for each in self._history.logged(snapshot)],
            "statistics": [self._statistics(each) for each in listed if self._history.has_statistics(each)],
        }
        if version == 1:
            return fields | {"schema": self._schema, "partition-spec": self._partition_fields}
        fields["last-sequence-number"] = self._history.number_of(snapshot) + 1
        return fields | ({"next-row-id": self._first_row(snapshot) + self._rows()} if version > 2 else {})

    def _snapshot(self, snapshot: Snapshot) -> dict[str, Any]:
        version = self._history.format_version(self._history.table_of(snapshot))
        parent = self._parent_id(snapshot)
        replaces = parent is not None and self._history.replaces(snapshot)
        fields: dict[str, Any] = {
            "snapshot-id": self._history.snapshot_id(snapshot),
            "timestamp-ms": self._milliseconds(snapshot),
            "manifest-list": self._layout.path(self._layout.block(snapshot, Role.MANIFEST_LIST)),
            "summary": {
                "operation": "overwrite" if replaces else "append",
                "added-data-files": str(self._spec.files_per_commit),
            },
            "schema-id": 0,
        }
        if parent is not None:
            fields["parent-snapshot-id"] = parent
        if version > 1:
            fields["sequence-number"] = self._history.number_of(snapshot) + 1
        if version > 2:
            fields |= {"first-row-id": self._first_row(snapshot), "added-rows": self._rows()}
        return fields

    def _logged(self, snapshot: Snapshot) -> dict[str, Any]:
        path = self._layout.path(self._layout.block(snapshot, Role.METADATA))
        return {"timestamp-ms": self._milliseconds(snapshot), "metadata-file": path}

    def _statistics(self, snapshot: Snapshot) -> dict[str, Any]:
        block = self._layout.block(snapshot, Role.STATISTICS)
        return {
            "snapshot-id": self._history.snapshot_id(snapshot),
            "statistics-path": self._layout.path(block),
            "file-size-in-bytes": self.file_bytes(block),
            "file-footer-size-in-bytes": 100,
            "blob-metadata": [],
        }

    def _milliseconds(self, snapshot: Snapshot) -> int:
        return (self._history.time_of(snapshot.position) - _EPOCH) // _MILLISECOND

    def _parent_id(self, snapshot: Snapshot) -> int | None:
        if self._history.number_of(snapshot) == 0:
            return None
        return self._history.snapshot_id(self._history.owner(snapshot.line, snapshot.position - self._spec.table_count))

    def _rows(self) -> int:
        return self._spec.files_per_commit * _ROWS

    def _first_row(self, snapshot: Snapshot) -> int:
        return self._history.number_of(snapshot) * self._rows()

    # ---- manifest lists and manifests -----------------------------------------------------------------
    def _manifest_list(self, snapshot: Snapshot) -> bytes:
        version = self._history.format_version(self._history.table_of(snapshot))
        return avro.manifest_list(
            [self._listed(manifest, version) for manifest in self.manifests(snapshot)],
            self._form(version),
            snapshot_id=self._history.snapshot_id(snapshot),
            parent_id=self._parent_id(snapshot),
        )

    def _listed(self, manifest: Block, version: int) -> dict[str, Any]:
        assert manifest.snapshot is not None
        sequence_number, count = self._history.number_of(manifest.snapshot) + 1, self.entry_count(manifest)
        files = "files" if version > 1 else "data_files"
        is_data = manifest.role is Role.MANIFEST
        return {
            "manifest_path": self._layout.path(manifest),
            "manifest_length": self.size(manifest),
            "partition_spec_id": 0,
            "content": 0 if is_data else 1,
            "sequence_number": sequence_number,
            "min_sequence_number": sequence_number,
            "added_snapshot_id": self._history.snapshot_id(manifest.snapshot),
            f"added_{files}_count": count,
            f"existing_{files}_count": 0,
            f"deleted_{files}_count": 0,
            "added_rows_count": count * _ROWS,
            "existing_rows_count": 0,
            "deleted_rows_count": 0,
            "partitions": [self._range(manifest)] if self._spec.partitions else None,
            "first_row_id": self._first_row(manifest.snapshot) if is_data else None,
        }

    def _range(self, manifest: Block) -> dict[str, Any]:
        *_, last = self.named(manifest)
        return {
            "contains_null": False,
            "lower_bound": _value(0).encode(),
            "upper_bound": _value(last.partition).encode(),
        }

    def _entries(self, manifest: Block) -> Iterator[dict[str, Any]]:
        """The entries of a manifest, all of the same size."""
        assert manifest.snapshot is not None
        for files in self.named(manifest):
            count = files.count if manifest.role is Role.MANIFEST else self.entry_count(manifest)
            size, snapshot_id = self.file_bytes(files), self._history.snapshot_id(manifest.snapshot)
            for index in range(count):
                file = self._file(files, index) | {"file_size_in_bytes": size, "block_size_in_bytes": size}
                yield {"status": 1, "snapshot_id": snapshot_id, "data_file": file}

    def _file(self, files: Block, index: int) -> dict[str, Any]:
        base, is_data = self._layout.location(files.table), files.role is Role.DATA
        vectors = files.suffix.endswith(".puffin")
        file: dict[str, Any] = {
            "content": 0 if is_data else 1,
            "file_path": f"{base}/{files.name(min(index, files.count - 1))}",
            "file_format": "PUFFIN" if vectors else "PARQUET",
            "partition": {"p": _value(files.partition)} if self._spec.partitions else {},
            "record_count": _ROWS if is_data else 1,
            "split_offsets": [4],
            "sort_order_id": 0,
            **(avro.statistics(self._spec.columns, rows=_ROWS) if is_data else {}),
        }
        if not is_data:
            assert files.snapshot is not None
            data = self._layout.block(files.snapshot, Role.DATA)
            file["referenced_data_file"] = f"{base}/{data.name(index % data.count)}"
        if vectors:
            file["content_offset"] = _FIRST_VECTOR + index * _VECTOR_BYTES
            file["content_size_in_bytes"] = _VECTOR_BYTES
        return file


_FIRST_VECTOR = 1 << 20
"""Where the first vector of a Puffin file begins; large, so that all offsets take as many bytes."""


def _schema(spec: MockLakeSpec) -> dict[str, Any]:
    """Columns of numbers, and after them the one by which the table is partitioned."""
    columns = [f"c{number}" for number in range(1, spec.columns)]
    fields = [(name, "long") for name in ("id", *columns)] + [("p", "string")] * (spec.partitions > 0)
    listed = [
        {"id": number, "name": name, "required": False, "type": type_} for number, (name, type_) in enumerate(fields, 1)
    ]
    return {"type": "struct", "schema-id": 0, "fields": listed}


def _partition_fields(spec: MockLakeSpec) -> list[dict[str, Any]]:
    if not spec.partitions:
        return []
    source = max(spec.columns, 1) + 1
    return [{"name": "p", "transform": "identity", "source-id": source, "field-id": 1000}]


def _value(partition: int) -> str:
    """The value of a partition, always of the same size."""
    return f"{partition:03}"
