"""Remembers what immutable files name from run to run, so that no manifest is read twice.

Only files of the last level are remembered (manifests, not their lists): each of them is named often and read once,
while lists name the same manifests again and again, which together would be more than what they save.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
import xxhash

from nessie_gc_core.algorithms.expand_files import ExpandFiles
from nessie_gc_core.algorithms.keyed import KeyVersionFiles
from nessie_gc_core.algorithms.reach import KnownReached, Places
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import Row, Value, constant, to_batches, to_rows
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM, REACHED, SPELLING
from nessie_gc_core.plugins.registry import KINDS

ADDED_LATER = frozenset({"parent_announced"})
"""Columns that tables of earlier versions lack; what such a table holds is read again."""
_PARENT = pa.schema(
    [
        pa.field("parent", pa.string()),
        pa.field("parent_length", pa.int64()),
        pa.field("parent_announced", pa.string()),
    ]
)
CACHED_FILES = pa.schema(
    [
        pa.field("parent", pa.string(), nullable=False),
        pa.field("parent_length", pa.int64(), nullable=False),
        pa.field("parent_announced", pa.string()),
        pa.field("parent_kind", pa.string(), nullable=False),
        pa.field("content_type", pa.string(), nullable=False),
        pa.field("reader", pa.string(), nullable=False),
        pa.field("children", pa.int64(), nullable=False),
        pa.field("path", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("length", pa.int64()),
        pa.field("check", pa.int64()),
    ]
)
"""Files with the files that they name, one row for each of these; one without a path for a file that names none.

