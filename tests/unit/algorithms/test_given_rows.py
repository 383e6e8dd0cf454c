"""Columns that a connector gives: what their types may be."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest

from nessie_gc_core.model.batches import given_rows
from nessie_gc_core.model.relations import LISTED_FILES

NOON = datetime(2026, 3, 29, 12)


def listed(path: pa.Array, size: pa.Array, modified: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([path, size, modified], names=LISTED_FILES.names)


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("integer", [pa.int64(), pa.uint32(), pa.null()])
def test_text_and_integers_of_any_width_are_what_they_say(text: pa.DataType, integer: pa.DataType) -> None:
    number = None if pa.types.is_null(integer) else 7
    given = given_rows(listed(pa.array(["a"], text), *[pa.array([number], integer)] * 2), LISTED_FILES)
    assert given.schema == LISTED_FILES
    assert given.to_pylist() == [{"path": "a", "size": number, "modified": number}]


def test_texts_that_repeat_may_be_a_dictionary() -> None:
    paths = pa.array(["a", "a"]).dictionary_encode()
    given = given_rows(listed(paths, pa.nulls(2, pa.int64()), pa.nulls(2, pa.int64())), LISTED_FILES)
    assert given.column("path").to_pylist() == ["a", "a"]


@pytest.mark.parametrize(
    "modified",
    [
        *(pa.array([NOON], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        pa.array([NOON], pa.timestamp("s", "UTC")),
        pa.array([NOON.date()]),
        pa.array(["1"]),
        pa.array([1.0]),
    ],
    ids=lambda column: str(column.type),
)
def test_s08_a_time_of_another_kind_is_refused_and_not_taken_for_an_old_one(modified: pa.Array) -> None:
    with pytest.raises(ValueError, match="the column modified is of type"):
        given_rows(listed(pa.array(["a"]), pa.nulls(1, pa.int64()), modified), LISTED_FILES)


def test_a_size_that_is_no_integer_is_refused() -> None:
    with pytest.raises(ValueError, match="the column size is of type double"):
        given_rows(listed(pa.array(["a"]), pa.array([1.5]), pa.nulls(1, pa.int64())), LISTED_FILES)
