"""Deferred deletions: deletes what an earlier sweep found unreferenced, if it still is (S9, S10, S13, S15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.guard import SpareLocations, StoreAges, judge, spare
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, LiveSetStateError, UnknownLocationError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.limits import AgeLimit
from nessie_gc_core.model.locations import HADOOP_FILE_SYSTEMS, store_of
from nessie_gc_core.model.marks import HINT_STAYS, VERSION_HINT
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import FILE_KEYS, STORED_FILES
from nessie_gc_core.model.verdicts import GONE
from nessie_gc_core.services.begin import work_on_live_set
from nessie_gc_core.services.by_table import by_table
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.deletion import Deletion, OutcomeRecords
from nessie_gc_core.services.file_deletions import forget_deletions, stored_deletions
from nessie_gc_core.services.left_out import leave_out, names_in, seen_homes
from nessie_gc_core.services.marked import freeze_marked, freeze_marked_by_now
from nessie_gc_core.services.other_repositories import OtherRepositories
from nessie_gc_core.services.outcome_counts import Counts
from nessie_gc_core.services.outcome_file import OutcomeFile
from nessie_gc_core.services.parameters import DeferredDeletionParameters
from nessie_gc_core.services.places import located_homes
from nessie_gc_core.services.preconditions import check_executors, check_sweeper, check_swept
from nessie_gc_core.services.quarantine.holding import named
from nessie_gc_core.services.quarantine.places import leave_quarantines_alone
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.scope import Scope, scope_over
from nessie_gc_core.services.set_aside import names_if_wanted
from nessie_gc_core.services.steps import Step
from nessie_gc_core.services.stored_versions import stored_versions
from nessie_gc_core.services.tally import TableTally, Tally
from nessie_gc_core.services.unread_repositories import freeze_unread_repositories
from nessie_gc_core.services.versioning import warn_of_versions


@dataclass(frozen=True, slots=True)
class DeferredDeletionService(Service[Run]):
    """Delete the files that a sweep with deferred deletes recorded.

    References that are new or have moved since the mark are checked first; files that they need stay, and stay
    recorded.

    That sweep checked the age of the files, which is not checked again. Everything else is: the age of the live set,
    the allowed locations, vetoes, and what the references need now.
    """

    name: ClassVar[str] = "deferred-deletes"
    Parameters: ClassVar[type[ConnectorOptions]] = DeferredDeletionParameters

    parameters: DeferredDeletionParameters

    def run(self, run: Run) -> GcReport:
        """Deletes.

        Raises:
            SafetyError: the live set is too old, or of another repository.
            LiveSetStateError, LeaseHeldError: it was not swept completely, or another process is sweeping.
            NessieGcError: something needed for the decision failed; what was deleted before is recorded.
        """
        with work_on_live_set(run, self.parameters, _check_deferred) as sweep_run:
            _DeferredDeletion(sweep_run).run()
        return run.report


def _check_deferred(run: SweepRun) -> None:
    """Refuses live sets that were not swept to their end, or whose records are those of an expiry.

    Raises:
        LiveSetStateError: the message says what to do.
    """
    for live_set in (member.live_set for member in run.worked_on):
        named = replace(live_set, id=run.live_set.id)  # one id names them all
        check_sweeper(named, None)
        check_swept(named)
        if live_set.is_of_expiry:
            raise LiveSetStateError(
                f"live set {live_set.id} belongs to a snapshot expiry, and has no deferred deletions; the next "
                "`expire_snapshots` finishes its work"
            )


class _DeferredDeletion:
    """One run."""

    def __init__(self, run: SweepRun) -> None:
        self._run = run
        self._recorded: dict[str, Tally] = {}
        """What is recorded in each location; a checksum sidecar counts with its file."""

    def run(self) -> None:
        """Reads what was recorded, and takes it to its outcome."""
        run = self._run
        versions, types = stored_versions(run, run.numbers)
        plan = self._plan()
        index = UnitIndex.of(plan)  # of all units, so that those that are taken out from here on spare their files
        freeze_unread_repositories(plan, run)
        freeze_marked_by_now(plan, run.choice)
        leave_quarantines_alone(plan, run)
        others = OtherRepositories(run, plan.rules)
        gone = others.refuse_gone(plan, (location for _, location in located_homes(run)))
        others.tell_shared(plan, run)
        names = names_if_wanted(run, versions)
        if not run.parameters.tables.takes_all:
            leave_out(plan, run, names, seen_homes(run, names))
        scope = replace(scope_over(plan, types, run, names), index=index)
        unusable = self._freeze_unusable(plan)
        warn_of_versions(plan.units, run, run.parameters)
        verdicts = self._verdicts(scope)
        spared = {**plan.left_out, **plan.unknown, **plan.unread, **gone, **unusable}
        scope.report_to(run)
        deletion = Deletion(run, scope, spared_units=spared, tables=lambda: named(self._by_table(plan, versions)))
        deletion.run(verdicts, DeferredRecords(run), stored_by_unit={})
        if run.parameters.by_table:
            run.report.tables = self._by_table(plan, versions)

    def _by_table(self, plan: SweepPlan, versions: Dataset) -> list[TableTally]:
        """A row for each location with recorded files; takes the live versions (:data:`CONTENT_VERSIONS`)."""
        run = self._run
        listed = {root: (tally.files, tally.bytes) for root, tally in self._recorded.items()}
        return by_table(plan, run.report, names_in(versions), located_homes(run), listed=listed)

    def _plan(self) -> SweepPlan:
        """The locations of the deletions; the configuration may allow others than it did (S13)."""
        run, rules = self._run, self._run.choice.rules()
        locations = dict.fromkeys(deletion.location for deletion in run.store.file_deletions(run.live_set.id))
        return plan_units(locations, rules, run.parameters.allowed(rules))

    def _freeze_unusable(self, plan: SweepPlan) -> dict[str, str]:
        """Removes units without a deleter; returns each with the reason."""
        unusable: dict[str, str] = {}
        with OpenConnectors(self._run.choice) as connectors:
            for unit in list(plan.units):
                try:
                    deleters = [connectors.deleter(location) for location in unit.locations]
                except ConfigurationError as error:
                    plan.freeze([unit.root], str(error))
                    unusable[unit.root] = str(error)
                    continue
                check_executors(self._run.engine, *(type(deleter) for deleter in deleters))
        return unusable

    def _verdicts(self, scope: Scope) -> Dataset:
        """All recorded deletions, with vetoes; a file and its checksum sidecar as one row."""
        run, refused = self._run, scope.plan.refused
        files = run.engine.dataset(to_batches(self._rows(scope.index), STORED_FILES), STORED_FILES)
        counts = StoredCounts(files)  # refused units as well, which the plan does not have
        freeze_marked(scope.plan, counts.marks)
        candidates = subtract.unreferenced(files, lambda stored: stored, with_sidecars=counts.with_sidecars)
        ages = self._ages(scope.plan)
        verdicts = judge(candidates, ages, run.choice, look_again=ages is not None)
        if any(VERSION_HINT in marks for marks in counts.marks.values()):
            verdicts = spare(verdicts, files.where("mark", [VERSION_HINT]).select(FILE_KEYS), HINT_STAYS)
        return verdicts.flat_map(SpareLocations(refused)).checkpoint() if refused else verdicts

    def _ages(self, plan: SweepPlan) -> dict[str, StoreAges] | None:
        """What decides by age, of records that another tool made; ``None``: the sweep that made them has (S8).

        Its records stay when it deletes their files, so that what is there now may have been written since.
        """
        run = self._run
        imported = [member.live_set for member in run.worked_on if member.live_set.is_imported]
        if not imported:
            return None
        locations = (location for unit in plan.units for location in unit.locations)
        ages = store_ages(locations, AgeLimit(), min(each.created for each in imported), run)
        never = StoreAges(newest_deletable=datetime.min.replace(tzinfo=UTC), now=run.clock())
        for deletion in run.store.file_deletions(run.live_set.id):
            ages.setdefault(store_of(deletion.location), never)
        return ages

    def _rows(self, index: UnitIndex) -> Iterator[Row]:
        for deletion in stored_deletions(self._run.store, self._run.live_set.id):
            location, path = deletion.location, deletion.path
            file = FileReference(location=location, path=path, size=deletion.size, modified=deletion.modified)
            try:
                found = index.find(location + path)
            except UnknownLocationError:
                found = None
            unit, key = found if found is not None else (location, path)
            owner = sidecar_owner(key) if unit.partition(":")[0] in HADOOP_FILE_SYSTEMS else None
            if owner is None:
                self._run.report.files_listed.add(1, deletion.size or 0)
                self._recorded.setdefault(unit, Tally()).add(1, deletion.size or 0)
            yield stored_row(unit, key, file, owner)


class DeferredRecords(OutcomeRecords):
    """Forgets what is gone. What is not forgotten stays recorded, and the next run finds it, gone or not."""

    def __init__(self, run: SweepRun) -> None:
        self._run = run

    def begin(self, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Nothing is left open: a record says that its file may be there."""

    def announce(self, step: Step, rows: Dataset, spared: Mapping[str, str], outcome_file: OutcomeFile) -> None:
        """The records already exist."""

    def remember(self, outcomes: Dataset) -> None:
        """Removes the records of files that are gone; those that failed or were spared stay recorded."""
        forget_deletions(outcomes.where("outcome", GONE), self._run)

    def close(self, step: Step, by_unit: Mapping[str, Counts]) -> None:
        """Nothing is left to say: what is recorded is not done."""
