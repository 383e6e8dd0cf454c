"""The manifest of an inventory that a cloud made: which files it consists of, what is in them, and as of when.

S3 Inventory, Storage Insights of Google Cloud and Azure's blob inventory each write one in JSON. All of it is
understood, or it is refused: a part of an inventory must not pass for all of it (S6, S27).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nessie_gc_core.model.batches import from_micros
from nessie_gc_core.model.parsing import parsed_json

MANIFEST = "manifest.json"
"""How the names of manifests end."""
_HOST = re.compile(r"https://([A-Za-z0-9.-]+)/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPart:
    """A file of an inventory."""

    key: str
    """Its key in :attr:`Manifest.bucket`."""
    beside: str
    """Where it is relative to the folder of the manifest, should the inventory have been copied."""
    size: int | None
    """In bytes, if the manifest tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a manifest says."""

    bucket: str | None
    """The bucket or container with the files; ``None``: they are beside the manifest."""
    parts: Sequence[ManifestPart]
    format: str
    """``csv``, ``orc`` or ``parquet``."""
    made: datetime
    """As of when (UTC); what was written later may be missing."""
    columns: Sequence[str] | None = None
    """The columns of CSV files without a header."""
    encoded: bool = False
    """Whether the keys in the files are URL-encoded."""
    host: str | None = None
    """The host of the account of whose containers the files tell, on Azure."""


def parse_manifest(text: bytes) -> Manifest:
    """What a manifest says.

    Raises:
        ValueError: it is not a manifest that is understood; the message says what is wrong with it.
    """
    said: Any = parsed_json(text)
    parsed = next((parse for mark, parse in _KINDS.items() if isinstance(said, dict) and mark in said), None)
    if parsed is None:
        raise ValueError(f"it is not the manifest of an inventory, which has one of {', '.join(_KINDS)}")
    try:
        manifest = parsed(said)
    except KeyError as error:
        raise ValueError(f"it lacks {error}") from error
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"it is not understood: {error}") from error
    if not manifest.parts:
        raise ValueError("it names no files")
    return manifest


def _of_s3(said: Mapping[str, Any]) -> Manifest:
    format_, schema = _format(said["fileFormat"], {"csv", "orc", "parquet"}), said["fileSchema"]
    made = from_micros(int(said["creationTimestamp"]) * 1_000)
    assert made is not None
    parts = [
        ManifestPart(key=each["key"], beside="../" + "/".join(each["key"].split("/")[-2:]), size=_size(each["size"]))
        for each in said["files"]
    ]
    return Manifest(
        bucket=said["destinationBucket"].rpartition(":")[2],
        parts=parts,
        format=format_,
        made=made,
        columns=[column.strip() for column in schema.split(",")] if format_ == "csv" else None,
        encoded=format_ == "csv",
    )


def _of_gcs(said: Mapping[str, Any]) -> Manifest:
    config, names = said["report_config"], said["report_shards_file_names"]
    if int(said["shard_count"]) != len(names):
        raise ValueError(f"it names {len(names)} files, and says that there are {said['shard_count']}")
    csv, columns = config.get("csv_options"), None
    if csv is not None:
        if csv.get("delimiter", ",") != ",":
            raise ValueError(f"the delimiter of its files is {csv['delimiter']!r}; a comma is expected")
        if not csv.get("header_required", False):
            columns = config["object_metadata_report_options"]["metadata_fields"]
    parts = [ManifestPart(key=name, beside=name, size=None) for name in names]
    format_ = "parquet" if csv is None else "csv"
    return Manifest(bucket=None, parts=parts, format=format_, made=_time(said["snapshot_time"]), columns=columns)


def _of_azure(said: Mapping[str, Any]) -> Manifest:
    rule, host = said["ruleDefinition"], _HOST.fullmatch(said["endpoint"])
    if said["status"] != "Succeeded":
        raise ValueError(f"the status of the inventory is {said['status']}; Succeeded is expected")
    if rule["objectType"] != "blob":
        raise ValueError(f"its objects are of type {rule['objectType']}; blob is expected")
    if host is None:
        raise ValueError(f"its endpoint {said['endpoint']!r} is not that of an account")
    parts = [
        ManifestPart(key=each["blob"], beside=each["blob"].rpartition("/")[2], size=_size(each["size"]))
        for each in said["files"]
    ]
    return Manifest(
        bucket=said["destinationContainer"],
        parts=parts,
        format=_format(rule["format"], {"csv", "parquet"}),
        made=_time(said["inventoryStartTime"]),
        host=host[1],
    )


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Manifest]] = {
    "fileSchema": _of_s3,
    "report_shards_file_names": _of_gcs,
    "inventoryStartTime": _of_azure,
}
"""By a key that only one of them has."""


def _format(said: str, known: set[str]) -> str:
    if said.lower() not in known:
        raise ValueError(f"the format of its files is {said!r}; expected {', '.join(sorted(known))}")
    return said.lower()


def _size(said: object) -> int:
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise ValueError(f"{said!r} is not the size of a file")
    return said


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
