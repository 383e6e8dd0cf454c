"""Writes inventories of a bucket as the clouds do, and reads lists."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq

from nessie_gc_core.algorithms.file_list_source import FileList, check_file_list, open_file_list, rows_of_lists

FORMATS = ("CSV", "ORC", "Parquet")
"""As manifests of S3 name them."""
TIME = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)
_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("bucket", "key", "version_id")),
        *(pa.field(name, pa.bool_()) for name in ("is_latest", "is_delete_marker")),
        pa.field("size", pa.int64()),
        pa.field("last_modified_date", pa.timestamp("ms", "UTC")),
        pa.field("e_tag", pa.string()),
    ]
)
_IN_CSV = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag"


def checked(name: Path | str) -> FileList:
    """A list as a run opens it."""
    opened = open_file_list(str(name))
    check_file_list(opened)
    return opened


def read(*names: Path | str) -> list[tuple[Any, ...]]:
    """All rows of some lists: path, time and size."""
    batches = rows_of_lists([checked(name) for name in names])
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


class Stored(NamedTuple):
    """An object version of a bucket."""

    key: str
    modified: datetime | None = TIME
    size: int = 7
    latest: bool = True
    deleted: bool = False


@dataclass(frozen=True, kw_only=True)
class S3Inventory:
    """The inventories of a bucket, in a folder that stands for the prefix of their configuration."""

    folder: Path
    bucket: str = "b"
    format: str = "CSV"

    def write(
        self, *parts: Iterable[Stored], made: datetime = TIME, columns: Sequence[str] = tuple(_SCHEMA.names)
    ) -> Path:
        """Writes an inventory of some parts; the path of its manifest."""
        dated = self.folder / f"{made:%Y-%m-%dT%H-%MZ}"
        for folder in (dated, self.folder / "data"):
            folder.mkdir(parents=True, exist_ok=True)
        files = []
        for number, part in enumerate(parts):
            ending = {"CSV": "csv.gz", "ORC": "orc", "Parquet": "parquet"}[self.format]
            file = self.folder / "data" / f"{made:%d%H%M}-{number}.{ending}"
            self._write_part(file, list(part), columns)
            files.append(
                {"key": f"inventory/{self.bucket}/all/data/{file.name}", "size": file.stat().st_size, "MD5checksum": ""}
            )
        manifest = dated / "manifest.json"
        manifest.write_text(
            json.dumps(
                {
                    "sourceBucket": self.bucket,
                    "destinationBucket": "arn:aws:s3:::inventories",
                    "version": "2016-11-30",
                    "creationTimestamp": str(int(made.timestamp() * 1000)),
                    "fileFormat": self.format,
                    "fileSchema": self._schema(columns),
                    "files": files,
                }
            )
        )
        return manifest

    def _schema(self, columns: Sequence[str]) -> str:
        if self.format == "CSV":
            return ", ".join(
                name for name, known in zip(_IN_CSV.split(", "), _SCHEMA.names, strict=True) if known in columns
            )
        return "message s3.inventory {}" if self.format == "Parquet" else "struct<>"

    def _write_part(self, file: Path, rows: Sequence[Stored], columns: Sequence[str]) -> None:
        if self.format == "CSV":
            lines = [
                f'"{self.bucket}","{quote_plus(row.key, safe="/")}","v","{str(row.latest).lower()}",'
                f'"{str(row.deleted).lower()}","{"" if row.deleted else row.size}","{_text(row.modified)}","e"'
                for row in rows
            ]
            kept = [number for number, name in enumerate(_SCHEMA.names) if name in columns]
            text = "".join(",".join(line.split(",")[number] for number in kept) + "\n" for line in lines)
            file.write_bytes(gzip.compress(text.encode()))
            return
        table = pa.Table.from_pylist(
            [
                {
                    "bucket": self.bucket,
                    "key": row.key,
                    "version_id": "v",
                    "is_latest": row.latest,
                    "is_delete_marker": row.deleted,
                    "size": None if row.deleted else row.size,
                    "last_modified_date": row.modified,
                    "e_tag": "e",
                }
                for row in rows
            ],
            schema=_SCHEMA,
        ).select(list(columns))
        if self.format == "Parquet":
            pq.write_table(table, file)
        else:
            pa_orc.write_table(table, file)


def _text(time: datetime | None) -> str:
    return "" if time is None else time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
