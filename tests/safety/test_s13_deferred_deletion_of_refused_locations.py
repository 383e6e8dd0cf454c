"""S13: a deferred deletion from a location that is not allowed is refused, by the location of its own."""

from __future__ import annotations

from datetime import timedelta

from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters


def test_s13_a_location_that_another_spelling_of_its_unit_allows_is_refused(
    lake: MemoryLake, services: LakeServices
) -> None:
    """Both spellings are one unit, since they may be one place; a store may keep them apart all the same."""
    locations = ("memory://wh/db/t", "memory://wh//db/t")
    tables = [lake.table(f"db.t{n}", location=location).append("a") for n, location in enumerate(locations)]
    lake.commit("main", *(put(table.version) for table in tables))
    allowed, refused = (lake.put(f"{location}/data/nobody-{n}") for n, location in enumerate(locations))
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    deferred = services.sweep(live_set, SweepParameters(defer_deletes=True))
    assert deferred.outcomes[Outcome.DEFERRED].files >= 2
    report = services.delete_deferred(live_set, SweepParameters(allow=["memory://wh/db"]))
    assert (False, True) == (allowed in lake.paths(), refused in lake.paths())
    assert "is outside the allowed locations" in report.refused["memory://wh//db/t/"]
    spared = {file.path: file.reason for file in report.spared_files}
    assert "is outside the allowed locations" in (spared[refused] or "")
    assert refused in {d.location + d.path for d in services.store.file_deletions(live_set)}
