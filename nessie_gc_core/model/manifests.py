"""The manifests of one snapshot of an Iceberg table, from its manifest list, and the files that they list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from nessie_gc_core.model.files import FileKind

PartitionValue: TypeAlias = bool | int | float | str | bytes
"""A partition value as Iceberg stores it: dates are days, times and timestamps their unit since midnight or the epoch,
decimals their unscaled number, UUIDs and fixed values bytes."""


class _NegativeZero(float):
    """To Iceberg -0.0 and 0.0 are two partitions; Python takes them for one value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NegativeZero)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((_NegativeZero, "-"))


NEGATIVE_ZERO = _NegativeZero(-0.0)
"""The partition value -0.0: another one than 0.0."""


class ManifestContent(StrEnum):
    """What the files are that a manifest names."""

    DATA = "data"
    """Data files."""
    DELETES = "deletes"
    """Delete files and deletion vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRange:
    """The values of one partition field in one manifest."""

    lower: PartitionValue | None = None
    """The lowest value; ``None`` if there are only null and NaN, or it is unknown."""
    upper: PartitionValue | None = None
    """The highest value; ``None`` as for ``lower``."""
    contains_null: bool = True
    """Whether null may be among them."""
    contains_nan: bool = True
    """Whether NaN may be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One manifest of a snapshot; values that its manifest list lacks are ``None``."""

    path: str
    """Raw location."""
    length: int
    """Size in bytes."""
    content: ManifestContent = ManifestContent.DATA
    """What the files are that it names."""
    spec_id: int = 0
    """The partition spec of these files."""
    sequence_number: int = 0
    """That of the commit that added it; 0 in format version 1."""
    min_sequence_number: int = 0
    """The lowest of all its live files; 0 in format version 1."""
    snapshot_id: int | None = None
    """The snapshot that added it."""
    added_files: int | None = None
    """Files that this snapshot added."""
    existing_files: int | None = None
    """Files that were there before."""
    deleted_files: int | None = None
    """Entries of files that this snapshot removed; they are no longer live."""
    partitions: Sequence[PartitionRange] | None = None
    """The range of each field of the spec, in its order; empty where it is unpartitioned."""

    @property
    def files(self) -> int | None:
        """How many live files it lists; ``None`` if unknown."""
        if self.added_files is None or self.existing_files is None:
            return None
        return self.added_files + self.existing_files

    @property
    def is_counted(self) -> bool:
        """Whether its list says how many entries it has, without which Iceberg does not rewrite it."""
        return self.files is not None and self.deleted_files is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One live file that a manifest names."""

    path: str
    """Raw location."""
    kind: FileKind
    """Data file, delete file or deletion vector."""
    file_format: str
    """Such as ``PARQUET``."""
    size: int
    """Size in bytes; of a deletion vector, that of the whole Puffin file."""
    records: int
    """How many records it has; of a deletion vector, how many it deletes."""
    spec_id: int
    """The partition spec."""
    partition: tuple[PartitionValue | None, ...] = ()
    """The value of each field of the spec, in its order: files with one spec and one tuple are of one partition."""
    sequence_number: int = 0
    """Data sequence number: equality deletes apply to data files with a smaller one, position deletes to those with
    one that is not greater. 0 in format version 1."""
    snapshot_id: int | None = None
    """The snapshot that added it; ``None`` if unknown."""
    referenced_data_file: str | None = None
    """The only data file to which deletes apply; ``None`` if unknown."""
    content_offset: int | None = None
    """Where a deletion vector begins in its Puffin file, in bytes."""
    content_size: int | None = None
    """Size of a deletion vector in bytes."""
