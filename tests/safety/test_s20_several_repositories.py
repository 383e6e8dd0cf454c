"""S1, S6, S20: contents of several repositories that share a place or an id are told apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices
from lakes_together import AGE, garbage, table
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core.services.parameters import SweepParameters

MONTH = timedelta(days=30)
HOUR = timedelta(hours=1)
A_WEEK = SweepParameters(dropped_after=timedelta(days=7))


@pytest.mark.parametrize("content_id", ["same", "another"])
def test_s20_the_last_repository_that_drops_a_table_decides_when_it_goes(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, content_id: str
) -> None:
    state = table(lake, "t", content_id="same")
    table(lake, "kept"), table(beside, "kept_too")
    beside.commit("main", put(replace(state.renamed("db.theirs").version, content_id=content_id)))
    lake.advance(AGE)
    together.collect()
    lake.commit("main", delete("db.t"))
    for _ in range(2):
        lake.advance(MONTH)
        together.collect("1")
    beside.commit("main", delete("db.theirs"))
    lake.advance(HOUR)
    together.collect("1", sweep=A_WEEK)
    assert state.needed <= lake.paths()
    lake.advance(timedelta(days=8))
    together.collect("1", sweep=A_WEEK)
    assert not state.needed & lake.paths()


def test_s20_the_last_of_two_contents_at_one_place_decides_when_it_goes(
    lake: MemoryLake, services: LakeServices
) -> None:
    state = table(lake, "t", content_id="one")
    table(lake, "kept")
    lake.commit("main", put(replace(state.renamed("db.again").version, content_id="two")))
    lake.advance(AGE)
    services.collect()
    lake.commit("main", delete("db.t"))
    for _ in range(2):
        lake.advance(MONTH)
        services.collect("1")
    lake.commit("main", delete("db.again"))
    lake.advance(HOUR)
    services.collect("1", sweep=A_WEEK)
    assert state.needed <= lake.paths()
    lake.advance(timedelta(days=8))
    services.collect("1", sweep=A_WEEK)
    assert not state.needed & lake.paths()


def test_s20_a_namesake_elsewhere_is_not_dropped_with_a_table_of_another_repository(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    table(lake, "mine", content_id="same"), table(lake, "kept")
    theirs = table(beside, "theirs", content_id="same")
    lake.advance(AGE)
    together.collect()
    lake.commit("main", delete("db.mine"))
    for sweep in (None, A_WEEK):
        lake.advance(MONTH)
        services.collect("1", sweep=sweep)  # without the other
    assert theirs.needed <= lake.paths()


def test_s20_a_namesake_that_was_dropped_lately_keeps_its_own_time(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine", content_id="same"), table(lake, "kept")
    theirs = table(beside, "theirs", content_id="same")
    table(beside, "kept_too")
    lake.advance(AGE)
    together.collect()
    lake.commit("main", delete("db.mine"))
    for _ in range(2):
        lake.advance(MONTH)
        together.collect("1")
    beside.commit("main", delete("db.theirs"))
    lake.advance(HOUR)
    together.collect("1", sweep=A_WEEK)
    assert theirs.needed <= lake.paths()


def test_s01_a_namesake_of_another_repository_is_not_swept_with_the_chosen_one(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices
) -> None:
    table(lake, "mine", content_id="same"), table(beside, "theirs", content_id="same")
    dead = garbage(lake, "theirs")
    lake.advance(AGE)
    services.together_with(beside, chosen=True).collect()
    assert dead in lake.paths()


@pytest.mark.parametrize("content_id", ["same", "another"])
def test_s06_the_place_of_a_namesake_says_nothing_of_a_content_that_cannot_be_read(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, content_id: str
) -> None:
    table(lake, "big")
    mine = lake.table("db.mine", location="memory://wh/db/big/inner", content_id="same").append("a.parquet")
    lake.objects.delete(mine.metadata_location)
    lost = replace(mine.version, metadata_location="memory://wh/meta/mine/metadata/lost.json")
    lake.commit("main", put(lost))
    table(beside, "theirs", content_id=content_id)
    lake.advance(AGE)
    together.collect()
    assert "memory://wh/db/big/inner/data/a.parquet" in lake.paths()
