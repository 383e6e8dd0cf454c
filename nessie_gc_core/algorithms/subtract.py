"""Subtract: stored minus reachable, and reachable minus stored."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

import pyarrow as pa
import rbloom
import xxhash

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.relations import CANDIDATES, FILE_KEYS, STORED_FILES

UNIT_FILES = pa.schema([pa.field("unit", pa.string()), pa.field("files", pa.int64())])
"""How many files of a relation lie in each unit."""
_KEYS = ["unit", "key"]


Membership = Callable[[Dataset], Dataset]
"""Takes files (:data:`STORED_FILES`) and leaves those that are not reachable by unit and key."""


def exact(reachable: Dataset) -> Membership:
    """An anti-join by the whole text of unit and key."""
    keys = reachable.select(FILE_KEYS)
    return lambda files: files.anti_join(keys, _KEYS)


def bloom(reachable: Dataset, *, capacity: int, false_positive_rate: float) -> Membership:
    """A Bloom filter: keeps a little garbage, never leaves a reachable file (S11).

    It is sized for what is really reachable where that is more than the capacity, so it is never overfull.
    """
    filter_ = rbloom.Bloom(max(capacity, reachable.count(), 1), false_positive_rate, stable_hash)
    for batch in reachable.batches():
        filter_.update(_text(*row) for row in to_rows(batch, *_KEYS))
    saved = filter_.save_bytes()
    return lambda files: files.flat_map(_NotInBloom(saved))


def unreferenced(stored: Dataset, not_reachable: Membership, *, sidecars: bool) -> Dataset:
    """Stored files that nothing reaches (:data:`CANDIDATES`).

    With sidecars, a checksum file goes with its file and never before it: it must be reachable neither by its own
    key nor by that of its file. The two are one row, as young as the younger of them.
    """
    dead = not_reachable(stored)
    if not sidecars:
        return dead.select(CANDIDATES)
    own = dead.where("sidecar", [True]).flat_map(_UnderOwner())
    together = dead.where("sidecar", [False]).union(not_reachable(own))
    return together.aggregate([*_KEYS, "location"], _TOGETHER, CANDIDATES)


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


class _NotInBloom:
    """Keeps the stored files that the filter does not know."""

    schema = STORED_FILES

    def __init__(self, saved: bytes) -> None:
        self._saved = saved

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filter_ = rbloom.Bloom.load_bytes(self._saved, stable_hash)
        for batch in batches:
            mask = [_text(*row) not in filter_ for row in to_rows(batch, *_KEYS)]
            yield batch.filter(pa.array(mask, pa.bool_()))


def _text(unit: object, key: object) -> str:
    return f"{unit}\n{key}"


def stable_hash(text: object) -> int:
    """A signed 128-bit hash that is the same in every process."""
    return int.from_bytes(xxhash.xxh3_128_digest(str(text).encode()), "big", signed=True)


def lost(stored: Dataset, reachable: Dataset) -> Dataset:
    """Distinct reachable files that are not stored (:data:`REACHABLE_FILES`)."""
    return reachable.distinct(_KEYS).anti_join(stored, _KEYS)


def misspelled(lost_files: Dataset, stored: Dataset) -> Dataset:
    """Lost files that are stored under the key without doubled slashes and dots (:data:`FILE_KEYS`).

    Some writers clean a path before they write the file, and keep the path as it was in the metadata.
    """
    return lost_files.select(FILE_KEYS).flat_map(_Cleaned()).semi_join(stored, _KEYS)


class _Cleaned:
    """Keys that have doubled slashes or dots, without them."""

    schema = FILE_KEYS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [(unit, key, posixpath.normpath(f"/{key}").lstrip("/")) for unit, key in to_rows(batch, *_KEYS)]
            yield from to_batches(((unit, clean) for unit, key, clean in rows if clean != key), self.schema)


def count_by_unit(dataset: Dataset) -> dict[str, int]:
    """How many rows each unit has; one entry per unit, not per file."""
    counts = dataset.aggregate(["unit"], {"files": ("count", "unit")}, UNIT_FILES)
    return {row["unit"]: row["files"] for row in counts.summary().to_pylist()}
