"""What an expiry deletes, by table and by kind of file."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import pyarrow as pa

from nessie_gc_core.algorithms.assets import TableIndex
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.services.tally import Tally

_TABLES = pa.schema([*FILE_KEYS, pa.field("table", pa.string()), pa.field("size", pa.int64())])
_COUNTED = pa.schema(
    [
        pa.field("table", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("files", pa.int64()),
    ]
)
_TOGETHER = 16
"""The outcomes of so many steps are counted at once."""
_MEASURES = {"bytes": ("sum", "size"), "files": ("count", "size")}


class Freed:
    """Counts the outcomes of a run, step by step."""

    def __init__(
        self, kinds: Dataset | None = None, index: UnitIndex | None = None, tables: TableIndex | None = None
    ) -> None:
        """Takes what the files are (:data:`KINDS`), and what finds units and tables; without, nothing is counted."""
        self._kinds, self._index, self._tables = kinds, index, tables
        self._counts: dict[tuple[str, str], Tally] = {}
        self._waiting: list[Dataset] = []

    def add(self, outcomes: Dataset) -> None:
        """Adds some outcomes (:data:`OUTCOMES`), which are stored; checksum sidecars do not count."""
        self._waiting.append(outcomes)
        if len(self._waiting) >= _TOGETHER:
            self._count()

    def _count(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting or self._kinds is None or self._index is None or self._tables is None:
            return
        outcomes = functools.reduce(lambda one, other: one.union(other), waiting)
        named = outcomes.where("sidecar", [False]).flat_map(_Tables(self._index, self._tables))
        counted = named.left_join(self._kinds, FILE_KEYS.names).aggregate(["table", "kind"], _MEASURES, _COUNTED)
        for row in counted.summary().to_pylist():
            known = row["kind"] in set(FileKind)
            name = (row["table"], row["kind"] if known else FileKind.OTHER.value)
            self._counts.setdefault(name, Tally()).add(row["files"], row["bytes"])

    def of_table(self, table: str) -> Tally:
        """What went in the location of a table."""
        self._count()
        return _sum(tally for (name, _), tally in self._counts.items() if name == table)

    def by_kind(self) -> dict[str, Tally]:
        """What went by kind, in the order of :class:`FileKind`."""
        self._count()
        found = {kind.value: [tally for (_, its), tally in self._counts.items() if its == kind] for kind in FileKind}
        return {kind: _sum(tallies) for kind, tallies in found.items() if tallies}


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally.files, tally.bytes)
    return total


class _Tables:
    """Outcomes to their keys, and the names of their tables."""

    schema = _TABLES

    def __init__(self, index: UnitIndex, tables: TableIndex) -> None:
        self._index = index
        self._tables = tables

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "location", "path", "size"))
        files = ((f"{location!s}{path!s}", size) for location, path, size in rows)
        found = ((self._index.find(path), path, size) for path, size in files)
        named = ((*key, self._tables.name(path), size) for key, path, size in found if key is not None)
        yield from to_batches(named, self.schema)
