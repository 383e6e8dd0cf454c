"""The table of lost files: files that live states need, but that are missing."""

from __future__ import annotations

import pyarrow as pa

_UTC = pa.timestamp("us", tz="UTC")

LOST_FILES = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("timestamp", _UTC, nullable=False),
        pa.field("tableName", pa.string(), nullable=False),
        pa.field("assetType", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("reference", pa.string()),
        pa.field("states", pa.int64()),
        pa.field("snapshotId", pa.string()),
        pa.field("lastCommit", pa.string()),
        pa.field("lastCommitTime", _UTC),
    ]
)
"""One row for each lost file, each table that needs it, and each reference whose head needs it.

``run`` is the identity of the run, ``timestamp`` the time at which it listed the references. ``reference`` is null for
states that only the history of references has. ``states`` counts the live states of the row; ``snapshotId``,
``lastCommit`` and ``lastCommitTime`` are those of the last one.
"""
