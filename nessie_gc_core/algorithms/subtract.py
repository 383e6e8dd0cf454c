"""Subtract: stored minus reachable, and reachable minus stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import rbloom
import xxhash

from nessie_gc_core.algorithms.listing import sidecar_owner
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.relations import CANDIDATES, FILE_KEYS, STORED_FILES

UNIT_FILES = pa.schema([pa.field("unit", pa.string()), pa.field("files", pa.int64())])
"""How many files of a relation are in each unit."""
_KEYS = ["unit", "key"]


NotReachable = Callable[[Dataset], Dataset]
"""Takes files (:data:`STORED_FILES`) and leaves those that are not reachable by unit and key."""


def exact(reachable: Dataset) -> NotReachable:
    """An anti-join by the whole text of unit and key."""
    keys = reachable.select(FILE_KEYS)
    return lambda files: files.anti_join(keys, _KEYS)


def bloom(reachable: Dataset, *, capacity: int, false_positive_rate: float) -> NotReachable:
    """A Bloom filter: keeps a little garbage, never leaves a reachable file (S11).

    It is sized for what is really reachable where that is more than the capacity, so it is never overfull.
    """
    filter_ = rbloom.Bloom(max(capacity, reachable.count(), 1), false_positive_rate, stable_hash)
    for batch in reachable.batches():
        filter_.update(map("\n".join, to_texts(batch, *_KEYS)))
    saved = filter_.save_bytes()
    return lambda files: files.flat_map(_NotInBloom(saved))


def unreferenced(stored: Dataset, not_reachable: NotReachable, *, with_sidecars: Collection[str]) -> Dataset:
    """Stored files that nothing reaches (:data:`CANDIDATES`).

    In units with sidecars a checksum file is deleted with its file and never before it: neither its own key nor that of
    its file may be reachable. The two are one row, as young as the younger of them. In other units every file
    stays a row of its own: in an object store several files may have one key.

    Args:
        stored: what is there.
        not_reachable: keeps the rows that nothing reaches.
        with_sidecars: the units in which checksum sidecars may lie; all are on file systems.
    """
    dead = not_reachable(stored)
    if not with_sidecars:
        return dead.select(CANDIDATES)
    units = sorted(with_sidecars)
    alone = dead.where("unit", units, negate=True).select(CANDIDATES)
    mine = dead.where("unit", units)
    own = mine.where("sidecar", [True]).flat_map(_UnderOwner())
    together = mine.where("sidecar", [False]).union(not_reachable(own))
    return alone.union(together.aggregate([*_KEYS, "location"], _TOGETHER, CANDIDATES))


_TOGETHER = {
    "path": ("max", "path"),
    "size": ("sum", "size"),
    "modified": ("max", "modified"),
    "sidecar_path": ("max", "sidecar_path"),
    "sidecar_size": ("sum", "sidecar_size"),
}


class _UnderOwner:
    """Gives sidecars the key of their file."""

    schema = STORED_FILES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key = self.schema.get_field_index("key")
        for batch in batches:
            columns = [batch.column(name) for name in self.schema.names]
            columns[key] = batch.column("owner")
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def with_owners(reachable: Dataset) -> Dataset:
    """Reachable files by their key (:data:`FILE_KEYS`), and those named like a sidecar by their owner's as well.

    A candidate that looks like a checksum sidecar carries the key of its owner; nothing that is live may be missed
    for that.
    """
    keys = reachable.select(FILE_KEYS)
    return keys.union(keys.flat_map(_Owners()))


class _Owners:
    """Keys of files that are named like a sidecar to the keys of the files whose sidecars they would be."""

    schema = FILE_KEYS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            named_so = batch.filter(pc.ends_with(batch.column("key"), ".crc"))
            rows = ((unit, sidecar_owner(key)) for unit, key in to_texts(named_so, *_KEYS))
            yield from to_batches((row for row in rows if row[1] is not None), self.schema)


class _NotInBloom:
    """Keeps the stored files that the filter does not know."""

    schema = STORED_FILES

    def __init__(self, saved: bytes) -> None:
        self._saved = saved

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filter_ = rbloom.Bloom.load_bytes(self._saved, stable_hash)
        for batch in batches:
            mask = [text not in filter_ for text in map("\n".join, to_texts(batch, *_KEYS))]
            yield batch.filter(pa.array(mask, pa.bool_()))


def stable_hash(text: object) -> int:
    """A signed 128-bit hash that is the same in every process."""
    return int.from_bytes(xxhash.xxh3_128_digest(str(text).encode()), "big", signed=True)


def lost(stored: Dataset, written: Dataset, spellings: Dataset) -> Dataset:
    """Distinct reachable files that are not stored (:data:`REACHABLE_FILES`), under no spelling.

    Args:
        stored: what is there.
        written: the reachable files as they are written.
        spellings: other places where some of them may be.
    """
    missing = written.anti_join(stored, _KEYS)
    return missing.anti_join(spellings.semi_join(stored, _KEYS), ["path"]).distinct(_KEYS)


def count_by_unit(dataset: Dataset) -> dict[str, int]:
    """How many rows each unit has; one entry per unit, not per file."""
    counts = dataset.aggregate(["unit"], {"files": ("count", "unit")}, UNIT_FILES)
    return {row["unit"]: row["files"] for row in counts.summary().to_pylist()}
