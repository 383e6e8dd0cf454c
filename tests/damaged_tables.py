"""A small Iceberg table on a disk, and what a bit, a cut or another writer makes of its files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

_ROWS = pa.table({"id": [1, 2, 3]})
_MERGED = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """The files of a table, as they were written."""

    folder: Path
    metadata_location: str
    snapshot_id: int
    manifest_list: Path
    manifests: tuple[Path, ...]
    """Those of the current snapshot."""
    live: frozenset[Path]
    """What the current snapshot needs."""
    garbage: Path

    def rewrite(self, path: Path, change: Callable[[bytes], bytes]) -> None:
        """Changes what a file holds, but not its time."""
        times = path.stat()
        path.write_bytes(change(path.read_bytes()))
        os.utime(path, (times.st_atime, times.st_mtime))


def written_table(folder: Path, written: datetime, *, codec: str = "gzip", appends: int = 4) -> WrittenTable:
    """A table of some appends whose newest manifest has them all, with one file of garbage; all are of one time."""
    with SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{folder}") as catalog:
        catalog.create_namespace("db")
        properties = {**_MERGED, "write.avro.compression-codec": codec}
        table = catalog.create_table("db.t", _ROWS.schema, location=f"file://{folder}", properties=properties)
        for _ in range(appends):
            table.append(_ROWS)
        return _described(table, folder, written)


def _described(table: Table, folder: Path, written: datetime) -> WrittenTable:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    data = [entry.data_file.file_path for each in manifests for entry in each.fetch_manifest_entry(table.io)]
    garbage = folder / "data" / "garbage.parquet"
    garbage.write_bytes(b"x")
    needed = [table.metadata_location, snapshot.manifest_list, *(each.manifest_path for each in manifests), *data]
    for path in folder.rglob("*.*"):
        os.utime(path, (written.timestamp(), written.timestamp()))
    return WrittenTable(
        folder=folder,
        metadata_location=table.metadata_location,
        snapshot_id=snapshot.snapshot_id,
        manifest_list=_local(snapshot.manifest_list),
        manifests=tuple(_local(each.manifest_path) for each in manifests),
        live=frozenset(map(_local, needed)),
        garbage=garbage,
    )


def _local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def with_records(
    data: bytes, change: Callable[[list[Any]], list[Any]], *, sync_interval: int = 16_000, codec: str | None = None
) -> bytes:
    """An Avro file with other records, or packed otherwise."""
    reader = fastavro.reader(io.BytesIO(data))
    schema = reader.writer_schema
    out = io.BytesIO()
    assert schema is not None
    fastavro.writer(out, schema, change(list(reader)), codec=codec or reader.codec, sync_interval=sync_interval)
    return out.getvalue()


def announcing_fewer(data: bytes) -> bytes:
    """An Avro file with one block, which announces one record less than it has: often that is one wrong bit."""
    head = data.index(data[-16:]) + 16
    assert 2 <= data[head] < 0x80
    return data[:head] + bytes([data[head] - 2]) + data[head + 1 :]


def cut_between_blocks(data: bytes) -> bytes:
    """An Avro file that ends with its first block, which has one record."""
    pieces = with_records(data, list, sync_interval=1)
    marker = pieces[-16:]
    first = pieces.index(marker) + 16
    return pieces[: pieces.index(marker, first) + 16]
