"""A table's metadata with fewer snapshots: what Iceberg's own ``RemoveSnapshots`` makes of it, on the JSON itself.

The JSON is changed and not a model of it, so that what no reader here knows stays as it is: fields of newer format
versions, of vendors, and those of row lineage.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_iceberg_files.metadata import Metadata

_CODEC = "write.metadata.compression-codec"
_ENDINGS = {"none": "", "gzip": ".gz"}
_LOG_SIZE = "write.metadata.previous-versions-max"
_DEFAULT_LOG_SIZE = 100
_OF_SNAPSHOTS = ("snapshots", "statistics", "partition-statistics")
"""Lists whose entries are of one snapshot each."""


def without_snapshots(metadata: Metadata, snapshot_ids: Collection[int], *, now_ms: int) -> dict[str, Any]:
    """The fields of a new metadata file that lists all but some snapshots.

    Schemas, partition specs, sort orders, branches, tags and everything else stay.

    Args:
        metadata: the file as it is.
        snapshot_ids: what is not to be listed any more; nothing that the metadata holds.
        now_ms: the time, in milliseconds since the epoch.

    Raises:
        UnreadableFileError: something of it is invalid.
    """
    fields: dict[str, Any] = dict(metadata.fields)
    for name in _OF_SNAPSHOTS:
        if fields.get(name):
            fields[name] = [each for each in metadata.entries(name) if each["snapshot-id"] not in snapshot_ids]
    if fields.get("snapshot-log"):
        listed = {snapshot["snapshot-id"] for snapshot in fields.get("snapshots") or ()}
        fields["snapshot-log"] = _log_after_gaps(metadata.entries("snapshot-log"), listed)
    written = fields.get("last-updated-ms")
    if not isinstance(written, int):
        raise UnreadableFileError(metadata.path, f"its last-updated-ms is {written!r}")
    earlier = {"timestamp-ms": written, "metadata-file": metadata.path}
    fields["metadata-log"] = [*metadata.entries("metadata-log"), earlier][-_log_size(metadata) :]
    fields["last-updated-ms"] = max(now_ms, written)
    return fields


def encoded(metadata: Metadata, fields: Mapping[str, Any]) -> bytes:
    """The file, compressed as the table's properties say.

    Raises:
        UnreadableFileError: it has a number that JSON cannot hold, or says a compression that is not known.
    """
    try:
        data = json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    except ValueError as error:
        raise UnreadableFileError(metadata.path, f"it cannot be rewritten unchanged: {error}") from error
    return gzip.compress(data) if _codec(metadata) == "gzip" else data


def next_name(metadata: Metadata, unique: UUID) -> str:
    """The name that Iceberg gives to the next metadata file: its number, an id, and how it is compressed."""
    number = metadata.path.rpartition("/")[2].partition("-")[0]
    following = int(number) + 1 if number.isascii() and number.isdecimal() else 0
    return f"{following:05d}-{unique}{_ENDINGS[_codec(metadata)]}.metadata.json"


def _log_after_gaps(log: Sequence[Mapping[str, Any]], listed: Collection[int]) -> list[Mapping[str, Any]]:
    """The entries after the last one whose snapshot is not listed: a gap would make time travel answer wrongly."""
    kept: list[Mapping[str, Any]] = []
    for entry in log:
        if entry["snapshot-id"] in listed:
            kept.append(entry)
        else:
            kept.clear()
    return kept


def _log_size(metadata: Metadata) -> int:
    text = metadata.properties.get(_LOG_SIZE, _DEFAULT_LOG_SIZE)
    try:
        return max(int(str(text)), 1)
    except ValueError as error:
        raise UnreadableFileError(metadata.path, f"its property {_LOG_SIZE} is {text!r}") from error


def _codec(metadata: Metadata) -> str:
    codec = str(metadata.properties.get(_CODEC, "none")).lower()
    if codec not in _ENDINGS:
        raise UnreadableFileError(metadata.path, f"its property {_CODEC} is {codec!r}; known are: none, gzip")
    return codec
