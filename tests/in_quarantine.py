"""What tests of a quarantine share: what is held in the store of simulated lakes, and how it is released."""

from __future__ import annotations

from typing import Any

from collecting import LakeServices
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.services.quarantine.parameters import PurgeParameters, RestoreParameters
from nessie_gc_core.services.quarantine.purge import PurgeService
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.restore import RestoreService


def held(services: LakeServices) -> list[HeldFile]:
    """The records, by the paths of their files."""
    store = services.store
    assert isinstance(store, MemoryLiveSetStore)
    return sorted(store.held_files(), key=lambda file: file.path)


def restore(services: LakeServices, **chosen: Any) -> ReleaseReport:
    """Restores some files, or everything."""
    parameters = RestoreParameters(**(chosen or {"everything": True}))
    return RestoreService(parameters).run(services.run())


def purge(services: LakeServices, **chosen: Any) -> ReleaseReport:
    """Purges some files, or everything whose time is over."""
    return PurgeService(PurgeParameters(**chosen)).run(services.run())
