"""How the local engine cuts a stream into chunks: every row once, in order, equal keys together."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.engines.local.chunks import cut, cut_between

ROWS = pa.schema([pa.field("folder", pa.string()), pa.field("number", pa.int64(), nullable=False)])
runs = st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=8)
sizes = st.lists(st.integers(0, 30), max_size=12)


def stream(runs: Sequence[tuple[bool, int]], sizes: Sequence[int]) -> list[pa.RecordBatch]:
    """Rows in runs, each with a folder of its own or with none, in batches of these sizes and a last one."""
    folders = [f"f{at:02}" if named else None for at, (named, length) in enumerate(runs) for _ in range(length)]
    rows = pa.record_batch([pa.array(folders, pa.string()), pa.array(range(len(folders)), pa.int64())], schema=ROWS)
    batches, start = [], 0
    for size in [*sizes, len(folders)]:
        batches.append(rows.slice(start, size))
        start = min(start + size, len(folders))
    return batches


def numbers(chunks: Sequence[pa.RecordBatch]) -> list[int]:
    return [number for chunk in chunks for number in chunk.column("number").to_pylist()]


@given(runs=runs, sizes=sizes, rows=st.integers(1, 50))
def test_rows_with_equal_keys_are_in_one_chunk(runs: list[tuple[bool, int]], sizes: list[int], rows: int) -> None:
    batches = stream(runs, sizes)
    chunks = list(cut_between(batches, rows, ["folder"]))
    folders = [folder for chunk in chunks for folder in set(chunk.column("folder").to_pylist()) - {None}]
    assert len(set(folders)) == len(folders)
    assert numbers(batches) == numbers(chunks)
    assert 0 not in [chunk.num_rows for chunk in chunks]


@given(sizes=sizes, rows=st.integers(1, 50))
def test_rows_whose_keys_all_differ_are_in_chunks_of_at_most_so_many(sizes: list[int], rows: int) -> None:
    batches = stream([(True, 1)] * sum(sizes), sizes)
    chunks = list(cut_between(batches, rows, ["folder"]))
    assert max((chunk.num_rows for chunk in chunks), default=0) <= rows
    assert numbers(batches) == numbers(chunks)


def test_without_keys_a_batch_is_cut_wherever_it_is_full() -> None:
    assert [2, 2, 1] == [chunk.num_rows for chunk in cut(stream([(True, 5)], []), 2)]
