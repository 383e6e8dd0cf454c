"""S12: reference patterns match the whole name."""

from __future__ import annotations

import pytest
from collected_scenes import Merged
from scenes import NOW

from nessie_gc_core.model.policies import ReferencePolicies


def test_s12_a_pattern_does_not_reach_references_whose_names_begin_or_end_alike(merged: Merged) -> None:
    result = merged.result("whole_names")
    gone = {path.split("/")[-3] for path in result.gone if path.endswith("/a.parquet")}
    assert {"main-archive", "my-main"} == gone


@pytest.mark.parametrize("name", ["main-archive", "my-main", "dev2", "main\n", "Main", "x/main", "main/x", ""])
def test_s12_an_alternative_is_a_whole_name(name: str) -> None:
    policies = ReferencePolicies.parse("NONE", ["main|dev=1"], reference_time=NOW)
    assert "NONE" == policies.for_reference(name).text


def test_s12_the_first_pattern_that_matches_wins() -> None:
    policies = ReferencePolicies.parse("NONE", ["ma.*=3", "main=1"], reference_time=NOW)
    assert "3" == policies.for_reference("main").text
