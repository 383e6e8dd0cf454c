"""S1, S6, S20: several repositories over one storage are marked and swept together, or what they need is not known."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, on_disk
from lakes_by_hand import LakeBeside
from lakes_together import AGE, DOWN, garbage, table
from nessie_gc_memory import MemoryLake, MemoryRepository, delete, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import (
    ConfigurationError,
    LeaseHeldError,
    LiveSetStateError,
    SafetyError,
    ServiceUnavailableError,
)
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.live_sets import LiveSetStatus, marked_with
from nessie_gc_core.model.repository import Reference
from nessie_gc_core.services.assets.parameters import FindParameters
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.records import RecordsService
from nessie_gc_core.services.stored_live_sets import LiveSetService
from nessie_gc_core.services.what_if import WhatIfService

MINUTE = timedelta(minutes=1)


# ---- what another needs stays ---------------------------------------------------------------------------
@pytest.mark.parametrize("location", ["memory://wh/db/t", "memory://wh/db/t/inner", "memory://wh/db"])
def test_s01_what_another_repository_needs_stays_where_their_locations_nest(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices, location: str
) -> None:
    mine, theirs = table(lake, "t"), table(beside, "theirs", location=location)
    dead = garbage(lake, "t")
    lake.advance(AGE)
    report = together.collect()
    assert mine.needed | theirs.needed == lake.paths()
    assert (1, {}, 0) == (report.outcomes[Outcome.DELETED].files, report.unknown, report.exit_code)
    assert dead not in lake.paths()


def test_s01_one_sweep_is_of_all_repositories_on_both_engines(engine: Engine, lake: MemoryLake, tmp_path: Path) -> None:
    beside = LakeBeside(lake)
    mine, theirs = table(lake, "mine"), table(beside, "theirs", location="memory://wh/db/mine/inner")
    for name in ("mine", "mine/inner", "precious"):
        garbage(lake, name)
    lake.advance(AGE)
    services = on_disk(lake, tmp_path, engine)
    history = beside.write_to(tmp_path / "beside")
    text = history.read_text().replace(str(tmp_path / "beside"), str(tmp_path))
    history.write_text(text)
    other = MemoryRepository.from_options({"history_file": str(history)})
    report = replace(services, others=(other,)).collect()
    here = lambda path: tmp_path / path.removeprefix("memory://")  # noqa: E731 - short
    assert all(here(path).exists() for path in mine.needed | theirs.needed)
    assert [False, False, True] == [
        here(f"memory://wh/db/{name}/data/nobody.parquet").exists() for name in ("mine", "mine/inner", "precious")
    ]
    assert (2, {}, 0) == (report.outcomes[Outcome.DELETED].files, report.unknown, report.exit_code)


def test_s01_each_repository_has_a_live_set_of_its_own_and_the_report_names_them(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    lake.advance(AGE)
    report = together.collect()
    first = uuid.UUID(report.live_set_id)
    ids = [first, marked_with(first, f"memory:{beside.name}")]
    assert [str(id_) for id_ in ids] == [each.live_set_id for each in report.repositories]
    found = [together.store.get(id_) for id_ in ids]
    assert [f"memory:{lake.name}", f"memory:{beside.name}"] == [each.repository for each in found]
    assert [LiveSetStatus.EXPIRY_SUCCESS] * 2 == [each.status for each in found]
    assert (2, 2, 2) == (report.references, report.contents, report.content_versions)


def test_s20_what_one_repository_dropped_stays_while_another_has_it(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    state = table(lake, "t")
    beside.commit("main", put(state.renamed("db.kept").version))
    lake.advance(AGE)
    together.collect()
    lake.commit("main", delete("db.t"))
    lake.advance(timedelta(days=30))
    together.collect()
    lake.advance(timedelta(days=30))
    dead = garbage(lake, "t")
    lake.advance(AGE)
    together.collect("1", sweep=SweepParameters(dropped_after=timedelta(days=1)))
    assert state.needed == lake.paths()
    assert dead not in lake.paths()


def test_s20_what_no_repository_has_any_more_goes(lake: MemoryLake, beside: MemoryLake, together: LakeServices) -> None:
    kept, state = table(lake, "kept"), table(beside, "t")
    lake.advance(AGE)
    together.collect()
    lake.advance(timedelta(hours=1))
    beside.commit("main", delete("db.t"))
    lake.advance(timedelta(days=30))
    for _ in range(2):  # the metadata that shows where it was goes in a run of its own
        together.collect("1", sweep=SweepParameters(dropped_after=timedelta(days=1)))
    assert not state.needed & lake.paths()
    assert kept.needed <= lake.paths()


def test_s09_what_moves_in_another_repository_is_looked_at_before_anything_goes(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    mine = table(lake, "t")
    newly = mine.append("newly.parquet")
    beside.commit("main")
    dead = garbage(lake, "t")
    lake.advance(AGE)
    report = together.collect(between=lambda: beside.commit("main", put(newly.renamed("db.theirs").version)))
    assert newly.needed <= lake.paths()
    assert dead not in lake.paths()
    assert 1 == report.references_moved


def test_s07_what_was_deleted_together_is_tolerated_in_every_repository(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    first = table(beside, "t")
    second = first.overwrite("b.parquet")
    lake.advance(timedelta(hours=1))
    beside.commit("main", put(second.version))
    table(lake, "mine")
    lake.advance(AGE)
    together.collect("1")
    assert first.metadata_location not in lake.paths()
    report = together.collect("NONE")
    assert (1, {}, 0) == (report.tolerated_missing, report.unknown, report.exit_code)


def test_s07_what_one_repository_deleted_is_lost_to_another_that_needs_it(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    first = table(lake, "t")
    lake.advance(timedelta(hours=1))
    second = first.overwrite("b.parquet")
    lake.commit("main", put(second.version))
    beside.commit("main", put(first.version))
    lake.advance(timedelta(hours=1))
    beside.commit("main", put(second.version))
    lake.advance(AGE)
    services.collect("1")  # knows nothing of the other
    report = together.collect("NONE")
    assert 1 == report.tolerated_missing  # in the first, which deleted it
    assert {"memory://wh/db/t/"} == set(report.unknown)


def test_s10_a_live_set_of_another_repository_grows_old_as_well(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    live_set = together.mark()
    lake.advance(timedelta(days=8))
    with pytest.raises(SafetyError, match="mark again"):
        together.sweep(live_set)


# ---- one that cannot be read ----------------------------------------------------------------------------
def test_s06_one_that_cannot_be_read_keeps_all_that_it_ever_had(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    beside.commit("main", delete("db.theirs"))
    lake.advance(AGE)
    together.collect("NONE")
    lake.advance(timedelta(hours=1))
    together.collect("1")  # its newest live set does not have the table any more
    dead = {name: garbage(lake, name) for name in ("mine", "theirs")}
    lake.commit("main", put(lake.table("db.other", location="memory://wh/db/theirs").append("b.parquet").version))
    lake.advance(AGE)
    beside.faults.references = DOWN
    report = together.collect("1")
    assert dead["mine"] not in lake.paths()
    assert dead["theirs"] in lake.paths()
    assert "nobody answers" in report.unknown["memory://wh/db/theirs/"]
    reason = "its mark failed: ServiceUnavailableError: nobody answers"
    assert {f"memory:{beside.name}": reason} == report.unreadable
    assert [None, reason] == [each.unread for each in report.repositories]
    assert 1 == report.exit_code


def test_s06_one_that_was_only_marked_keeps_what_its_newest_live_set_needs(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    mine = table(lake, "mine")
    theirs = table(beside, "theirs", "memory://wh/db/mine/added.parquet")
    together.mark()
    dead = {name: garbage(lake, name) for name in ("mine", "theirs")}
    lake.advance(AGE)
    beside.faults.references = DOWN
    report = together.collect()
    assert mine.needed | theirs.needed | {dead["theirs"]} == lake.paths()
    assert 1 == report.exit_code


def test_s06_nothing_goes_beside_one_that_cannot_be_read_and_was_never_marked(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    dead = garbage(lake, "mine")
    lake.advance(AGE)
    beside.faults.references = DOWN
    with pytest.raises(SafetyError, match=f"memory:{beside.name} was never marked"):
        together.collect()
    assert dead in lake.paths()


def test_s06_the_first_one_that_cannot_be_read_stops_the_others_no_more_than_any_other(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    dead = {name: garbage(lake, name) for name in ("mine", "theirs")}
    lake.advance(AGE)
    lake.faults.references = DOWN
    together.collect()
    assert dead["mine"] in lake.paths()
    assert dead["theirs"] not in lake.paths()


def test_s06_why_the_first_one_cannot_be_read_is_told(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    lake.advance(AGE)
    lake.faults.references = DOWN
    report = together.collect()
    assert "nobody answers" in report.unreadable[f"memory:{lake.name}"]
    failed = [each for each in together.store.live_sets() if each.status is LiveSetStatus.IDENTIFY_FAILED]
    assert [f"memory:{lake.name}"] == [each.repository for each in failed]


def test_s10_what_is_known_of_one_that_cannot_be_read_grows_old(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    dead = garbage(lake, "mine")
    lake.advance(timedelta(days=8))
    beside.faults.references = DOWN
    with pytest.raises(SafetyError, match=f"of memory:{beside.name} is 8 d old"):
        together.collect()
    assert dead in lake.paths()


def test_s06_places_that_only_an_earlier_mark_saw_are_left_alone(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    mine = table(lake, "t")
    newly = mine.append("newly.parquet")
    table(beside, "theirs")
    beside.commit("main", put(newly.renamed("db.for_a_while").version))
    together.mark()
    lake.advance(timedelta(hours=1))
    beside.commit("main", delete("db.for_a_while"))
    lake.advance(AGE)
    together.mark("1")
    beside.commit("main", put(newly.renamed("db.for_a_while").version))
    beside.faults.references = DOWN
    together.collect("1")
    assert newly.needed <= lake.paths()


@pytest.mark.parametrize("deferred", [False, True])
def test_s09_one_that_answers_again_is_asked_before_anything_goes(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, deferred: bool
) -> None:
    mine = table(lake, "t")
    newly = mine.append("newly.parquet")
    table(beside, "theirs")
    together.mark()
    dead = garbage(lake, "t")
    lake.advance(AGE)
    beside.faults.references = DOWN
    live_set = together.mark()
    if deferred:
        together.sweep(live_set, SweepParameters(defer_deletes=True))
        lake.advance(timedelta(days=2))
    beside.commit("main", put(newly.renamed("db.newly").version))
    beside.faults.references = None
    (together.delete_deferred if deferred else together.sweep)(live_set)
    assert newly.needed <= lake.paths()
    assert dead not in lake.paths()


def test_s06_where_none_can_be_read_there_is_nothing_to_sweep(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    lake.faults.references = beside.faults.references = DOWN
    with pytest.raises(ServiceUnavailableError):
        together.collect()


def test_s06_one_that_stops_answering_during_the_sweep_ends_it(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    dead = garbage(lake, "mine")
    lake.advance(AGE)
    live_set = together.mark()
    beside.faults.references = DOWN
    with pytest.raises(ServiceUnavailableError):
        together.sweep(live_set)
    assert dead in lake.paths()
    beside.faults.references = None
    together.sweep(live_set, SweepParameters(resume=True))
    assert dead not in lake.paths()


def test_s06_one_that_was_not_marked_with_the_others_is_left_alone(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    dead = {name: garbage(lake, name) for name in ("mine", "theirs")}
    lake.advance(AGE)
    report = together.sweep(services.mark())
    assert dead["mine"] not in lake.paths()
    assert dead["theirs"] in lake.paths()
    assert {f"memory:{beside.name}": "it was not marked together with the others"} == report.unreadable


@pytest.mark.parametrize("around", ["memory://wh/db/around", "memory://wh//db/around"])
def test_s06_deferred_deletions_leave_one_alone_that_was_not_marked_with_the_others(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices, around: str
) -> None:
    table(lake, "mine"), table(lake, "around", location=around)
    theirs = table(beside, "theirs", location=f"{around}/inner")
    dead = garbage(lake, "mine")
    together.mark()
    lake.advance(AGE)
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))  # knows nothing of the other
    report = together.delete_deferred(live_set)
    assert theirs.needed <= lake.paths()
    assert dead not in lake.paths()
    assert "memory://wh/db/around/" in report.unknown


def test_s20_a_table_that_another_repository_dropped_lately_is_not_forgotten(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    old = lake.table("db.old", location="memory://wh/db/old").append("a.parquet")
    lake.advance(AGE)
    together.collect()
    lake.advance(timedelta(days=20))
    beside.commit("main", put(old.version))
    beside.commit("main", delete("db.old"))
    lake.advance(timedelta(days=1))
    rule = SweepParameters(dropped_after=timedelta(days=7), dropped_under=["memory://wh/"], allow=["memory://wh/"])
    together.collect("1", sweep=rule)
    assert old.needed <= lake.paths()
    lake.advance(timedelta(days=8))
    together.collect("1", sweep=rule)
    assert not (old.needed - {old.metadata_location}) & lake.paths()


def test_each_repository_has_a_register_of_its_own_contents(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    report = together.collect()
    found = {
        each.repository: (
            [seen.location for seen in together.store.seen_contents(each.repository)],
            [location for _, location in together.store.base_locations(uuid.UUID(each.live_set_id))],
        )
        for each in report.repositories
    }
    expected = {lake.name: "memory://wh/db/mine", beside.name: "memory://wh/db/theirs"}
    assert {f"memory:{name}": ([f"{place}/"], [place]) for name, place in expected.items()} == found


def test_s20_no_forgotten_tables_are_looked_for_beside_one_that_cannot_be_read(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    forgotten = lake.table("db.forgotten", location="memory://wh/db/forgotten").append("a.parquet")
    lake.advance(AGE)
    together.collect()
    lake.advance(timedelta(days=30))
    together.mark()
    rule = SweepParameters(dropped_after=timedelta(days=7), dropped_under=["memory://wh/"], allow=["memory://wh/"])
    beside.faults.references = DOWN
    report = together.collect(sweep=rule)
    assert forgotten.needed <= lake.paths()
    assert any(f"memory:{beside.name} cannot be read" in warning for warning in report.warnings)
    beside.faults.references = None
    together.collect(sweep=rule)
    assert not (forgotten.needed - {forgotten.metadata_location}) & lake.paths()


# ---- belonging together ---------------------------------------------------------------------------------
def test_s01_a_live_set_that_was_marked_together_is_not_swept_alone(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    live_set = together.mark()
    with pytest.raises(SafetyError, match=f"together with memory:{beside.name}"):
        services.sweep(live_set)


def test_s01_the_first_of_live_sets_that_were_marked_together_names_them(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    first = together.mark()
    with pytest.raises(SafetyError, match=f"use the first of them, {first}"):
        together.sweep(marked_with(first, f"memory:{beside.name}"))


def test_s01_those_that_were_marked_together_are_deleted_together(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    LiveSetService(together.store).delete(marked_with(together.mark(), f"memory:{beside.name}"))
    assert [] == list(together.store.live_sets())


def test_s01_and_not_while_one_of_them_has_deferred_deletions(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs"), garbage(lake, "mine")
    lake.advance(AGE)
    first = together.mark()
    together.sweep(first, SweepParameters(defer_deletes=True))
    with pytest.raises(LiveSetStateError, match=f"live set {first} has 1 deferred"):
        LiveSetService(together.store).delete(marked_with(first, f"memory:{beside.name}"))


def test_s01_records_are_not_moved_away_from_live_sets_that_were_marked_together(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    lake.advance(AGE)
    first, records = together.mark(), RecordsService(together.store)
    with pytest.raises(ConfigurationError, match="was marked together with others and is unfinished"):
        records.move(f"memory:{beside.name}", "memory:renamed", dry_run=False)
    together.sweep(first)
    assert 1 == records.move(f"memory:{beside.name}", "memory:renamed", dry_run=False).live_sets


@pytest.mark.parametrize("down", [0, 1])
def test_s01_nor_is_one_swept_alone_that_was_marked_while_another_could_not_be_read(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices, down: int
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    together.mark()
    (lake, beside)[down].faults.references = DOWN
    live_set = together.mark()
    up = (services.repository, *together.others)[1 - down]
    with pytest.raises(SafetyError, match=f"together with memory:{(lake, beside)[down].name}"):
        replace(services, repository=up).sweep(live_set)


def test_s01_nor_is_one_whose_first_was_deleted(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    first = together.mark()
    together.store.delete(first)
    theirs = replace(services, repository=together.others[0])
    with pytest.raises(SafetyError, match="the first of which was deleted"):
        theirs.sweep(marked_with(first, f"memory:{beside.name}"))


def test_s06_nothing_is_swept_while_another_repository_is_being_marked(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    refused: list[str] = []

    def references(reader: MemoryRepository) -> Iterator[Reference]:
        if reader.identity() == f"memory:{beside.name}":
            (ready,) = (each for each in together.store.live_sets() if each.status is LiveSetStatus.IDENTIFY_SUCCESS)
            with pytest.raises(SafetyError, match="is still being marked") as caught:
                together.sweep(ready.id)
            refused.append(str(caught.value))
        return iter(())

    monkeypatch.setattr(MemoryRepository, "references", references)
    together.mark()
    assert 1 == len(refused)


@pytest.mark.parametrize("which", ["mine", "theirs"])
def test_s15_whoever_collects_one_of_them_keeps_all_from_being_swept(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, which: str
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    live_set = together.mark()
    held, other = (f"memory:{each.name}" for each in ((lake, beside) if which == "mine" else (beside, lake)))
    with hold_lease(together.store, [held], MINUTE), pytest.raises(LeaseHeldError):
        together.sweep(live_set)
    assert together.store.lease(other) is None
    together.sweep(live_set)


def test_two_repositories_that_are_one_are_refused(lake: MemoryLake, services: LakeServices) -> None:
    with pytest.raises(ConfigurationError, match=r"two of the .* are the same"):
        services.together_with(lake).mark()


def test_s15_a_killed_sweep_of_several_is_resumed_with_one_id(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    dead = {garbage(lake, "mine"), garbage(lake, "theirs")}
    lake.advance(AGE)
    live_set = together.mark()
    lake.faults.deleting_dies = {min(dead): KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        together.sweep(live_set)
    lake.faults.deleting_dies = {}
    report = together.sweep(live_set, SweepParameters(resume=True))
    assert not dead & lake.paths()
    assert 2 == report.outcomes[Outcome.DELETED].files


@pytest.mark.parametrize("verb", ["start_expire", "finish_expire"])
def test_s15_a_sweep_that_is_killed_between_two_live_sets_is_resumed(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    dead = {garbage(lake, "mine"), garbage(lake, "theirs")}
    lake.advance(AGE)
    live_set, real, calls = together.mark(), getattr(together.store, verb), []

    def killed(id_: uuid.UUID, **more: Any) -> None:
        calls.append(id_)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(id_, **more)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(together.store, verb, killed)
        together.sweep(live_set)
    with pytest.raises(LiveSetStateError, match=f"resume=True, live_set_id={live_set}"):
        together.sweep(live_set)
    report = together.sweep(live_set, SweepParameters(resume=True))
    assert not dead & lake.paths()
    assert 2 == report.outcomes[Outcome.DELETED].files


def test_s15_deferred_deletions_of_several_are_checked_in_all(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    mine = table(lake, "t")
    newly = mine.append("newly.parquet")
    beside.commit("main")
    dead = garbage(lake, "t")
    lake.advance(AGE)
    live_set = together.mark()
    together.sweep(live_set, SweepParameters(defer_deletes=True))
    assert dead in lake.paths()
    beside.commit("main", put(newly.renamed("db.theirs").version))
    together.delete_deferred(live_set)
    assert newly.needed <= lake.paths()
    assert dead not in lake.paths()


# ---- one of them ----------------------------------------------------------------------------------------
def test_only_the_chosen_one_is_swept_and_what_the_others_need_stays(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices
) -> None:
    mine, theirs = table(lake, "mine"), table(beside, "theirs", "memory://wh/db/mine/added.parquet")
    dead = {name: garbage(lake, name) for name in ("mine", "theirs")}
    lake.advance(AGE)
    report = services.together_with(beside, chosen=True).collect()
    assert mine.needed | theirs.needed | {dead["theirs"]} == lake.paths()
    statuses = [services.store.get(uuid.UUID(each.live_set_id)).status for each in report.repositories]
    assert [LiveSetStatus.EXPIRY_SUCCESS, LiveSetStatus.IDENTIFY_SUCCESS] == statuses


def test_deferred_deletions_of_the_chosen_one_are_run(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    dead = garbage(lake, "mine")
    lake.advance(AGE)
    chosen = services.together_with(beside, chosen=True)
    live_set = chosen.mark()
    chosen.sweep(live_set, SweepParameters(defer_deletes=True))
    chosen.delete_deferred(live_set)
    assert dead not in lake.paths()


def test_a_live_set_of_one_is_not_for_work_on_another(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    other_way = replace(services, repository=together.others[0], others=(services.repository,), chosen=True)
    with pytest.raises(SafetyError, match=f"to work on memory:{beside.name} alone, mark again with it"):
        other_way.sweep(together.mark())


def test_a_chosen_one_that_cannot_be_read_is_an_error(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices
) -> None:
    table(lake, "mine"), table(beside, "theirs")
    chosen = services.together_with(beside, chosen=True)
    chosen.mark()
    lake.faults.references = DOWN
    with pytest.raises(ServiceUnavailableError):
        chosen.collect()


def test_a_service_of_one_repository_asks_which(together: LakeServices) -> None:
    with pytest.raises(ConfigurationError, match="choose one with `repository`"):
        WhatIfService(FindParameters()).run(together.run())
    assert [] == list(together.store.live_sets())
