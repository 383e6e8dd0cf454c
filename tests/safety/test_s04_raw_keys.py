"""S4: keys survive listing, comparing, storing and deleting as they are."""

from __future__ import annotations

from datetime import timedelta

from collected_scenes import CollectedScenes
from collecting import LakeServices
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nessie_gc_memory import MemoryLake, put
from scenes import ODD_DEAD, ODD_DECODED, ODD_LIVE

from nessie_gc_core.services.parameters import SweepParameters


def test_s04_odd_names_that_are_needed_stay(collected: CollectedScenes) -> None:
    result = collected.result("odd_names")
    assert {result.scene.path(f"db/t/data/{name}") for name in ODD_LIVE} <= result.stored


def test_s04_odd_names_that_are_not_needed_go(collected: CollectedScenes) -> None:
    result = collected.result("odd_names")
    assert {result.scene.path(f"db/t/data/{name}") for name in ODD_DEAD} <= result.gone
    assert not result.gone & result.stored


keys = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30).filter(
    lambda key: not key.endswith("/")
)


@given(live=st.sets(keys, max_size=8), dead=st.sets(keys, max_size=8))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_s04_any_key_is_compared_as_raw_text(
    lake: MemoryLake, services: LakeServices, live: set[str], dead: set[str]
) -> None:
    location = f"memory://wh/db/t{lake.next_number()}"
    table = lake.table(f"db.{location[-4:]}", location=location, content_id=location)
    table = table.append(*(f"{location}/data/{key}" for key in live))
    lake.commit("main", put(table.version))
    for key in dead - live:
        lake.put(f"{location}/data/{key}")
    lake.advance(timedelta(days=3))
    services.collect("1")
    left = {path for path, _ in lake.objects.below(f"{location}/data/")}
    assert {f"{location}/data/{key}" for key in live} == left


def test_s04_keys_survive_being_recorded_for_later(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append(*ODD_LIVE)
    lake.commit("main", put(table.version))
    dead = {
        lake.put(f"memory://wh/db/t/data/{name}")
        for name in (*ODD_DEAD, *ODD_DECODED, "/slash", "a//b", "./c", "x/../y")
    }
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    assert dead <= lake.paths()
    services.delete_deferred(live_set)
    assert not dead & lake.paths()
    assert table.needed <= lake.paths()
