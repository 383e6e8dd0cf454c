"""File counts from the summary of a snapshot, which is in the metadata file: no manifest is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCounts:
    """Live files of one snapshot; ``None`` for counts that are missing or invalid."""

    data_files: int | None = None
    """Data files (``total-data-files``)."""
    delete_files: int | None = None
    """Delete files and deletion vectors (``total-delete-files``)."""
    bytes: int | None = None
    """Size of both in bytes (``total-files-size``)."""
    records: int | None = None
    """Records of the data files, deleted ones included (``total-records``)."""
    position_deletes: int | None = None
    """Records that are deleted by position (``total-position-deletes``)."""
    equality_deletes: int | None = None
    """Rows by which records are deleted (``total-equality-deletes``)."""
    manifests: int | None = None
    """Manifests (``manifests-created`` and ``manifests-kept``, which only newer writers say)."""

    @classmethod
    def of(cls, summary: Mapping[str, str]) -> Self:
        """Takes a summary; names and meaning as in Iceberg's ``SnapshotSummary``."""
        created, kept = counted(summary, "manifests-created"), counted(summary, "manifests-kept")
        return cls(
            data_files=counted(summary, "total-data-files"),
            delete_files=counted(summary, "total-delete-files"),
            bytes=counted(summary, "total-files-size"),
            records=counted(summary, "total-records"),
            position_deletes=counted(summary, "total-position-deletes"),
            equality_deletes=counted(summary, "total-equality-deletes"),
            manifests=None if created is None or kept is None else created + kept,
        )


def counted(summary: Mapping[str, object], name: str) -> int | None:
    """A number of a summary; ``None`` if it is missing or invalid."""
    text = str(summary.get(name, ""))
    return int(text) if text.isdecimal() else None


def removed_bytes(summary: Mapping[str, object]) -> int | None:
    """Size of the files that a snapshot removed, in bytes; ``None`` if unknown.

    Writers that count (``total-files-size``) omit ``removed-files-size`` if nothing was removed.
    """
    nothing = 0 if counted(summary, "total-files-size") is not None else None
    return counted(summary, "removed-files-size") if "removed-files-size" in summary else nothing
