"""The purge service: deletes files in quarantine for good, when they can no longer be restored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from nessie_gc_core.algorithms.hold import STILL_THERE, VISIBLE, Purge
from nessie_gc_core.algorithms.restorable import restore_file
from nessie_gc_core.algorithms.still_held import StillHeld
from nessie_gc_core.dataset import BatchFunction
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.quarantine.by_table import FilesByTable
from nessie_gc_core.services.quarantine.parameters import PurgeParameters
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.quarantine.release import Choose, Release
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.unneeded import Unneeded
from nessie_gc_core.services.run import Run

_MISSING = "it is not in quarantine; is this the right store? `forget_missing` removes its record"

_VISIBLE = "somebody made it visible again, so it is not purged"
_GONE = "it is gone, and its tagging was interrupted"
_RELEASED = "somebody removed its tag or wrote it again, so it is not purged"


@dataclass(frozen=True, slots=True)
class PurgeService(Release):
    """Delete files in quarantine whose time is over.

    Without options it takes all of them, if a recent sweep found that nothing needs them, and no reference that has
    moved since needs them. Plugins can veto, as for every deletion. Files at their original paths are never touched,
    except those in quarantine with a tag.
    """

    name: ClassVar[str] = "purge"
    Parameters: ClassVar[type[ConnectorOptions]] = PurgeParameters
    verb: ClassVar[str] = "purged"
    would: ClassVar[str] = "would_purge"
    taken: ClassVar[Collection[HeldState]] = (HeldState.HELD, HeldState.MOVING, HeldState.PURGING)
    doing: ClassVar[HeldState] = HeldState.PURGING
    blocked: ClassVar[HeldState] = HeldState.RESTORING

    parameters: PurgeParameters

    def why_blocked(self, file: HeldFile) -> str:
        """Says what is not finished."""
        return f"its restoration was interrupted; finish it with {restore_file(file.location + file.path)}"

    def is_due(self, file: HeldFile, now: datetime) -> bool:
        """Whether its time is over; a purge that has begun goes on."""
        return file.state is HeldState.PURGING or now > file.until

    def chooser(self, run: Run, report: ReleaseReport) -> Choose:
        """Only files that nothing needs; what is needed can be restored, though its purge had begun."""
        unneeded, store = Unneeded(run, self.parameters.limits(run)), held_in(run.store)

        def choose(files: Sequence[HeldFile]) -> Sequence[HeldFile]:
            free, needed = unneeded.among(files, report)
            if not self.parameters.dry_run:
                store.put_held_files(replace(file, state=HeldState.HELD) for file in needed)
            return free

        return choose

    def by_table(self, run: Run) -> FilesByTable | None:
        """Where somebody asks for it."""
        if not self.parameters.by_table:
            return None
        return FilesByTable(rules=run.choice.rules(), dry_run=self.parameters.dry_run)

    def function(self, run: Run, still_held: StillHeld) -> BatchFunction:
        """Deletes them."""
        return Purge(run.choice, still_held)

    def settle(self, file: HeldFile, status: str, reason: str | None, report: ReleaseReport) -> bool:
        """What is gone has no record any more; one that was gone before may be looked for in the wrong place."""
        if status == STILL_THERE:
            report.count(report.unmoved, file)
            return True
        if status == VISIBLE and bucket_of_tags(file.place) is not None:
            report.count(report.released, file, _RELEASED)
            return True
        if status == Outcome.ALREADY_GONE and file.state is HeldState.MOVING and bucket_of_tags(file.place) is not None:
            report.count(report.released, file, _GONE)
            return True
        if status == VISIBLE:
            report.count(report.visible, file, _VISIBLE)
            return True
        if status == Outcome.DELETED or (status == Outcome.ALREADY_GONE and file.state is HeldState.PURGING):
            report.count(report.done, file)
            return True
        if status == Outcome.ALREADY_GONE:
            report.count(report.missing, file, _MISSING)
            return self.parameters.forget_missing
        report.count(report.kept if status == Outcome.SPARED else report.failed, file, reason)
        return False
