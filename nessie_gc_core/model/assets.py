"""Unreferenced assets, as the table of a catalog holds them: one row for each sighting of each asset.

The first eight columns, their names and their types are those of Nessie's first collector; the others are ours, and
optional.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

import pyarrow as pa

from nessie_gc_core.model.locations import LocationRules


class AssetType(StrEnum):
    """What an asset was to its table."""

    TABLE = "TABLE"
    """The whole, empty directory of a table that is gone."""
    ICEBERG_METADATA = "ICEBERG_METADATA"
    """A metadata file of a table or view."""
    ICEBERG_MANIFEST_LIST = "ICEBERG_MANIFEST_LIST"
    """It names the manifests of one snapshot."""
    ICEBERG_MANIFEST = "ICEBERG_MANIFEST"
    """It names content files."""
    DATA_FILE = "DATA_FILE"
    """It holds rows."""
    DELETE_FILE = "DELETE_FILE"
    """It names deleted rows, by position or by value."""
    DELETION_VECTOR = "DELETION_VECTOR"
    """It holds bitmaps of deleted rows (a Puffin file)."""
    STATISTICS = "STATISTICS"
    """Statistics of a snapshot, by partition or not."""
    UNKNOWN = "UNKNOWN"
    """Neither a state nor its name says."""


def snapshot_text(snapshot_id: int | None) -> str:
    """A snapshot id as text; empty if a state has none."""
    return "" if snapshot_id is None or snapshot_id < 0 else str(snapshot_id)


class TypeFrom(StrEnum):
    """What says what an asset is."""

    WALK = "walk"
    """A state of its table that named it."""
    NAME = "name"
    """Nothing but its name."""


class AssetReason(StrEnum):
    """Why nothing needs an asset."""

    NO_REFERENCE = "no reference"
    """A reference that no longer exists held it, according to earlier live sets."""
    EXPIRED_COMMIT = "expired commit"
    """Only commits beyond the cut-off policies hold it."""
    NEVER_COMMITTED = "never committed"
    """No commit that is known has ever held it."""
    DROPPED_TABLE = "dropped table"
    """It is in the location of a table that no live commit has any more."""


_UTC = pa.timestamp("us", tz="UTC")


def _required(name: str, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, nullable=False)


ASSETS = pa.schema(
    [
        _required("tableName", pa.string()),
        _required("timestamp", _UTC),
        _required("asset", pa.binary()),
        _required("snapshotId", pa.string()),
        _required("assetType", pa.string()),
        _required("path", pa.string()),
        _required("name", pa.string()),
        _required("runid", pa.int64()),
        pa.field("run", pa.string()),
        pa.field("location", pa.string()),
        pa.field("sizeBytes", pa.int64()),
        pa.field("modified", _UTC),
        pa.field("typeFrom", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("lastReference", pa.string()),
        pa.field("lastCommit", pa.string()),
        pa.field("lastCommitTime", _UTC),
        pa.field("policy", pa.string()),
        pa.field("firstSeen", _UTC),
        pa.field("lastSeen", _UTC),
    ]
)
"""Sightings of unreferenced assets.

``tableName`` is the dotted key of the content whose location holds the asset, ``snapshotId`` the last snapshot that is
known to have held it (both empty if unknown), ``timestamp`` the time at which the run listed the references, ``asset``
the identity of the file (:func:`asset_id`), ``path`` its raw path, which begins with ``location`` (the prefix as it was
listed), ``name`` its last element. ``run`` is the identity of the run, ``runid`` its number: the greatest that there
was, plus one. ``modified`` is null where the store gives no time.
"""

ORIGINAL_COLUMNS = tuple(ASSETS.names[:8])
"""The columns of Nessie's first collector, all required."""


HANDLED_ASSETS = pa.schema(
    [
        _required("deletion", pa.string()),
        _required("timestamp", _UTC),
        _required("asset", pa.binary()),
        _required("outcome", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("tableName", pa.string()),
        pa.field("assetType", pa.string()),
        pa.field("path", pa.string()),
        pa.field("sizeBytes", pa.int64()),
        pa.field("runid", pa.int64()),
    ]
)
"""The outcome of each asset of a deletion, one row each.

``deletion`` is the identity of the deletion and ``timestamp`` when it began; ``outcome`` one of deleted, already_gone,
failed, spared, too_young and would_delete; ``runid`` the number of the latest run that had seen the asset.
"""


def asset_id(raw: str, rules: LocationRules) -> bytes:
    """The identity of an asset in all runs: the first half of the SHA-256 of its path.

    Args:
        raw: its raw path.
        rules: how locations compare; the path is taken as stores tell it apart, with its Azure account or its server.
    """
    return hashlib.sha256(f"{rules.left_out(raw)}\n{rules.exact(raw)}".encode()).digest()[:16]
