"""The restore service: moves files from a quarantine back to where they were."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from nessie_gc_core.algorithms.hold import STILL_THERE, Restore
from nessie_gc_core.algorithms.still_held import StillHeld
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import BatchFunction
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.quarantine import HeldFile, HeldState, MoveStatus, bucket_of_tags
from nessie_gc_core.services.quarantine.parameters import RestoreParameters
from nessie_gc_core.services.quarantine.release import Release, Undo
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.run import Run

_MISSING = "it is neither in quarantine nor at its path; is this the right store? `forget_missing` removes its record"
_EXISTS = "a file is at its path that may be another one; it stays in quarantine"


@dataclass(frozen=True, slots=True)
class RestoreService(Release):
    """Move files from quarantine back to their paths.

    Choose files by sweep, table, location or pattern. A path at which there is another file by now is left alone, and
    its file stays in quarantine.
    """

    name: ClassVar[str] = "restore"
    Parameters: ClassVar[type[ConnectorOptions]] = RestoreParameters
    verb: ClassVar[str] = "restored"
    would: ClassVar[str] = "would_restore"
    taken: ClassVar[Collection[HeldState]] = (HeldState.HELD, HeldState.MOVING, HeldState.RESTORING)
    doing: ClassVar[HeldState] = HeldState.RESTORING
    blocked: ClassVar[HeldState] = HeldState.PURGING

    parameters: RestoreParameters

    def why_blocked(self, file: HeldFile) -> str:
        """Says what cannot be undone."""
        return "its purge has begun, so it cannot be restored"

    def before(self, files: Sequence[HeldFile], store: SupportsQuarantine, run: Run) -> Undo:
        """Takes down the tombstones: if a file is lost again, that is not because it was deleted (S7)."""
        rules = run.choice.rules()
        paths = {form for file in files for form in _forms(file.location + file.path, rules)}
        there = {each: found for each in run.store.repositories() if (found := run.store.tombstones(each, paths))}
        if there:
            store.remove_tombstones(set().union(*there.values()))

        def undo(staying: Sequence[HeldFile]) -> None:
            forms = {form for file in staying for form in _forms(file.location + file.path, rules)}
            for repository, taken in there.items():
                run.store.add_tombstones(repository, sorted(taken & forms), at=run.clock())

        return undo

    def function(self, run: Run, still_held: StillHeld) -> BatchFunction:
        """Moves them back."""
        return Restore(run.choice, still_held)

    def settle(self, file: HeldFile, status: str, reason: str | None, report: ReleaseReport) -> bool:
        """The record of one that is nowhere stays, unless it is to be forgotten: it may have been the wrong store."""
        if status == MoveStatus.MOVED:
            report.count(report.done, file)
            return True
        if status == STILL_THERE:
            report.count(report.unmoved, file)
        elif status == MoveStatus.MISSING:
            report.count(report.missing, file, _MISSING)
            return self.parameters.forget_missing
        else:
            exists = status == MoveStatus.EXISTS and bucket_of_tags(file.place) is None
            report.count(report.failed, file, _EXISTS if exists else reason or "it was not moved")
        return False


def _forms(path: str, rules: LocationRules) -> Collection[str]:
    """The canonical paths under which a tombstone of a file may be."""
    try:
        return {rules.canonical(path), rules.place(path)}
    except UnknownLocationError:
        return ()
