"""S15: a file whose move was interrupted stays where it is, and is never said to be purged or restored."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, held, look, named, purge, restore, there, with_garbage
from killing import Killer
from nessie_gc_memory import MemoryLake

from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.quarantine.places import held_in

HOLD = SweepParameters(quarantine=["memory://wh/.quarantine/"])
MONTH = timedelta(days=31)
LAST = "data/dead-2.parquet"
POINTS = range(12)
"""After so many changes a run is killed, if it makes as many."""


@pytest.fixture
def killer(lake: MemoryLake, services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> Killer:
    """After a sweep that was killed before it recorded what it had moved; it had copied the last file only."""
    with_garbage(lake)
    services.sweep(services.mark(), HOLD)
    held_in(services.store).put_held_files([replace(file, state=HeldState.MOVING) for file in held(services)])
    lake.put(max(DEAD), b"its original")
    lake.advance(MONTH)
    look(services)
    return Killer(lake, services, monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "outcomes.jsonl"


@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_purge_does_not_forget_that_a_file_may_be_at_its_path(
    lake: MemoryLake, killer: Killer, services: LakeServices, file: Path, after: int
) -> None:
    moved = sorted(each.path for each in held(services))[:-1]
    killer.kills(lambda: purge(services, outcomes_to=str(file)), after)
    purge(services, outcomes_to=str(file))
    assert [*((path, "purged") for path in moved), (LAST, "unmoved")] == named(file)
    assert {max(DEAD)} == there(lake).keys()
    assert [] == held(services)


@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_restore_does_not_forget_that_a_file_was_never_moved(
    lake: MemoryLake, killer: Killer, services: LakeServices, file: Path, after: int
) -> None:
    moved = sorted(each.path for each in held(services))[:-1]
    killer.kills(lambda: restore(services, everything=True, outcomes_to=str(file)), after)
    restore(services, everything=True, outcomes_to=str(file))
    assert [*((path, "restored") for path in moved), (LAST, "unmoved")] == (named(file))
    assert DEAD == there(lake).keys()
