"""Live sets are deleted only while nobody works with them, and deferred deletions only by an explicit word."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from collecting import LakeServices
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import LeaseHeldError, LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.stored_live_sets import LiveSetService

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    with lake_at(START) as lake:
        table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
        lake.commit("main", put(table.version))
        for number in range(3):
            lake.put(f"memory://wh/db/t/data/dead-{number}.parquet")
        lake.advance(timedelta(days=3))
        yield lake


@pytest.fixture
def service(services: LakeServices) -> LiveSetService:
    return LiveSetService(services.store)


def deferred(services: LakeServices) -> UUID:
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    return live_set


def test_a_live_set_is_not_deleted_while_it_is_swept(
    lake: MemoryLake, services: LakeServices, service: LiveSetService
) -> None:
    live_set = services.mark("1")
    refused: list[str] = []

    def delete_it(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and not refused:
            with pytest.raises(LeaseHeldError) as raised:
                service.delete(live_set)
            refused.append(str(raised.value))

    report = services.sweep(live_set, progress=delete_it)
    assert f"live set {live_set} (EXPIRY_IN_PROGRESS) may be in use, so it was not deleted" in refused[0]
    assert LiveSetStatus.EXPIRY_SUCCESS is services.store.get(live_set).status
    assert report.unreferenced.files == report.outcomes[Outcome.DELETED].files > 0


def test_a_live_set_is_not_deleted_while_a_dry_run_or_deferred_deletions_use_it(
    services: LakeServices, service: LiveSetService
) -> None:
    live_set = services.mark("1")
    refused: list[str] = []

    def delete_it(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done != total:
            with pytest.raises(LeaseHeldError) as raised:
                service.delete(live_set, discard_deferred=True)
            refused.append(str(raised.value))

    services.sweep(live_set, SweepParameters(dry_run=True), progress=delete_it)
    while_dry = len(refused)
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    services.delete_deferred(live_set, progress=delete_it)
    assert 0 < while_dry < len(refused)


def test_a_live_set_that_nobody_sweeps_any_more_can_be_deleted(services: LakeServices, service: LiveSetService) -> None:
    live_set = services.mark("1")
    services.store.start_expire(live_set, at=services.clock())
    assert LiveSetStatus.EXPIRY_IN_PROGRESS is service.delete(live_set).status
    with pytest.raises(LiveSetNotFoundError):
        services.store.get(live_set)


def test_the_lease_is_given_back(services: LakeServices, service: LiveSetService) -> None:
    service.delete(services.mark("1"))
    assert 0 == services.collect("1").exit_code


def test_deferred_deletions_are_named_and_need_a_word(services: LakeServices, service: LiveSetService) -> None:
    live_set = deferred(services)
    pending = list(services.store.file_deletions(live_set))
    with pytest.raises(LiveSetStateError) as raised:
        service.delete(live_set)
    assert f"has {len(pending)} deferred deletions" in str(raised.value)
    assert f"`deferred_deletes(live_set_id={live_set})`" in str(raised.value)
    assert "`discard_deferred`" in str(raised.value)
    assert pending == list(services.store.file_deletions(live_set))
    service.delete(live_set, discard_deferred=True)
    with pytest.raises(LiveSetNotFoundError):
        services.store.get(live_set)


def test_a_live_set_whose_deferred_deletions_are_run_needs_no_word(
    services: LakeServices, service: LiveSetService
) -> None:
    live_set = deferred(services)
    services.delete_deferred(live_set)
    assert live_set == service.delete(live_set).id


def test_a_finished_live_set_is_deleted_while_another_one_is_swept(
    services: LakeServices, service: LiveSetService
) -> None:
    old = services.mark("1")
    services.sweep(old)
    new = services.mark("1")
    deleted: list[UUID] = []

    def delete_old(phase: str, done: int, total: int | None) -> None:
        if not deleted:
            deleted.append(service.delete(old).id)

    services.sweep(new, progress=delete_old)
    assert [old] == deleted
    assert [new] == [live_set.id for live_set in services.store.live_sets()]


def test_a_live_set_that_a_killed_mark_left_behind_can_be_deleted(
    services: LakeServices, service: LiveSetService
) -> None:
    killed = uuid.uuid4()
    services.store.start_identify(
        killed, repository=services.repository.identity(), created=services.clock(), policies=["NONE"]
    )
    assert LiveSetStatus.IDENTIFY_IN_PROGRESS is service.delete(killed).status
    with pytest.raises(LiveSetNotFoundError):
        services.store.get(killed)


def test_a_live_set_that_a_killed_mark_left_behind_stays_while_its_repository_is_swept(
    services: LakeServices, service: LiveSetService
) -> None:
    killed, swept = uuid.uuid4(), services.mark("1")
    services.store.start_identify(
        killed, repository=services.repository.identity(), created=services.clock(), policies=["NONE"]
    )
    refused: list[str] = []

    def delete_it(phase: str, done: int, total: int | None) -> None:
        with pytest.raises(LeaseHeldError) as raised:
            service.delete(killed)
        refused.append(str(raised.value))

    services.sweep(swept, progress=delete_it)
    assert f"live set {killed} (IDENTIFY_IN_PROGRESS) may be in use, so it was not deleted" in refused[0]


def test_a_mark_whose_live_set_is_deleted_ends_with_an_error(
    lake: MemoryLake, services: LakeServices, service: LiveSetService
) -> None:
    def delete_it() -> datetime:
        for live_set in services.store.live_sets():
            service.delete(live_set.id)
        return lake.time

    with pytest.raises(LiveSetNotFoundError):
        replace(services, clock=delete_it).mark("1")
    assert [] == list(services.store.live_sets())
