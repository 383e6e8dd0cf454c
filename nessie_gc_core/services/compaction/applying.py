"""Compacts what was planned, table by table, and says what became of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, NessieGcError
from nessie_gc_core.model.compaction import FileRewrite, Partition, RewrittenFiles
from nessie_gc_core.model.tables import CurrentTable
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.compaction.looking import PlannedTable, TableLook, files_of
from nessie_gc_core.services.compaction.report import Compacted, CompactedTable
from nessie_gc_core.tables import Maintenance

log = logging.getLogger(__name__)

_TAKEN = "others changed the partitions that were planned, which are no longer due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Commits to one table after the other; one that fails stops no other (S18)."""

    maintenance: Maintenance
    look: TableLook
    rewrite: FileRewrite
    commit_retries: int

    def compacted(self, planned: PlannedTable) -> CompactedTable:
        """Rewrites files of one table, as far as it was planned and is still due."""
        if planned.report.outcome is not Compacted.REWRITTEN or planned.current is None:
            return planned.report
        left: set[Partition] = {each for group in planned.sets for each in group.partitions}
        wanted, done, tries_left = planned, list[RewrittenFiles](), self.commit_retries
        while left:
            try:
                for group in wanted.sets:
                    state = done[-1].after if done else wanted.current
                    assert state is not None  # something is planned of it
                    done.append(self.maintenance.rewrite_files(state, group, self.rewrite))
                    left -= group.partitions
                break
            except CommitConflictError as error:
                if tries_left == 0:
                    return self._ended(planned, done, Compacted.CONFLICT, one_line(error))
                log.info("%s; it is planned again", error)
                wanted, tries_left = self._again(planned.current, left), tries_left - 1
                if wanted.report.outcome is not Compacted.REWRITTEN:
                    return self._ended(planned, done, wanted.report.outcome, wanted.report.reason)
            except CommitUnknownError as error:
                return self._ended(planned, done, Compacted.UNKNOWN, one_line(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is about this table alone (S18)
                return self._ended(planned, done, Compacted.REFUSED, one_line(error))
        failed = next((each.failed for each in done if each.failed is not None), None)
        return self._ended(planned, done, Compacted.REWRITTEN if failed is None else Compacted.PARTLY, failed)

    def _again(self, before: CurrentTable, left: Set[Partition]) -> PlannedTable:
        """The same partitions of the table as it is now, and never more than was planned."""
        found = self.look.looked(before.name)
        if found.current is None:
            return found
        if found.current.uuid != before.uuid:
            reason = "it is another table of the same name by now"
            return replace(found, report=replace(found.report, outcome=Compacted.GONE, reason=reason))
        found = found.with_plans([plan for plan in found.plans if plan.partition in left])
        return found if found.plans else replace(found, report=replace(found.report, reason=_TAKEN))

    def _ended(
        self, planned: PlannedTable, done: Sequence[RewrittenFiles], outcome: Compacted, reason: str | None
    ) -> CompactedTable:
        """What is said of a table, with what was committed before something went wrong."""
        committed = any(each.snapshot_ids for each in done)
        if committed and outcome in (Compacted.CONFLICT, Compacted.REFUSED, Compacted.GONE, Compacted.UNREADABLE):
            outcome = Compacted.PARTLY
        if committed and outcome is Compacted.NOT_WORTH_IT:
            outcome = Compacted.REWRITTEN
        report = replace(
            planned.report,
            outcome=outcome,
            reason=reason,
            snapshot_ids=tuple(id_ for each in done for id_ in each.snapshot_ids),
            removed_data_files=sum(each.removed_data_files for each in done),
            added_data_files=sum(each.added_data_files for each in done),
            removed_delete_files=sum(each.removed_delete_files for each in done),
            added_delete_files=sum(each.added_delete_files for each in done),
            removed_bytes=sum(each.removed_bytes for each in done),
            added_bytes=sum(each.added_bytes for each in done),
        )
        return self._with_after(planned, report, done[-1].after) if committed else report

    def _with_after(self, planned: PlannedTable, report: CompactedTable, after: CurrentTable) -> CompactedTable:
        try:
            tallies = self.look.tallies(after)
        except NessieGcError as error:  # the commit is made whatever can be read of it
            log.warning("%s: what was committed cannot be read: %s", report.table, error)
            return report
        rows = tuple(
            replace(row, after=files_of(tallies, {plan.partition}))
            for row, plan in zip(report.partitions, planned.plans, strict=True)
        )
        return replace(report, after=files_of(tallies), partitions=rows)
