"""The purge service: deletes files in quarantine for good, when they can no longer be restored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from nessie_gc_core.algorithms.hold import Purge
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import BatchFunction
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.quarantine.parameters import PurgeParameters
from nessie_gc_core.services.quarantine.release import Chosen, Release
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.run import Run


@dataclass(frozen=True, slots=True)
class PurgeService(Release):
    """Delete files in quarantine whose time is over.

    Without options it takes all of them. Plugins can veto, as for every deletion. Files at their original paths are
    never touched.
    """

    name: ClassVar[str] = "purge"
    Parameters: ClassVar[type[ConnectorOptions]] = PurgeParameters
    verb: ClassVar[str] = "purged"
    taken: ClassVar[Collection[HeldState]] = (HeldState.HELD, HeldState.MOVING, HeldState.PURGING)
    doing: ClassVar[HeldState] = HeldState.PURGING

    parameters: PurgeParameters

    def say_before(self, store: SupportsQuarantine, chosen: Chosen, report: ReleaseReport) -> None:
        """Warns of files whose restoration was interrupted."""
        waiting = sum(each.files for each in store.quarantines() if each.state is HeldState.RESTORING)
        if waiting:
            report.warnings.append(
                f"the restoration of {plural(waiting, 'file')} was interrupted, so they are not purged; finish it with "
                "'restore'"
            )

    def is_due(self, file: HeldFile, now: datetime) -> bool:
        """Whether its time is over; a purge that has begun goes on."""
        return file.state is HeldState.PURGING or now > file.until

    def function(self, run: Run) -> BatchFunction:
        """Deletes them."""
        return Purge(run.choice)

    def settle(self, file: HeldFile, status: str, reason: str | None, report: ReleaseReport) -> bool:
        """What is gone has no record any more."""
        if status in (Outcome.DELETED, Outcome.ALREADY_GONE):
            report.count(report.done, file)
            return True
        report.count(report.kept if status == Outcome.SPARED else report.failed, file, reason)
        return False
