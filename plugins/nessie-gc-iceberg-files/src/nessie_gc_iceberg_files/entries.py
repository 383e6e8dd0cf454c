"""Live entries of manifests: each file with its size, its partition, and which rows it deletes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import NEGATIVE_ZERO, FileEntry, Manifest, PartitionValue
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.announced import ADDED, DELETED, Announced
from nessie_gc_iceberg_files.avro import Record
from nessie_gc_iceberg_files.fields import decimal_fields, read_fields
from nessie_gc_iceberg_files.options import MANIFEST_LIMIT

_STATUSES = (0, ADDED, DELETED)
_POSITION_DELETES = 1
_KINDS: Mapping[object, FileKind] = {
    None: FileKind.DATA,  # format version 1 has no others
    0: FileKind.DATA,
    _POSITION_DELETES: FileKind.POSITION_DELETES,
    2: FileKind.EQUALITY_DELETES,
}
_OF_FILES = (
    "content",
    "file_path",
    "file_format",
    "partition",
    "record_count",
    "file_size_in_bytes",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
)
_WANTED = frozenset({"status", "snapshot_id", "sequence_number", *(f"data_file.{name}" for name in _OF_FILES)})


def live_entries(manifest: Manifest, data: bytes, limit: Limit = MANIFEST_LIMIT) -> Iterator[FileEntry]:
    """The live entries of a manifest.

    Args:
        manifest: as its list describes it: entries inherit from it.
        data: the whole file.
        limit: how much it may unpack to.

    Raises:
        UnreadableFileError: it cannot be read completely, is invalid, or has less in it than its list says.
    """
    records = read_fields(manifest.path, data, _WANTED, limit)
    statuses = [record.get("status") for record in records]
    Announced.of(manifest).check(manifest.path, statuses, size=len(data), length=manifest.length)
    decimals = decimal_fields(data, "data_file.partition")
    for record in records:
        status, file = record.get("status"), record.get("data_file")
        if status == DELETED:
            continue
        if status not in _STATUSES or not isinstance(file, dict):
            raise UnreadableFileError(manifest.path, f"an entry has the status {status!r}")
        sequence_number = record.get("sequence_number")
        inherited = manifest.sequence_number if status == ADDED else 0
        yield FileEntry(
            path=_text(manifest.path, file, "file_path"),
            kind=_kind(manifest.path, file),
            file_format=_text(manifest.path, file, "file_format").upper(),
            size=_number(manifest.path, file, "file_size_in_bytes"),
            records=_number(manifest.path, file, "record_count"),
            spec_id=manifest.spec_id,
            partition=_partition(manifest.path, file.get("partition"), decimals),
            sequence_number=sequence_number if isinstance(sequence_number, int) else inherited,
            snapshot_id=_optional_number(record.get("snapshot_id")) or manifest.snapshot_id,
            referenced_data_file=_optional_text(file.get("referenced_data_file")),
            content_offset=_optional_number(file.get("content_offset")),
            content_size=_optional_number(file.get("content_size_in_bytes")),
        )


def _kind(path: str, file: Record) -> FileKind:
    content = file.get("content")
    if content == _POSITION_DELETES and str(file.get("file_format")).upper() == "PUFFIN":
        return FileKind.DELETION_VECTOR
    kind = _KINDS.get(content)
    if kind is None:
        raise UnreadableFileError(path, f"an entry has the content {content!r}")
    return kind


def _partition(path: str, values: object, decimals: frozenset[str]) -> tuple[PartitionValue | None, ...]:
    """Values that are equal where their partitions are, of decimals of any precision, NaN and zeros, too."""
    if not isinstance(values, dict):
        raise UnreadableFileError(path, "an entry has no partition")
    return tuple(_value(value, is_decimal=name in decimals) for name, value in values.items())


def _value(value: PartitionValue | None, *, is_decimal: bool) -> PartitionValue | None:
    if is_decimal and isinstance(value, bytes):
        return int.from_bytes(value, "big", signed=True)
    if not isinstance(value, float):
        return value
    if value == 0 and math.copysign(1, value) < 0:
        return NEGATIVE_ZERO
    return math.nan if math.isnan(value) else value


def _text(path: str, record: Record, name: str) -> str:
    found = record.get(name)
    if not isinstance(found, str) or not found:
        raise UnreadableFileError(path, f"an entry has the {name} {found!r}")
    return found


def _number(path: str, record: Record, name: str) -> int:
    found = record.get(name)
    if not isinstance(found, int) or found < 0:
        raise UnreadableFileError(path, f"an entry has the {name} {found!r}")
    return found


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _optional_number(value: object) -> int | None:
    return value if isinstance(value, int) else None
