"""Counts the live files of a table by partition, from what its manifests say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import FileEntry
from nessie_gc_core.services.compaction.separating import Specs, is_unpartitioned


@dataclass(slots=True, kw_only=True)
class Tally:
    """The live files of one partition, counted as they come."""

    data_files: int = 0
    bytes: int = 0
    """Size of the data files."""
    small: int = 0
    """How many data files are small."""
    small_bytes: int = 0
    """Their size."""
    largest: int = 0
    """Size of the largest data file."""
    delete_files: int = 0
    """Delete files and deletion vectors of this partition."""
    delete_bytes: int = 0
    """Their size."""
    equality_deletes: int = 0
    """How many of the delete files have equality deletes, which apply to all partitions if there is none."""
    added_ms: int | None = None
    """When the newest of its files was added, in milliseconds since the epoch; ``None``: not known."""

    def count(self, entry: FileEntry, small_bytes: int, added_ms: int | None) -> None:
        """Counts a live file.

        Args:
            entry: the file.
            small_bytes: below this, a data file is small.
            added_ms: when it was added, in milliseconds since the epoch; ``None``: not known.
        """
        if added_ms is not None and (self.added_ms is None or added_ms > self.added_ms):
            self.added_ms = added_ms
        if entry.kind is not FileKind.DATA:
            self.delete_files += 1
            self.delete_bytes += entry.size if entry.content_size is None else entry.content_size
            self.equality_deletes += entry.kind is FileKind.EQUALITY_DELETES
            return
        self.data_files += 1
        self.bytes += entry.size
        self.largest = max(self.largest, entry.size)
        if entry.size < small_bytes:
            self.small += 1
            self.small_bytes += entry.size


def tallied(entries: Iterable[FileEntry], *, small_bytes: int, added_ms: Mapping[int, int]) -> dict[Partition, Tally]:
    """Counts live files by partition; keeps no file.

    Args:
        entries: all live files of a snapshot.
        small_bytes: below this, a data file is small.
        added_ms: ids of the snapshots that are known, with their time in milliseconds since the epoch.
    """
    found: dict[Partition, Tally] = {}
    for entry in entries:
        partition = Partition(entry.spec_id, entry.partition)
        tally = found.get(partition)
        if tally is None:
            tally = found[partition] = Tally()
        added = None if entry.snapshot_id is None else added_ms.get(entry.snapshot_id)
        tally.count(entry, small_bytes, added)
    return found


def deletes_everywhere(tallies: Mapping[Partition, Tally], specs: Specs) -> int:
    """How many equality deletes apply to the data files of all partitions."""
    return sum(own_deletes(each, tally, specs) for each, tally in tallies.items())


def own_deletes(partition: Partition, tally: Tally, specs: Specs) -> int:
    """How many of the delete files of a partition apply to all others, too."""
    return tally.equality_deletes if is_unpartitioned(partition, specs) else 0