``parent`` is the raw path of the file, ``parent_length`` its length as the metadata gives it (files without are not
remembered), ``parent_announced`` what the metadata says of what is in it (empty: nothing), ``reader`` the plugins that
read it, with their versions, ``children`` how many distinct files it names. ``path``, ``kind`` and ``length`` are those
of the file that is named; ``check`` is a hash of the others. A file is read again where fewer or more rows are there
than it names files, or where one of them is not what was written.
"""

_KEYS = list(_PARENT.names)
_CHILD = [*_KEYS, "path", "kind", "length"]
_FRONTIER = pa.schema([*EXPANDED_FILES, *_PARENT])
_COUNTED = pa.schema([*_PARENT, pa.field("found", pa.int64())])
_EXPECTED = pa.schema([*_PARENT, CACHED_FILES.field("children")])
_NAMED = pa.schema([*_PARENT, *(CACHED_FILES.field(name) for name in ("path", "kind", "length"))])
_NO_LENGTH = -1
_PROCESS = uuid.uuid4()


class ExpansionCache:
    """What earlier runs remembered, if it is complete and was read by the same plugins; and what to remember now."""

    def __init__(self, entries: Dataset, *, reader: str) -> None:
        """Takes what is stored (:data:`CACHED_FILES`), and the plugins that read now."""
        self._stored = entries
        self._reader = reader
        self._learned: list[Dataset] = []
        self._needed: list[Dataset] = []
        self.files_known = 0
        """How many files did not have to be read."""

    def expand(
        self,
        frontier: Dataset,
        kind: str,
        content_types: Sequence[str],
        index: UnitIndex,
        choice: ConnectorChoice,
        places: Places | None = None,
    ) -> tuple[Dataset, int]:
        """What some files name (:data:`EXPANDED_FILES`), and how many of them had to be read.

        Args:
            frontier: the files (:data:`EXPANDED_FILES`), distinct.
            kind: their kind.
            content_types: of the contents that they belong to.
            index: the sweep units.
            choice: the connectors' options.
            places: what says where files are, if it is wanted which places are reached from where.
        """
        wanted = frontier.flat_map(_Parents()).checkpoint()
        known = self._whole(kind, content_types, wanted).checkpoint()
        to_read = wanted.anti_join(known, _KEYS).checkpoint()
        read = to_read.flat_map(ExpandFiles(choice, index, carried=_PARENT, places=places)).checkpoint()
        self._needed.append(wanted)
        self._learned.append(self._entries(to_read, read, kind))
        count = to_read.count()
        self.files_known += wanted.count() - count
        keyed = known.present("path").flat_map(_KeyChildren(index)).checkpoint()
        found = read.select(EXPANDED_FILES).union(keyed)
        if places is not None:
            found = found.union(known.present("path").flat_map(KnownReached(places)).checkpoint())
        return found, count

    def learned(self) -> Dataset | None:
        """What to remember from now on (:data:`CACHED_FILES`); ``None`` if nothing was expanded."""
        return _union(self._learned)

    def gone(self) -> Dataset | None:
        """What is stored and was not needed, or not by these plugins (:data:`CACHED_FILES`).

        ``None`` if nothing was expanded.
        """
        needed = _union(self._needed)
        if needed is None:
            return None
        others = self._stored.where("reader", [self._reader], negate=True)
        return self._stored.where("reader", [self._reader]).anti_join(needed, _KEYS).union(others)

    def _whole(self, kind: str, content_types: Sequence[str], wanted: Dataset) -> Dataset:
        """The rows of those of some files that are remembered to their last row."""
        mine = self._stored.where("parent_kind", [kind]).where("content_type", sorted(content_types))
        mine = mine.where("reader", [self._reader]).semi_join(wanted, _KEYS)
        mine = mine.flat_map(_Unharmed()).distinct(CACHED_FILES.names).checkpoint()
        found = mine.present("path").aggregate(_KEYS, {"found": ("count", "path")}, _COUNTED)
        expected = mine.aggregate(_KEYS, {"children": ("max", "children")}, _EXPECTED)
        whole = expected.left_join(found, _KEYS).matching("coalesce(found, 0) = children")
        return mine.semi_join(whole, _KEYS)

    def _entries(self, files: Dataset, read: Dataset, kind: str) -> Dataset:
        """What was read of those files that could be read to their end."""
        good = files.anti_join(read.where("kind", [PROBLEM]), _KEYS)
        named = read.where("kind", [PROBLEM, SPELLING, REACHED], negate=True).select(_NAMED).distinct(_CHILD)
        counted = named.aggregate(_KEYS, {"found": ("count", "path")}, _COUNTED)
        types = pa.schema([*_PARENT, EXPANDED_FILES.field("content_type")])
        rows = good.select(types).left_join(counted, _KEYS).left_join(named, _KEYS)
        return rows.flat_map(_Entries(kind, self._reader))


def _union(datasets: Sequence[Dataset]) -> Dataset | None:
    found: Dataset | None = None
    for dataset in datasets:
        found = dataset if found is None else found.union(dataset)
    return found


class _Parents:
    """Files, which what they name will carry along."""

    schema = _FRONTIER

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, *EXPANDED_FILES.names))
        yield from to_batches((self._row(*row) for row in rows), self.schema)

    def _row(self, *row: Value) -> Row:
        file = dict(zip(EXPANDED_FILES.names, row, strict=True))
        return (*row, file["path"], file["length"] or _NO_LENGTH, file["announced"] or "")


class _KeyChildren(KeyVersionFiles):
    """Remembered files with their unit and key; nothing is announced of them: they are not read."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        field = EXPANDED_FILES.field("announced")
        yield from super().__call__(
            batch.append_column(field, constant(None, batch.num_rows, field.type)) for batch in batches
        )


class _Unharmed:
    """Rows that are as they were written."""

    schema = CACHED_FILES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, *CACHED_FILES.names))
        yield from to_batches((row for row in rows if row[-1] == _check(row[:-1])), self.schema)


def _check(row: Row) -> int:
    return int.from_bytes(xxhash.xxh3_64_digest(json.dumps(row).encode()), "big", signed=True)


class _Entries:
    """Files with what they name, to rows that are stored."""

    schema = CACHED_FILES

    def __init__(self, kind: str, reader: str) -> None:
        self._kind, self._reader = kind, reader

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = (*_KEYS, "content_type", "found", "path", "kind", "length")
        rows = (row for batch in batches for row in to_rows(batch, *columns))
        yield from to_batches((self._row(*row) for row in rows if row[1] != _NO_LENGTH), self.schema)

    def _row(self, *row: Value) -> Row:
        parent, length, announced, type_, found, *child = row
        entry = (parent, length, announced, self._kind, type_, self._reader, found or 0, *child)
        return (*entry, _check(entry))


def reading_plugins(choice: ConnectorChoice) -> str:
    """The plugins that read contents, with their versions: what another version read is read again.

    One that a program registered has no version, so that it is another one in every process.
    """
    kind = KINDS[ContentToFiles][0]
    readers = (p for p in choice.registry().plugins if any(c.startswith(f"{kind} ") for c in p.connectors))
    return ", ".join(sorted(p.origin if p.distribution else f"{p.origin} {_PROCESS}" for p in readers))
