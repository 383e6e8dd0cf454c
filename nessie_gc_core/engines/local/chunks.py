"""Chunks of rows, as they are dealt to workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def cut(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Cuts a stream into chunks of at most so many rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def cut_between(batches: Iterable[pa.RecordBatch], rows: int, keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Cuts a stream that is sorted by some keys into chunks of about so many rows.

    Rows that are equal in all of the keys stay in one chunk, which may be larger for it.
    """
    held: list[pa.RecordBatch] = []
    for batch in (batch for batch in batches if batch.num_rows):
        begin, count = 0, sum(part.num_rows for part in held)
        for start, end in itertools.pairwise([*_starts(batch, held[-1:], keys), batch.num_rows]):
            if count + start - begin > 0 and count + end - begin > rows:
                yield _joined([*held, batch.slice(begin, start - begin)])
                held, begin, count = [], start, 0
        held.append(batch.slice(begin))
    if held:
        yield _joined(held)


def _starts(batch: pa.RecordBatch, before: Sequence[pa.RecordBatch], keys: Sequence[str]) -> list[int]:
    """Where rows with equal keys start; those that go on with the last row before do not. Null is equal to nothing."""
    last = [part.slice(part.num_rows - 1) for part in before]
    rows = pa.Table.from_batches([*last, batch])
    after = rows.num_rows - 1
    if after == 0:  # PyArrow before 26 crashes where nothing is to be compared
        return [] if last else [0]
    differs = pa.array([False] * after, pa.bool_())
    for column in rows.select(keys).columns:
        unequal = pc.not_equal(column.slice(1), column.slice(0, after))
        differs = pc.or_(differs, pc.fill_null(unequal, fill_value=True))
    starts = [at + 1 - len(last) for at in pc.indices_nonzero(differs).to_pylist()]
    return starts if last else [0, *starts]


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches([part for part in parts if part.num_rows])
