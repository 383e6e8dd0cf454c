"""Rows are read from batches as what their columns hold."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest

from nessie_gc_core.model.batches import to_texts, to_tuples

BATCH = pa.RecordBatch.from_pydict({"key": ["a", "b"], "path": ["x/a", None], "size": [1, 2]})


class Sized(NamedTuple):
    size: int
    path: str | None


def test_texts_come_in_the_order_in_which_they_are_asked_for() -> None:
    assert [("x/a", "a")] == list(to_texts(BATCH.slice(0, 1), "path", "key"))


def test_a_row_that_lacks_a_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="rows have no path"):
        to_texts(BATCH, "key", "path")


def test_a_named_tuple_has_the_columns_that_its_fields_are_named_after() -> None:
    assert [Sized(size=1, path="x/a"), Sized(size=2, path=None)] == list(to_tuples(BATCH, Sized))
