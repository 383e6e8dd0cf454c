"""Subtract: stored minus reachable, and reachable minus stored (design 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import rbloom
import xxhash

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_rows
from nessie_gc_core.model.relations import CANDIDATES, FILE_KEYS, STORED_FILES

UNIT_FILES = pa.schema([pa.field("unit", pa.string()), pa.field("files", pa.int64())])
"""How many files of a relation lie in each unit."""
_KEYS = ["unit", "key"]


def unreferenced(stored: Dataset, reachable: Dataset) -> Dataset:
    """Stored files that nothing reaches, exactly: an anti-join by the text of unit and key (:data:`CANDIDATES`)."""
    return _with_sidecars(stored.anti_join(reachable.select(FILE_KEYS), _KEYS))


def unreferenced_by_bloom(stored: Dataset, reachable: Dataset, *, capacity: int, false_positive_rate: float) -> Dataset:
    """The same by a Bloom filter: keeps a little garbage, never names a reachable file (S11).

    The filter is sized for what is really reachable where that is more than the capacity, so it is never overfull.
    """
    count = reachable.count()
    bloom = rbloom.Bloom(max(capacity, count, 1), false_positive_rate, stable_hash)
    for batch in reachable.batches():
        bloom.update(_text(*row) for row in to_rows(batch, *_KEYS))
    return _with_sidecars(stored.flat_map(_NotInBloom(bloom.save_bytes())))


class _NotInBloom:
    """Keeps the stored files that the filter does not know."""

    schema = STORED_FILES

    def __init__(self, saved: bytes) -> None:
        self._saved = saved

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bloom = rbloom.Bloom.load_bytes(self._saved, stable_hash)
        for batch in batches:
            mask = [_text(*row) not in bloom for row in to_rows(batch, *_KEYS)]
            yield batch.filter(pa.array(mask, pa.bool_()))


def _text(unit: object, key: object) -> str:
    return f"{unit}\n{key}"


def stable_hash(text: object) -> int:
    """A signed 128-bit hash that is the same in every process."""
    return int.from_bytes(xxhash.xxh3_128_digest(str(text).encode()), "big", signed=True)


def _with_sidecars(files: Dataset) -> Dataset:
    """A file and its checksum sidecar as one row, as young as the younger of the two (decision 18)."""
    measures = {
        "path": ("max", "path"),
        "size": ("sum", "size"),
        "modified": ("max", "modified"),
        "sidecar_path": ("max", "sidecar_path"),
        "sidecar_size": ("sum", "sidecar_size"),
    }
    return files.aggregate([*_KEYS, "location"], measures, CANDIDATES)


def lost(stored: Dataset, reachable: Dataset) -> Dataset:
    """Distinct reachable files that are not stored (:data:`REACHABLE_FILES`)."""
    return reachable.distinct(_KEYS).anti_join(stored.where("sidecar", [False]), _KEYS)


def count_by_unit(dataset: Dataset) -> dict[str, int]:
    """How many rows each unit has; one entry per unit, not per file."""
    counts = dataset.aggregate(["unit"], {"files": ("count", "unit")}, UNIT_FILES)
    return {row["unit"]: row["files"] for row in counts.summary().to_pylist()}


Membership = Callable[[Dataset, Dataset], Dataset]
"""Takes stored and reachable files, gives the candidates."""
