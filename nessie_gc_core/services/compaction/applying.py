"""Compacts what was planned, table by table, and says the outcome of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, NessieGcError, TableError
from nessie_gc_core.model.compaction import FileRewrite, Partition, RewriteFailure, RewrittenFiles
from nessie_gc_core.model.tables import CurrentTable
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.compaction.looking import PlannedTable, TableLook, files_of
from nessie_gc_core.services.compaction.planning import PartitionPlan
from nessie_gc_core.services.compaction.report import Compacted, CompactedPartition, CompactedTable
from nessie_gc_core.services.run import GoOn, never_stopped
from nessie_gc_core.tables import Maintenance

log = logging.getLogger(__name__)

_TAKEN = "another process changed the planned partitions, which are no longer due"
_NOTHING_FOUND = "Iceberg found nothing to rewrite"
_MORE = "another process changed it, and it needs more work now than planned"
_ERRORS: Mapping[RewriteFailure, type[NessieGcError]] = {
    RewriteFailure.CONFLICT: CommitConflictError,
    RewriteFailure.UNKNOWN: CommitUnknownError,
    RewriteFailure.REFUSED: TableError,
}


class _Work:
    """What was done so far of one table."""

    def __init__(self, planned: PlannedTable) -> None:
        self.planned, self.done = planned, list[RewrittenFiles]()
        self.left: set[Partition] = {each for group in planned.sets for each in group.partitions}
        self.begun: set[Partition] = set()
        """Some commits were made for them, and another failed."""
        self.waiting: dict[Partition, str] = {}
        """Why they are not rewritten after all, or not to the end."""

    def planned_again(self, wanted: PlannedTable) -> None:
        """Notes what a new plan leaves out."""
        plans = {plan.partition: plan.reason for plan in wanted.plans}
        found = {each: plans.get(each, None if each in self.begun else _TAKEN) for each in self.left}
        done = {each: reason for each, reason in self.waiting.items() if each not in self.left}
        self.waiting = {**done, **{each: reason for each, reason in found.items() if reason is not None}}

    @property
    def rows(self) -> tuple[CompactedPartition, ...]:
        """The partitions as they were planned, with what was found out since."""
        return tuple(
            replace(row, rewritten=plan.partition in self.begun, reason=self.waiting[plan.partition])
            if row.rewritten and plan.partition in self.waiting
            else row
            for row, plan in zip(self.planned.report.partitions, self.planned.plans, strict=True)
        )

    @property
    def why_not_all(self) -> str | None:
        """Why something is as it was although nothing failed."""
        kept = (each.kept for each in self.done if each.kept is not None)
        return next(iter(self.waiting.values()), next(kept, None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactor:
    """Commits to one table after the other; one that fails stops no other (S18)."""

    maintenance: Maintenance
    look: TableLook
    rewrite: FileRewrite
    commit_retries: int
    reviewed: bool = True
    """Whether somebody saw the plan, or its size is limited, so that no partition is rewritten that has grown since."""
    go_on: GoOn = never_stopped
    """Asked before every rewrite; raises if the run has to end."""

    def compacted(self, planned: PlannedTable) -> CompactedTable:
        """Rewrites those files of one table that were planned and are still due."""
        if planned.report.outcome is not Compacted.REWRITTEN or planned.current is None:
            return planned.report
        work, wanted, tries_left = _Work(planned), planned, self.commit_retries
        while True:
            try:
                self._commit(work, wanted)
                return self._ended(work, Compacted.REWRITTEN, None)
            except CommitConflictError as error:
                if tries_left == 0:
                    return self._ended(work, Compacted.CONFLICT, one_line(error))
                log.info("%s; planning it again", error)
                wanted, tries_left = self._again(planned, work.left), tries_left - 1
                work.planned_again(wanted)
                if wanted.report.outcome is Compacted.NOT_WORTH_IT and _MORE in work.waiting.values():
                    return self._ended(work, Compacted.WAITING, _MORE)
                if wanted.report.outcome is not Compacted.REWRITTEN:
                    return self._ended(work, wanted.report.outcome, wanted.report.reason)
            except CommitUnknownError as error:
                return self._ended(work, Compacted.UNKNOWN, one_line(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is about this table alone (S18)
                return self._ended(work, Compacted.REFUSED, one_line(error))

    def _commit(self, work: _Work, wanted: PlannedTable) -> None:
        """Set after set, each upon the state that the one before left; nothing follows what failed."""
        state = wanted.current
        for group in wanted.sets:
            assert state is not None  # something is planned of it
            self.go_on()
            done = self.maintenance.rewrite_files(state, group, self.rewrite)
            work.done.append(done)
            if done.failure is not None:
                work.begun |= group.partitions if done.snapshot_ids else set()
                raise _ERRORS[done.failure](done.failed or done.failure.value)
            work.left -= group.partitions
            if not done.snapshot_ids:
                work.waiting.update(dict.fromkeys(group.partitions - work.begun, _NOTHING_FOUND))
            state = done.after

    def _again(self, planned: PlannedTable, left: Set[Partition]) -> PlannedTable:
        """The planned partitions of the table as it is now, and no others."""
        assert planned.current is not None  # something was planned of it
        found = self.look.looked(planned.current.name)
        if found.current is None:
            return found
        if found.current.uuid != planned.current.uuid:
            reason = "it was replaced by another table with the same name"
            return replace(found, report=replace(found.report, outcome=Compacted.GONE, reason=reason))
        before = {plan.partition: plan for plan in planned.plans}
        plans = [plan for plan in found.plans if plan.partition in left]
        if self.reviewed:
            plans = [_within(plan, before[plan.partition]) for plan in plans]
        found = found.with_plans(plans)
        return found if found.plans else replace(found, report=replace(found.report, reason=_TAKEN))

    def _ended(self, work: _Work, outcome: Compacted, reason: str | None) -> CompactedTable:
        """The report on a table, with what was committed before the error."""
        planned, done = work.planned, work.done
        committed = any(each.snapshot_ids for each in done)
        if committed and outcome in (Compacted.CONFLICT, Compacted.REFUSED, Compacted.GONE, Compacted.UNREADABLE):
            outcome = Compacted.PARTLY
        if committed and outcome in (Compacted.NOT_WORTH_IT, Compacted.WAITING, Compacted.REWRITTEN):
            outcome = Compacted.PARTLY if work.begun & work.waiting.keys() else Compacted.REWRITTEN
        if not committed and outcome is Compacted.REWRITTEN:
            outcome, reason = Compacted.NOT_WORTH_IT, _NOTHING_FOUND
        report = replace(
            planned.report,
            outcome=outcome,
            reason=work.why_not_all if reason is None else reason,
            snapshot_ids=tuple(id_ for each in done for id_ in each.snapshot_ids),
            removed_data_files=sum(each.removed_data_files for each in done),
            added_data_files=sum(each.added_data_files for each in done),
            removed_delete_files=sum(each.removed_delete_files for each in done),
            added_delete_files=sum(each.added_delete_files for each in done),
            removed_bytes=sum(each.removed_bytes for each in done),
            added_bytes=sum(each.added_bytes for each in done),
            partitions=work.rows,
        )
        return self._with_after(planned, report, done[-1].after) if committed else report

    def _with_after(self, planned: PlannedTable, report: CompactedTable, after: CurrentTable) -> CompactedTable:
        try:
            tallies = self.look.tallies(after)
        except Exception as error:  # noqa: BLE001 - the commit is made whatever can be read of it
            log.warning("%s: the committed state cannot be read: %s", report.table, error)
            return report
        rows = tuple(
            replace(row, after=files_of(tallies, {plan.partition}))
            for row, plan in zip(report.partitions, planned.plans, strict=True)
        )
        return replace(report, after=files_of(tallies), partitions=rows)


def _within(now: PartitionPlan, planned: PartitionPlan) -> PartitionPlan:
    """A partition as it is now, which waits where more of it would be rewritten than was planned."""
    is_more = now.input_bytes > planned.input_bytes or (now.deletes_due and not planned.deletes_due)
    return replace(now, reason=_MORE) if is_more and now.reason is None else now
