"""Files of a simulated lake that a sweep tags: what tests of this kind of quarantine share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from collecting import LakeServices
from in_quarantine import DEAD
from nessie_gc_memory import MemoryLake

from nessie_gc_core.services.parameters import SweepParameters

PLACE = "tags:memory://wh/"
TAG = SweepParameters(quarantine=[PLACE])
MONTH = timedelta(days=31)


def marks(lake: MemoryLake) -> Mapping[str, str | None]:
    """The tag of the quarantine on each file that is there."""
    return {path: found.mark for path in DEAD if (found := lake.objects.tagged(path)) is not None}


def tagged(services: LakeServices) -> UUID:
    """A sweep that tags."""
    live_set = services.mark()
    services.sweep(live_set, TAG)
    return live_set
