"""Chunks of rows, as they are dealt to workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from nessie_gc_core.model.batches import run_starts


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
    """Where rows with equal keys start; those that go on with the last row before do not."""
    last = [part.slice(part.num_rows - 1) for part in before]
    starts = run_starts(pa.Table.from_batches([*last, batch]), keys)
    return [at - 1 for at in starts[1:]] if last else starts


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches([part for part in parts if part.num_rows])
