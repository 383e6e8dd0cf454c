"""The index gives what canonical paths give, whatever folders it remembers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules

ROOTS = ("s3://b/wh/t/", "s3://b/", "file:///wh/db/t/", "abfs://c/wh/", "hdfs:///wh/")
STARTS = ("s3://b", "s3a://b/wh", "s3://other", "file:///wh", "file:/wh/db", "/wh/db", "abfss://c@a/wh", "hdfs://nn/wh")
_elements = st.sampled_from(["t", "t2", "", ".", "..", "a b", "%2F", "x:y", "db", "#?", "ü"])
_paths = st.builds(lambda start, rest: "/".join([start, *rest]), st.sampled_from(STARTS), st.lists(_elements))


def _slowly(rules: LocationRules, raw: str) -> tuple[str, str] | None:
    canonical = rules.canonical(raw)
    inside = [root for root in sorted(ROOTS, key=len) if canonical.startswith(root)]
    return (inside[0], canonical[len(inside[0]) :]) if inside else None


@given(st.lists(_paths, min_size=1, max_size=6))
def test_an_index_finds_what_the_canonical_path_says(raw_paths: list[str]) -> None:
    rules = LocationRules()
    index = UnitIndex(ROOTS, rules)
    for raw in raw_paths:
        try:
            expected = _slowly(rules, raw)
        except UnknownLocationError:
            with pytest.raises(UnknownLocationError):
                index.find(raw)
        else:
            assert expected == index.find(raw)
