"""Names of files, alike for all spellings; and which files that are in no unit were not looked for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.namesakes import NOWHERE, OutsideFiles, folded_names
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM

_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=12)


def folded(*paths: str) -> list[str]:
    found: list[str] = folded_names(pa.array(paths, pa.string())).to_pylist()
    return found


@pytest.mark.parametrize(
    "same",
    [
        ("s3://b/t/X.parquet", "file:///wh/x.parquet", "/x.PARQUET", "x.parquet"),
        ("s3://b/a b+c.parquet", "s3://b/a%20b%2Bc.parquet", "s3://b/a+b+c.parquet", "s3://b/a%2520b%252Bc.parquet"),
        ("s3://b/t%2Fx", "s3://b/t/x", "abfs://c/t\\x", "s3://b/x/"),
        ("s3://b/\u00c9.parquet", "s3://b/e\u0301.parquet", "s3://b/%C3%A9.parquet"),
        ("s3://b/100%", "s3://b/100%25"),
    ],
)
def test_spellings_of_one_name_are_alike(same: tuple[str, ...]) -> None:
    assert 1 == len({*folded(*same)})


def test_other_names_are_not() -> None:
    paths = ("s3://b/x.parquet", "s3://b/y.parquet", "s3://b/x.parquet.old", "s3://b/xx.parquet")
    assert len(paths) == len({*folded(*paths)})


@given(st.lists(_NAMES, min_size=1, max_size=5))
def test_a_name_is_the_same_alone_and_among_odd_ones(names: list[str]) -> None:
    assert [folded(f"s3://b/{name}")[0] for name in names] == folded(*(f"s3://b/{name}" for name in names))


def test_only_files_in_no_known_place_were_not_looked_for() -> None:
    known = UnitIndex(["s3://b/elsewhere/"], LocationRules())
    kinds = {
        "s3://b/elsewhere/x": "DATA",
        "s3a://b//elsewhere/y": "DATA",
        "s3://c/elsewhere/x": "DATA",
        "warp://b/x": PROBLEM,
        "s3://b/swept/unreadable.avro": PROBLEM,
    }
    rows = to_batches([(path, kind, "T", *[None] * 5) for path, kind in kinds.items()], EXPANDED_FILES)
    found = [row for batch in OutsideFiles(known)(rows) for row in to_texts(batch, "unit", "key", "path")]
    assert [(NOWHERE, path, path) for path in ("s3://c/elsewhere/x", "warp://b/x")] == found
