from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import allowed_locations, plan_units
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules

RULES = LocationRules()


def units(*locations: str) -> dict[str, tuple[str, ...]]:
    return {unit.root: unit.locations for unit in plan_units(locations, RULES, AllowedLocations()).units}


def test_locations_that_nest_become_one_unit() -> None:
    assert {"s3://b/db/t/": ("s3://b/db/t/",)} == units("s3://b/db/t", "s3a://b/db/t/inner", "s3n://b/db/t/")


def test_locations_whose_names_begin_alike_stay_apart() -> None:
    assert {"s3://b/db/t/", "s3://b/db/t2/"} == set(units("s3://b/db/t", "s3://b/db/t2"))


def test_authorities_that_may_be_different_stores_are_both_listed() -> None:
    one, other = "abfss://c@one.dfs.core.windows.net/db/t", "abfss://c@two.dfs.core.windows.net/db/t"
    assert {"abfs://c/db/t/": (f"{one}/", f"{other}/")} == units(one, other)


def test_one_store_is_listed_in_one_spelling() -> None:
    assert {"file:///a/b/c/t/": ("/a/b/c/t/",)} == units("file:///a/b/c/t", "file://localhost/a/b/c/t", "/a/b/c/t")
    aliased = LocationRules(authority_aliases={"point": "b"})
    plan = plan_units(["s3a://point/db/t", "s3://b/db/t", "s3://point/db/t/inner"], aliased, AllowedLocations())
    assert [("s3://b/db/t/", ("s3://b/db/t/",))] == [(unit.root, unit.locations) for unit in plan.units]
    plan = plan_units(["s3://point/db/t", "s3://b/db/t/inner"], aliased, AllowedLocations())
    assert [("s3://b/db/t/", ("s3://point/db/t/",))] == [(unit.root, unit.locations) for unit in plan.units]


def test_what_is_not_known_or_not_allowed_has_a_reason() -> None:
    plan = plan_units(["warp://b/t", "s3://b/t", "s3://b/db/t"], RULES, AllowedLocations())
    assert (["warp://b/t"], ["s3://b/t"]) == (list(plan.unknown), list(plan.refused))
    assert ("s3://b/db/t/",) == plan.roots


@pytest.mark.parametrize(
    ("allowed", "location", "refused"),
    [
        (AllowedLocations(), "s3://b/a/", True),
        (AllowedLocations(), "s3://b/a/t/", False),
        (AllowedLocations(), "s3://b/a/././", True),
        (AllowedLocations(), "file:///a/b/", True),
        (AllowedLocations(), "file:///a/b/c/", False),
        (AllowedLocations(min_depth=4), "s3://b/a/b/c/", True),
        (AllowedLocations(min_depth=0), "s3://b/", False),
        (AllowedLocations(prefixes=("s3://b/wh/",)), "s3://b/wh/", False),
        (AllowedLocations(prefixes=("s3://b/wh/",)), "s3://b/wh2/t/", True),
        (AllowedLocations(prefixes=("s3://b/wh/",)), "s3://c/wh/t/", True),
        (AllowedLocations(prefixes=("s3://b/wh/",), min_depth=3), "s3://b/wh/t/", True),
    ],
)
def test_the_allow_list_and_the_depth_decide(allowed: AllowedLocations, location: str, refused: bool) -> None:
    assert refused == (allowed.refusal(location) is not None)


@pytest.mark.parametrize(
    ("allowed", "location", "refused"),
    [
        ("abfss://c@mine.dfs.core.windows.net/wh", "abfss://c@theirs.dfs.core.windows.net/wh/t", True),
        ("abfss://c@mine.dfs.core.windows.net/wh", "wasbs://c@mine.blob.core.windows.net/wh/t", False),
        ("abfss://c@mine.dfs.core.windows.net/wh", "abfs://c/wh/t", False),
        ("abfs://c/wh", "abfss://c@theirs.dfs.core.windows.net/wh/t", False),
        ("hdfs://one:8020/wh", "hdfs://two:8020/wh/t", True),
        ("hdfs://one:8020/wh", "hdfs:///wh/t", False),
        ("s3a://b/wh", "s3://b/wh/t", False),
        ("s3a://b/wh", "s3://c/wh/t", True),
    ],
)
def test_an_allowed_warehouse_allows_no_other_account(allowed: str, location: str, refused: bool) -> None:
    plan = plan_units([location], RULES, allowed_locations([allowed], RULES))
    assert refused == (location in plan.refused)
    assert refused != bool(plan.units)


@pytest.mark.parametrize(
    ("prefix", "left"),
    [
        ("s3://b/db/t/", {"s3://b/db/t2/"}),
        ("s3://b/db/t/inner/", {"s3://b/db/t2/"}),
        ("s3://b/db/", set()),
        ("s3://b/db/t3/", {"s3://b/db/t/", "s3://b/db/t2/"}),
    ],
)
def test_freezing_takes_out_every_unit_that_overlaps(prefix: str, left: set[str]) -> None:
    plan = plan_units(["s3://b/db/t", "s3://b/db/t2"], RULES, AllowedLocations())
    plan.freeze([prefix], "broken")
    assert left == set(plan.roots)
    assert dict.fromkeys({"s3://b/db/t/", "s3://b/db/t2/"} - left, "broken") == plan.unknown


def test_freezing_everything_takes_out_everything() -> None:
    plan = plan_units(["s3://b/db/t", "s3://b/db/t2"], RULES, AllowedLocations())
    plan.freeze_all("strict")
    assert () == plan.roots
    assert "strict" == plan.why("s3://b/db/t/")


names = st.text("ab/%. ü", max_size=6)


@given(st.sets(st.lists(st.sampled_from(["a", "ab", "b"]), min_size=1, max_size=3).map("/".join), max_size=5), names)
def test_a_path_is_found_in_the_unit_that_holds_it(places: set[str], name: str) -> None:
    plan = plan_units([f"s3://bucket/{place}" for place in places], RULES, AllowedLocations(min_depth=0))
    index = UnitIndex(plan.roots, RULES)
    for place in places | {"other"}:
        path = f"s3://bucket/{place}/{name}"
        found = index.find("s3a" + path.removeprefix("s3"))
        holding = [root for root in plan.roots if RULES.canonical(path).startswith(root)]
        assert (holding == []) == (found is None)
        if found is not None:
            assert RULES.canonical(path) == "".join(found)
            assert holding == [found[0]]


def test_a_path_that_cannot_be_compared_is_an_error() -> None:
    with pytest.raises(UnknownLocationError):
        UnitIndex(["s3://b/db/t/"], RULES).find("warp://b/db/t/x")
