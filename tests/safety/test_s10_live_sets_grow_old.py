"""S10: a live set older than its limit is refused by sweep and by deferred deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.parameters import SweepParameters


@pytest.fixture
def dead(lake: MemoryLake) -> str:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    path = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    return path


@pytest.mark.parametrize("mode", list(DeleteMode))
def test_s10_a_live_set_of_more_than_seven_days_is_refused(
    lake: MemoryLake, services: LakeServices, dead: str, mode: DeleteMode
) -> None:
    live_set = services.mark("1")
    lake.advance(timedelta(days=7, seconds=1))
    with pytest.raises(SafetyError, match="`max_live_set_age`"):
        services.sweep(
            live_set, SweepParameters(dry_run=mode is DeleteMode.DRY_RUN, defer_deletes=mode is DeleteMode.DEFER)
        )
    assert dead in lake.paths()


def test_s10_the_limit_can_be_set(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    live_set = services.mark("1")
    lake.advance(timedelta(days=20))
    limit = SweepParameters(max_live_set_age=timedelta(days=19))
    with pytest.raises(SafetyError, match="mark again"):
        services.sweep(live_set, limit)
    services.sweep(live_set, SweepParameters(max_live_set_age=timedelta(days=21)))
    assert dead not in lake.paths()


def test_s10_deferred_deletion_of_an_old_live_set_is_refused(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.advance(timedelta(days=8))
    with pytest.raises(SafetyError, match="`max_live_set_age`"):
        services.delete_deferred(live_set)
    assert dead in lake.paths()


def test_s10_a_sweep_is_not_resumed_after_the_limit(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    live_set = services.mark("1")
    services.store.start_expire(live_set, at=lake.time)
    lake.advance(timedelta(days=8))
    with pytest.raises(SafetyError, match="mark again"):
        services.sweep(live_set, SweepParameters(resume=True))
    assert dead in lake.paths()


def test_s10_a_live_set_of_another_repository_is_refused(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    from dataclasses import replace

    from nessie_gc_memory import MemoryRepository

    live_set = services.mark("1")
    other = replace(services, repository=MemoryRepository.from_options({"lake": "another"}))
    with pytest.raises(SafetyError, match="memory:another"):
        other.sweep(live_set)
    assert dead in lake.paths()
