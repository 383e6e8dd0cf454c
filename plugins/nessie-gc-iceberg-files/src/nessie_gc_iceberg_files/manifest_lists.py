"""Manifest lists in full: size, counts and partition ranges of each manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.manifests import Manifest, ManifestContent, PartitionRange
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.announced import check_manifests
from nessie_gc_iceberg_files.avro import Record, read_records
from nessie_gc_iceberg_files.options import MANIFEST_LIST_LIMIT
from nessie_gc_iceberg_files.partition_types import bound

_CONTENTS: Mapping[object, ManifestContent] = {
    None: ManifestContent.DATA,  # format version 1 has no others
    0: ManifestContent.DATA,
    1: ManifestContent.DELETES,
}


def described(
    path: str,
    data: bytes,
    types: Mapping[int, Sequence[str]],
    *,
    announced: str | None = None,
    limit: Limit = MANIFEST_LIST_LIMIT,
) -> Iterator[Manifest]:
    """The manifests that a manifest list describes.

    Args:
        path: names the file in errors.
        data: the whole file.
        types: of the fields of each partition spec, by its id.
        announced: what its snapshot says of it.
        limit: how much it may unpack to.

    Raises:
        UnreadableFileError: it cannot be read completely, is invalid, or names fewer than its snapshot says.
    """
    records = read_records(path, data, limit)
    check_manifests(path, len(records), announced)
    for record in records:
        content = _CONTENTS.get(record.get("content"))
        if content is None:
            raise UnreadableFileError(path, f"a manifest has the content {record.get('content')!r}")
        spec_id = _number(path, record, "partition_spec_id")
        yield Manifest(
            path=_path(path, record.get("manifest_path")),
            length=_number(path, record, "manifest_length"),
            content=content,
            spec_id=spec_id,
            sequence_number=_count(record, "sequence_number") or 0,
            min_sequence_number=_count(record, "min_sequence_number") or 0,
            snapshot_id=_count(record, "added_snapshot_id"),
            added_files=_count(record, "added_files_count", "added_data_files_count"),
            existing_files=_count(record, "existing_files_count", "existing_data_files_count"),
            deleted_files=_count(record, "deleted_files_count", "deleted_data_files_count"),
            partitions=_ranges(record.get("partitions"), types.get(spec_id)),
        )


def _ranges(summaries: object, types: Sequence[str] | None) -> tuple[PartitionRange, ...] | None:
    """The ranges, where there is one for every field of a spec, and the types of all are known."""
    if types is not None and not types:
        return ()
    if types is None or not all(types) or not isinstance(summaries, list) or len(summaries) != len(types):
        return None
    return tuple(_range(summary, type_) for summary, type_ in zip(summaries, types, strict=True))


def _range(summary: Record, type_: str) -> PartitionRange:
    return PartitionRange(
        lower=bound(summary.get("lower_bound"), type_),
        upper=bound(summary.get("upper_bound"), type_),
        contains_null=summary.get("contains_null") is not False,
        contains_nan=_may_be_nan(type_) and summary.get("contains_nan") is not False,
    )


def _may_be_nan(type_: str) -> bool:
    return type_ in ("float", "double")


def _count(record: Record, *names: str) -> int | None:
    """A number, by any of the names that writers of some version give it."""
    found = next((record[name] for name in names if name in record), None)
    return found if isinstance(found, int) else None


def _number(path: str, record: Record, name: str) -> int:
    found = record.get(name)
    if not isinstance(found, int) or found < 0:
        raise UnreadableFileError(path, f"a manifest has the {name} {found!r}")
    return found


def _path(parent: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnreadableFileError(parent, f"a manifest has the path {value!r}")
    return value
