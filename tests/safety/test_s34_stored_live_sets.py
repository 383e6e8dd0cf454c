"""S34: a live set that is not as it was marked, row by row, deletes nothing; nor do its deferred deletions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from collecting import LakeServices, in_memory
from lakes_together import garbage, table
from nessie_gc_memory import MemoryLake
from read_in_parts import CountingStore, Distributed, StoreInParts, read_in_parts

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import SafetyError, StoreError
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters

DAY = timedelta(days=1)
Versions = dict[object, ContentVersion]


@pytest.fixture(params=["driver", "workers"])
def kept(request: pytest.FixtureRequest, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch) -> Iterator[LakeServices]:
    """Services of a lake with three tables, whose live sets the driver reads, or workers in parts."""
    by_driver = request.param == "driver"
    monkeypatch.setattr("nessie_gc_memory.store.utc_now", lambda: lake.time)
    store = (CountingStore if by_driver else StoreInParts).from_options({"store": lake.name})
    for name in ("a", "b", "c"):
        table(lake, name, content_id=name)
    lake.advance(3 * DAY)
    with in_memory(lake, LocalEngine(workers=2) if by_driver else Distributed(workers=2)) as services:
        if not by_driver:
            read_in_parts(monkeypatch)
        yield replace(services, store=store)


def rows(services: LakeServices, live_set_id: UUID) -> Versions:
    """The versions as the store holds them."""
    return services.store._data.live_sets[live_set_id].versions  # type: ignore[attr-defined]


def lose(found: Versions) -> None:
    found.popitem()


def double(found: Versions) -> None:
    key, version = next(iter(found.items()))
    found["again", key] = version


def swap(found: Versions) -> None:
    lose(found)
    double(found)


def point_elsewhere(found: Versions) -> None:
    key, version = found.popitem()
    found[key] = replace(version, snapshot_id=7)


def forget_the_time(found: Versions) -> None:
    key, version = found.popitem()
    found[key] = replace(version, commit_time=None)


DAMAGES = (lose, double, swap, point_elsewhere, forget_the_time)


@pytest.mark.parametrize("damage", DAMAGES)
def test_s34_a_live_set_that_changed_since_its_mark_deletes_nothing(
    lake: MemoryLake, kept: LakeServices, damage: Callable[[Versions], None]
) -> None:
    dead = garbage(lake, "a")
    lake.advance(3 * DAY)
    live_set = kept.mark("1")
    damage(rows(kept, live_set))
    before = lake.paths()
    with pytest.raises(SafetyError, match=f"{live_set}, not the 3 that were marked.*: mark again"):
        kept.sweep(live_set)
    assert before == lake.paths()
    kept.collect("1")
    assert before - {dead} == lake.paths()


def test_s34_each_of_several_live_sets_is_held_to_its_own_digest(
    lake: MemoryLake, beside: MemoryLake, kept: LakeServices
) -> None:
    table(beside, "theirs")
    together = kept.together_with(beside)
    lake.advance(3 * DAY)
    first = together.mark("1")
    other = next(each.id for each in kept.store.live_sets() if each.id != first)
    rows(kept, other).popitem()
    with pytest.raises(SafetyError, match=f"{other}, not the 1 that"):
        together.sweep(first)
    assert 0 == together.collect("1").exit_code


def test_s34_a_live_set_of_an_earlier_release_is_swept_as_ever(lake: MemoryLake, kept: LakeServices) -> None:
    dead = garbage(lake, "a")
    lake.advance(3 * DAY)
    live_set = kept.mark("1")
    row = kept.store._data.live_sets[live_set]  # type: ignore[attr-defined]
    row.live_set = replace(row.live_set, versions=None)
    kept.sweep(live_set)
    assert dead not in lake.paths()


class LosesWhatItTakes(CountingStore):
    """Says that rows are new, and drops one."""

    def add_content_versions(self, live_set_id, versions):
        some = list(versions)
        return super().add_content_versions(live_set_id, some[1:]) + 1


def test_s34_a_mark_fails_whose_rows_the_store_does_not_have(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "a"), table(lake, "b")
    store = LosesWhatItTakes.from_options({})
    with pytest.raises(StoreError, match=r"took 2 content versions .* has 1"):
        replace(services, store=store).mark("1")


class ChangesWhatItTakes(CountingStore):
    """Keeps another snapshot than it was given."""

    def add_content_versions(self, live_set_id, versions):
        return super().add_content_versions(live_set_id, [replace(each, snapshot_id=None) for each in versions])


def test_s34_what_counts_is_what_the_store_was_given(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "a"), table(lake, "b")
    changing = replace(services, store=ChangesWhatItTakes.from_options({}))
    live_set = changing.mark("1")
    with pytest.raises(SafetyError, match="changed some"):
        changing.sweep(live_set)


# ---- deferred deletions -------------------------------------------------------------------------------
Deletions = dict[tuple[str, str], FileDeletion]


def lose_one(found: Deletions) -> None:
    found.popitem()


def point_at_a_live_file(found: Deletions) -> None:
    key, deletion = found.popitem()
    found[key] = replace(deletion, path="data/a.parquet")


@pytest.mark.parametrize("damage", [lose_one, point_at_a_live_file])
def test_s34_deferred_deletions_that_changed_since_are_not_run(
    lake: MemoryLake, services: LakeServices, damage: Callable[[Deletions], None]
) -> None:
    state = table(lake, "a")
    garbage(lake, "a"), lake.put("memory://wh/db/a/data/nobody-2.parquet")
    lake.advance(3 * DAY)
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    damage(services.store._data.live_sets[live_set].deletions)  # type: ignore[attr-defined]
    before = lake.paths()
    with pytest.raises(SafetyError, match=f"deferred deletions of live set {live_set}, not the 2"):
        services.delete_deferred(live_set)
    assert before == lake.paths()
    assert state.needed <= lake.paths()


def test_s34_deletions_that_were_run_are_not_missed(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "a")
    dead = [garbage(lake, "a"), lake.put("memory://wh/db/a/data/nobody-2.parquet")]
    lake.advance(3 * DAY)
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.faults.deleting[dead[0]] = "access denied"
    assert services.delete_deferred(live_set).outcomes[Outcome.DELETED].files == 1
    lake.faults.deleting.clear()
    assert services.delete_deferred(live_set).outcomes[Outcome.DELETED].files == 1
    assert services.delete_deferred(live_set).outcomes[Outcome.DELETED].files == 0
