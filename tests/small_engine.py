"""An engine for tests that collect thousands of small lakes: rows are lists in memory, and all is computed at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from nessie_gc_core.dataset import BatchFunction, Dataset, Engine, joined_schema
from nessie_gc_core.model.work import Work

Row = Mapping[str, Any]
_COMPARISON = re.compile(r"(\w+) (<=|>) (-?\d+)")
_MEASURES: Mapping[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": lambda values: sum(value for value in values if value is not None),
    "max": lambda values: max((value for value in values if value is not None), default=None),
    "min": lambda values: min((value for value in values if value is not None), default=None),
}


class SmallEngine(Engine):
    """Runs everything in the calling thread."""

    name: ClassVar[str] = "small"
    distributed: ClassVar[bool] = False

    def dataset(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Dataset:
        """Takes all rows."""
        return SmallDataset([row for batch in batches for row in batch.to_pylist()], schema)

    def from_frame(self, frame: object, schema: pa.Schema) -> Dataset:
        """Nobody looks at frames here."""
        raise NotImplementedError

    @property
    def parallelism(self) -> int:
        """One."""
        return 1

    def check(self) -> None:
        """Nothing to find out."""

    def work(self) -> Work | None:
        """Nobody asks."""
        return None

    def close(self) -> None:
        """Nothing to free."""


class SmallDataset(Dataset):
    """Rows."""

    def __init__(self, rows: Sequence[Row], schema: pa.Schema, *, keys: Sequence[str] = ()) -> None:
        self.schema = schema
        self._rows = rows
        self._keys = keys

    def flat_map(self, function: BatchFunction) -> Dataset:
        """Calls it once, if there are rows."""
        if not self._rows:
            return SmallDataset([], function.schema)
        rows = sorted(self._rows, key=lambda row: tuple(str(row[key]) for key in self._keys))
        batch = pa.RecordBatch.from_pylist(rows, self.schema)
        return SmallDataset([row for found in function(iter([batch])) for row in found.to_pylist()], function.schema)

    def spread(self, keys: Sequence[str], *, together: bool = False) -> Dataset:
        """Only the order matters."""
        return SmallDataset(self._rows, self.schema, keys=keys if together else ())

    def where(self, column: str, values: Sequence[str | int | bool], *, negate: bool = False) -> Dataset:
        """By membership."""
        wanted = set(values)
        return self._of(row for row in self._rows if (row[column] in wanted) != negate)

    def present(self, column: str) -> Dataset:
        """Not null."""
        return self._of(row for row in self._rows if row[column] is not None)

    def select(self, schema: pa.Schema) -> Dataset:
        """Fewer columns."""
        return SmallDataset([{name: row[name] for name in schema.names} for row in self._rows], schema)

    def union(self, other: Dataset) -> Dataset:
        """One after the other."""
        return self._of([*self._rows, *_rows(other)])

    def distinct(self, keys: Sequence[str]) -> Dataset:
        """The first of each."""
        return self._of({_key(row, keys): row for row in reversed(self._rows)}.values())

    def anti_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """By keys."""
        known = {key for row in _rows(other) if None not in (key := _key(row, keys))}
        return self._of(row for row in self._rows if _key(row, keys) not in known)

    def semi_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """By keys."""
        known = {key for row in _rows(other) if None not in (key := _key(row, keys))}
        return self._of(row for row in self._rows if _key(row, keys) in known)

    def left_join(self, other: Dataset, keys: Sequence[str]) -> Dataset:
        """By keys."""
        schema = joined_schema(self.schema, other.schema, keys)
        known: dict[tuple[Any, ...], list[Row]] = {}
        for row in _rows(other):
            if None not in (key := _key(row, keys)):
                known.setdefault(key, []).append(row)
        nothing = dict.fromkeys(name for name in other.schema.names if name not in keys)
        rows = [{**nothing, **more, **row} for row in self._rows for more in known.get(_key(row, keys), [nothing])]
        return SmallDataset(rows, schema)

    def setting(self, values: Mapping[str, str]) -> Dataset:
        """Replaced columns."""
        return self._of({**row, **values} for row in self._rows)

    def matching(self, predicate: str) -> Dataset:
        """The predicates of the core."""
        if predicate.endswith(" IS NULL"):
            return self._of(row for row in self._rows if row[predicate.removesuffix(" IS NULL")] is None)
        found = _COMPARISON.fullmatch(predicate)
        if found is None:
            raise NotImplementedError(predicate)
        column, greater, value = found[1], found[2] == ">", int(found[3])
        rows = (row for row in self._rows if row[column] is not None)
        return self._of(row for row in rows if (row[column] > value) == greater)

    def aggregate(self, keys: Sequence[str], measures: Mapping[str, tuple[str, str]], schema: pa.Schema) -> Dataset:
        """By groups."""
        groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
        for row in self._rows:
            groups.setdefault(_key(row, keys), []).append(row)
        return SmallDataset(
            [
                {
                    **dict(zip(keys, key, strict=True)),
                    **{
                        name: _MEASURES[function]([row.get(column) for row in rows])
                        for name, (function, column) in measures.items()
                    },
                }
                for key, rows in groups.items()
            ],
            schema,
        )

    def checkpoint(self) -> Dataset:
        """It is computed."""
        return self

    def count(self) -> int:
        """Counts."""
        return len(self._rows)

    def head(self, rows: int) -> pa.Table:
        """The first."""
        return pa.Table.from_pylist(list(self._rows[:rows]), self.schema)

    def summary(self) -> pa.Table:
        """All."""
        return pa.Table.from_pylist(list(self._rows), self.schema)

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """All in one batch."""
        if self._rows:
            yield pa.RecordBatch.from_pylist(list(self._rows), self.schema)

    def to_frame(self) -> object:
        """Nobody looks at frames here."""
        raise NotImplementedError

    def _of(self, rows: Iterable[Row]) -> Dataset:
        return SmallDataset(list(rows), self.schema)


def _rows(dataset: Dataset) -> Sequence[Row]:
    assert isinstance(dataset, SmallDataset)
    return dataset._rows


def _key(row: Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[key] for key in keys)
