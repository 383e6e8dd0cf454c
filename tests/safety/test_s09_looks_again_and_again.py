"""S9: what one look at the references finds live stays spared when a later look finds something else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters

TABLES = 6


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("looks", [(0, 1), (0, 2), (1, 3), (0, 4)])
def test_s09_what_two_looks_find_is_spared(
    lake: MemoryLake, services: LakeServices, looks: tuple[int, int], *, deferred: bool
) -> None:
    old = [
        lake.table(f"db.t{number}", location=f"memory://wh/db/t{number}").append("old.parquet") for number in range(6)
    ]
    lake.commit("main", *(put(state.version) for state in old))
    head = lake.commit("main", *(put(state.overwrite("new.parquet").version) for state in old))
    lake.branch("dev", head)
    lake.advance(timedelta(days=3))
    often = SweepParameters(recheck_interval=timedelta(0), files_per_step=1)
    to_put = {looks[0]: ("dev", old[5]), looks[1]: ("main", old[4])}
    needed: set[str] = set()

    def commit_meanwhile(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done in to_put:
            branch, state = to_put.pop(done)
            lake.commit(branch, put(state.renamed(f"{state.key}-again").version))
            needed.update(state.needed & lake.paths())

    live_set = services.mark("1")
    if deferred:
        services.sweep(live_set, SweepParameters(defer_deletes=True))
        report = services.delete_deferred(live_set, often, progress=commit_meanwhile)
    else:
        report = services.sweep(live_set, often, progress=commit_meanwhile)

    assert {} == to_put
    assert needed <= lake.paths()
    spared, deleted = (report.outcomes[outcome].files for outcome in (Outcome.SPARED, Outcome.DELETED))
    assert (report.unreferenced.files, True, True) == (spared + deleted, spared > 0, deleted > 0)
