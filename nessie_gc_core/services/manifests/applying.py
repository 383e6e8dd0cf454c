"""Rewrites what was planned, table by table, and says the outcome of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nessie_gc_core.errors import CommitConflictError, CommitUnknownError
from nessie_gc_core.model.tables import CurrentTable
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.manifests.looking import PlannedTable, TableLook, figures_of, with_verdict
from nessie_gc_core.services.manifests.planning import ManifestGroup, overlap_of, total
from nessie_gc_core.services.manifests.report import Reorganized, ReorganizedTable
from nessie_gc_core.services.run import GoOn, never_stopped
from nessie_gc_core.tables import Maintenance

log = logging.getLogger(__name__)

SUMMARY = "nessie-gc.service"
"""What a snapshot's summary says of who made it."""
_NOTHING_FOUND = "Iceberg found nothing to rewrite in what was planned"
_TAKEN = "another process rewrote the planned manifests"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRewriter:
    """Commits to one table after the other; one that fails stops no other (S18)."""

    maintenance: Maintenance
    look: TableLook
    service: str
    """The name of the service, for the summaries of snapshots."""
    go_on: GoOn = never_stopped
    """Asked before every commit; raises if the run has to end."""

    def rewritten(self, planned: PlannedTable) -> ReorganizedTable:
        """Rewrites those manifests of one table that were planned and still exist."""
        wanted, tries_left = planned, self.look.parameters.commit_retries
        while True:
            if wanted.report.outcome is not Reorganized.REWRITTEN or wanted.current is None:
                return wanted.report
            try:
                return self._done(wanted, self._commit(wanted, wanted.current))
            except CommitConflictError as error:
                if tries_left == 0:
                    return _failed(wanted, Reorganized.CONFLICT, error)
                log.info("%s; planning it again", error)
                wanted, tries_left = self._again(planned), tries_left - 1
            except CommitUnknownError as error:
                return _failed(wanted, Reorganized.UNKNOWN, error)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is about this table alone (S18)
                return _failed(wanted, Reorganized.REFUSED, error)

    def _commit(self, planned: PlannedTable, current: CurrentTable) -> CurrentTable | None:
        target = planned.report.target_bytes
        assert target is not None  # it is known of every table that was planned
        effort = self.look.parameters.effort.value
        summary = {SUMMARY: self.service, "nessie-gc.effort": effort}
        placed = self.look.placed(planned)
        self.go_on()
        return self.maintenance.rewrite_manifests(
            current, planned.paths, target_bytes=target, summary=summary, placed=placed
        )

    def _again(self, planned: PlannedTable) -> PlannedTable:
        """The planned manifests that the table still has, and no others."""
        assert planned.current is not None  # something was planned of it
        found = self.look.looked(planned.current.name)
        if found.current is None:
            return found
        if found.current.uuid != planned.current.uuid:
            reason = "it was replaced by another table with the same name"
            return replace(found, report=replace(found.report, outcome=Reorganized.GONE, reason=reason))
        groups = [_within(group, planned.groups) for group in found.groups]
        if not any(group.chosen for group in groups):
            report = replace(found.report, outcome=Reorganized.CONFLICT, reason=_TAKEN)
            return replace(found, report=report, groups=groups)
        report = replace(found.report, groups=tuple(map(figures_of, groups)))
        return replace(found, report=with_verdict(report, groups), groups=groups)

    def _done(self, planned: PlannedTable, after: CurrentTable | None) -> ReorganizedTable:
        if after is None:
            return planned.report
        if planned.current is not None and after.snapshot_id == planned.current.snapshot_id:
            return replace(planned.report, outcome=Reorganized.NOT_WORTH_IT, reason=_NOTHING_FOUND)
        report = replace(planned.report, snapshot_id=after.snapshot_id)
        try:
            manifests = self.look.manifests(after)
        except Exception as error:  # noqa: BLE001 - the commit is made whatever can be read of it
            log.warning("%s: the committed state cannot be read: %s", report.table, error)
            return report
        return replace(
            report,
            manifests_after=len(manifests),
            bytes_after=total(manifests),
            overlap_after=overlap_of(manifests),
        )


def _within(group: ManifestGroup, planned: Sequence[ManifestGroup]) -> ManifestGroup:
    """What was planned of a group and is still there, where rewriting it still leaves fewer or better manifests."""
    paths = {manifest.path for each in planned for manifest in each.chosen}
    kept = replace(group, chosen=[manifest for manifest in group.manifests if manifest.path in paths], reason=None)
    is_whole = any(len(each.chosen) == len(kept.chosen) for each in planned if _kind(each) == _kind(group))
    return kept if kept.chosen and (is_whole or kept.fewer > 0) else replace(kept, chosen=(), reason=_TAKEN)


def _kind(group: ManifestGroup) -> tuple[int, str]:
    return group.spec_id, group.content


def _failed(planned: PlannedTable, outcome: Reorganized, error: Exception) -> ReorganizedTable:
    return replace(planned.report, outcome=outcome, reason=one_line(error))
