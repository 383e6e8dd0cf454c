"""What tests of a quarantine share: what is held in the store of simulated lakes, and how it is released."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from collecting import LakeServices
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState, put
from pyarrow import parquet

from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.quarantine.parameters import PurgeParameters, RestoreParameters
from nessie_gc_core.services.quarantine.purge import PurgeService
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.restore import RestoreService
from nessie_gc_core.services.report import GcReport

DEAD = {f"memory://wh/db/t/data/dead-{number}.parquet" for number in range(3)}
FIRST = min(DEAD)


class Killed(BaseException):
    """Ends a run in the middle."""


def with_garbage(lake: MemoryLake) -> TableState:
    """The table of a lake: a live file, and three that nobody needs; all are old."""
    empty = lake.table("db.t", location="memory://wh/db/t", content_id="t")
    live = empty.append("live.parquet")
    lake.commit("main", put(empty.version))
    lake.commit("main", put(live.version))
    for path in DEAD:
        lake.put(path, path.encode())
    lake.advance(timedelta(days=40))
    return live


def there(lake: MemoryLake) -> Mapping[str, bytes | None]:
    return {path: stored.data for path in DEAD if (stored := lake.objects.get(path)) is not None}


def held(services: LakeServices) -> list[HeldFile]:
    """The records, by the paths of their files."""
    store = services.store
    assert isinstance(store, MemoryLiveSetStore)
    return sorted(store.held_files(), key=lambda file: file.path)


def restore(services: LakeServices, **chosen: Any) -> ReleaseReport:
    """Restores some files, or everything."""
    parameters = RestoreParameters(**(chosen or {"everything": True}))
    return RestoreService(parameters).run(services.run())


def look(services: LakeServices, policy: str = "NONE") -> GcReport:
    """A sweep that finds out what is needed, and takes nothing: a purge asks for a recent one."""
    return services.sweep(services.mark(policy), SweepParameters(min_age=timedelta(days=10_000)))


def purge(services: LakeServices, **chosen: Any) -> ReleaseReport:
    """Purges some files, or everything whose time is over."""
    return PurgeService(PurgeParameters(**chosen)).run(services.run())


def rows(file: Path) -> list[dict[str, Any]]:
    """What an outcome file has, in either format."""
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for part in sorted(file.parent.glob("*.parquet")) for row in parquet.read_table(part).to_pylist()]


def named(file: Path) -> list[tuple[str, str]]:
    """Paths and outcomes of an outcome file, in order."""
    return sorted((row["path"], row["outcome"]) for row in rows(file))
