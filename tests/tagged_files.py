"""Files of a simulated lake that a sweep tags: what tests of this kind of quarantine share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from collecting import LakeServices
from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core.services.parameters import SweepParameters

PLACE = "tags:memory://wh/"
DEAD = {f"memory://wh/db/t/data/dead-{number}.parquet" for number in range(3)}
FIRST = min(DEAD)
TAG = SweepParameters(quarantine=[PLACE])
MONTH = timedelta(days=31)


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


def marks(lake: MemoryLake) -> Mapping[str, str | None]:
    """The tag of the quarantine on each file that is there."""
    return {path: found.mark for path in DEAD if (found := lake.objects.tagged(path)) is not None}


def tagged(services: LakeServices) -> UUID:
    """A sweep that tags."""
    live_set = services.mark()
    services.sweep(live_set, TAG)
    return live_set
