"""Files in quarantine by where they were: a file that is needed and missing may be one of them (S29)."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.look_again import looked_up
from nessie_gc_core.algorithms.unit_index import UnitIndex, UnitKey
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_batches, to_rows, to_texts
from nessie_gc_core.model.locations import LocationRules, outermost
from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.model.relations import FILE_KEYS

PREFIXES = pa.schema([pa.field("prefix", pa.string(), nullable=False)])
"""Canonical prefixes."""
_KEYS = list(FILE_KEYS.names)
_NAMED = pa.schema([*FILE_KEYS, pa.field("path", pa.string(), nullable=False)])
_TAKEN = pa.schema([pa.field("path", pa.string(), nullable=False), pa.field("location", pa.string(), nullable=False)])
_TAKEN_FROM = pa.schema([*FILE_KEYS, pa.field("location", pa.string(), nullable=False)])
_LOCATION = pa.schema([pa.field("location", pa.string(), nullable=False)])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPlaces:
    """Where all files in quarantine were."""

    engine: Engine
    files: Callable[[], Iterator[HeldFile]]
    """Reads their records."""
    rules: LocationRules

    def among(self, paths: Dataset, *, most: int) -> dict[str, str]:
        """Those of some raw paths (a column ``path``) at which one of them was.

        Args:
            paths: the paths; nothing is read if there are none.
            most: as many at most.

        Returns:
            Raw path to the canonical location from which that file was taken.
        """
        paths = paths.distinct(["path"]).checkpoint()
        if not paths.head(1).num_rows:
            return {}
        taken = self.engine.dataset(
            to_batches(((f.location + f.path, f.location) for f in self.files()), _TAKEN), _TAKEN
        )
        index = index_of_locations(taken, self.rules)
        named = paths.flat_map(AtPlaces(index, schema=_NAMED, every=True))
        known = taken.flat_map(AtPlaces(index, schema=_TAKEN_FROM)).distinct(_KEYS)
        found = named.left_join(known, _KEYS).present("location").distinct(["path"]).head(most)
        return {row["path"]: self.rules.place_prefix(row["location"]) for row in found.to_pylist()}


def index_of_locations(files: Dataset, rules: LocationRules) -> UnitIndex:
    """The index of the raw locations of some files (a column ``location``), whether they are swept or not."""
    locations = files.select(_LOCATION).distinct(list(_LOCATION.names)).summary().column("location").to_pylist()
    return UnitIndex(outermost(filter(None, map(rules.place_prefix_or_none, locations))), rules)


class AtPlaces:
    """Raw paths to where they are in an index, with :data:`FILE_KEYS`; what is in none of its units is left out."""

    def __init__(
        self, *indexes: UnitIndex, schema: pa.Schema = FILE_KEYS, column: str = "path", every: bool = False
    ) -> None:
        """Takes what finds places.

        Args:
            indexes: the first that knows a path counts.
            schema: :data:`FILE_KEYS`, and further columns of the rows.
            column: the column that has the paths.
            every: whether every place is meant that a path may mean.
        """
        self.schema = schema
        self._indexes = indexes
        self._column = column
        self._every = every

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks each path up."""
        carried = self.schema.names[len(_KEYS) :]
        for batch in batches:
            paths = batch.column(self._column).to_pylist()
            rows = list(to_rows(batch, *carried)) if carried else [()] * len(paths)
            yield from to_batches(((*place, *rows[at]) for at, place in self._found(paths)), self.schema)

    def _found(self, paths: Sequence[str]) -> Iterator[tuple[int, UnitKey]]:
        left: Sequence[int] = range(len(paths))
        for index in self._indexes:
            found, known = index.by_folder([paths[at] for at in left]), set[int]()
            for at, unit, key in zip(left, found.units, found.keys, strict=True):
                if unit is not None and key is not None:
                    known.add(at)
                    yield at, (unit, key)
            for at in (left[position] for position in found.single):
                for place in self._places(index, paths[at]):
                    known.add(at)
                    yield at, place
            left = [at for at in left if at not in known]

    def _places(self, index: UnitIndex, path: str) -> Sequence[UnitKey]:
        with suppress(UnknownLocationError):
            places = index.places(path).all
            return places if self._every else places[:1]
        return ()


class NotThere:
    """Files (columns ``location`` and ``path``) to those that are not stored there, or of which that is not known."""

    def __init__(self, choice: ConnectorChoice, schema: pa.Schema) -> None:
        """Takes what finds listers, and the columns."""
        self.schema = schema
        self._choice = choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks at each."""
        with OpenConnectors(self._choice) as connectors:
            for batch in batches:
                names = [(location, path) for location, path in to_texts(batch, "location", "path")]
                found, _ = looked_up(names, self._choice, connectors)
                yield batch.filter(pa.array([name not in found for name in names], pa.bool_()))


class Below:
    """Files (:data:`FILE_KEYS` and further columns) to those below some canonical prefixes."""

    def __init__(self, prefixes: Iterable[str], schema: pa.Schema) -> None:
        """Takes the prefixes, of which an empty one is around everything, and the columns."""
        self._prefixes = outermost(prefixes)
        self.schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compares each."""
        for batch in batches:
            mine = [self.around("".join(row)) is not None for row in to_texts(batch, *_KEYS)]
            yield batch.filter(pa.array(mine, pa.bool_()))

    def around(self, path: str) -> str | None:
        """The outermost prefix around a canonical path."""
        before = bisect.bisect_right(self._prefixes, path) - 1
        found = before >= 0 and path.startswith(self._prefixes[before])
        return self._prefixes[before] if found else None


class Around(Below):
    """Files (:data:`FILE_KEYS`) to the outermost of some canonical prefixes around each (:data:`PREFIXES`)."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        """Takes the prefixes."""
        super().__init__(prefixes, PREFIXES)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compares each."""
        for batch in batches:
            found = (self.around("".join(row)) for row in to_texts(batch, *_KEYS))
            yield from to_batches(((prefix,) for prefix in found if prefix is not None), self.schema)
