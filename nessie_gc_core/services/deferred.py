"""Deferred deletions: what an earlier sweep found dead is deleted now, as far as it still is (S9, S10, S13, S15)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.defer import file_deletions
from nessie_gc_core.algorithms.delete import DeleteFiles, dealt_out
from nessie_gc_core.algorithms.guard import BUCKETS, SpareLocations, judge
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.algorithms.storable import original_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.algorithms.unknown import UnknownFinder
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import ConfigurationError, LiveSetStateError, UnknownLocationError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, next_step
from nessie_gc_core.model.locations import HADOOP_FILE_SYSTEMS
from nessie_gc_core.model.relations import EXPANDED_FILES, STORED_FILES
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.services.bury import bury
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.counting import StoredCounts, count_outcomes, count_verdicts, name_files
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.outcomes import OutcomeFile
from nessie_gc_core.services.prerequisites import check_executors, check_live_set
from nessie_gc_core.services.recheck import Recheck
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import Progress, SweepSettings, no_progress
from nessie_gc_core.services.versioning import warn_of_versions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeferredDeletionService:
    """Deletes what a sweep with deferred deletes recorded.

    How old the files are was judged by that sweep and is not asked again; everything else is: the age of the live
    set, the allowed locations, vetoes, and what the references reach by now. What stays, stays recorded.
    """

    repository: RepositoryConnector
    store: LiveSetStore
    engine: Engine
    settings: SweepSettings
    clock: Clock
    progress: Progress = no_progress
    elapsed: Elapsed = elapsed_seconds

    def run(self, live_set_id: uuid.UUID, report: GcReport) -> None:
        """Deletes, and fills in its part of the report.

        Raises:
            SafetyError: the live set is too old, or of another repository.
            LiveSetStateError, LeaseHeldError: it was not swept to its end, or somebody else is sweeping.
            NessieGcError: something that is needed to decide failed; what was deleted by then is recorded.
        """
        self.settings.check_plugins()
        self.settings.check_outcomes_to()
        identity = self.repository.identity()
        found = self.store.get(live_set_id)
        now = max(times_now(self.repository, self.store, self.clock, report))
        live_set = check_live_set(found, identity, now, self.settings.max_live_set_age)
        check_swept(live_set)
        report.begin(identity, self.repository.address(), live_set_id, self.engine.name, self.clock())
        report.dry_run = self.settings.mode is DeleteMode.DRY_RUN
        with hold_lease(self.store, identity, self.settings.lease, elapsed=self.elapsed) as lease:
            _DeferredDeletion(self, live_set, report, lease).run()
        report.finished = self.clock()


def check_swept(live_set: LiveSet) -> None:
    """Refuses a live set that was not swept to its end.

    Raises:
        LiveSetStateError: the message names both statuses.
    """
    if live_set.status is not LiveSetStatus.EXPIRY_SUCCESS:
        raise LiveSetStateError(
            f"live set {live_set.id} is {live_set.status}, expected {LiveSetStatus.EXPIRY_SUCCESS}: its deletions are "
            f"known when 'sweep --defer-deletes' is done; {next_step(live_set.id, live_set.status)}"
        )


class _DeferredDeletion:
    """One run."""

    def __init__(self, service: DeferredDeletionService, live_set: LiveSet, report: GcReport, lease: Lease) -> None:
        self.service, self.live_set, self.report, self.lease = service, live_set, report, lease
        self.settings, self.store, self.engine = service.settings, service.store, service.engine
        self.rules = self.settings.choice.rules()
        self.readers = self._readers()

    def run(self) -> None:
        """Reads what was recorded, and takes it part by part to its outcome."""
        report, settings = self.report, self.settings
        plan = self._plan()
        self.rules = plan.rules
        index = UnitIndex.of(plan)
        spared = dict(plan.unknown)
        self._freeze_unusable(plan, spared)
        warn_of_versions(plan.units, settings.choice, report)
        verdicts = self._verdicts(index, plan)
        doomed = {
            unit: files
            for (unit, verdict), (files, _) in count_verdicts(verdicts).items()
            if verdict == Verdict.UNREFERENCED.value and unit not in spared
        }
        over = settings.caps.exceeded(doomed, {})
        for reason in set(over.values()):
            report.warn(reason)
        recheck = self._recheck(plan, index, {**spared, **over})
        report.locations = len(plan.units)
        report.unknown, report.unread, report.refused = plan.unknown, plan.unread, plan.refused
        report.unreadable = plan.unreadable
        parts = min(max(-(-sum(doomed.values()) // settings.files_per_step), 1), BUCKETS)
        real = settings.mode is not DeleteMode.DRY_RUN
        with OutcomeFile(
            settings.outcomes_to, live_set_id=self.live_set.id, clock=self.service.clock, deletes=real
        ) as outcome_file:
            for part in range(parts):
                self.service.progress("delete", part, parts)
                recheck.run_if_due()
                with report.phase("delete"):
                    self._take(_part(verdicts, part, parts), recheck, outcome_file)
            self.service.progress("delete", parts, parts)

    # ---- what was recorded -----------------------------------------------------------------------------
    def _readers(self) -> list[type[ContentToFiles]]:
        """The readers of what the live set holds."""
        types = {original_type(version.content_type) for version in self.store.content_versions(self.live_set.id)}
        readers = self.settings.choice.registry().readers_of(types)
        check_executors(self.engine, *readers)
        return readers

    def _plan(self) -> SweepPlan:
        """The locations of the deletions; the configuration may allow others than it did (S13)."""
        locations = dict.fromkeys(deletion.location for deletion in self.store.file_deletions(self.live_set.id))
        return plan_units(locations, self.rules, self.settings.allowed)

    def _freeze_unusable(self, plan: SweepPlan, spared: dict[str, str]) -> None:
        """Takes out units that nobody can delete from."""
        with OpenConnectors(self.settings.choice) as connectors:
            for unit in list(plan.units):
                try:
                    deleters = [connectors.deleter(location) for location in unit.locations]
                except ConfigurationError as error:
                    plan.freeze([unit.root], str(error))
                    spared[unit.root] = str(error)
                    continue
                check_executors(self.engine, *(type(deleter) for deleter in deleters))

    def _verdicts(self, index: UnitIndex, plan: SweepPlan) -> Dataset:
        """All recorded deletions, with vetoes; a file and its checksum sidecar as one row."""
        recorded = to_batches(self._rows(index), STORED_FILES)
        files = self.engine.dataset(recorded, STORED_FILES)
        with_sidecars = StoredCounts(files).with_sidecars  # refused units as well, which the plan does not have
        candidates = subtract.unreferenced(files, lambda stored: stored, with_sidecars=with_sidecars)
        verdicts = judge(candidates, None, self.settings.choice)
        return verdicts.flat_map(SpareLocations(plan.refused)).checkpoint() if plan.refused else verdicts

    def _rows(self, index: UnitIndex) -> Iterator[Row]:
        for deletion in self.store.file_deletions(self.live_set.id):
            location, path = deletion.location, deletion.path
            file = FileReference(location=location, path=path, size=deletion.size, modified=deletion.modified)
            try:
                found = index.find(location + path)
            except UnknownLocationError:
                found = None
            unit, key = found if found is not None else (location, path)
            owner = sidecar_owner(key) if unit.partition(":")[0] in HADOOP_FILE_SYSTEMS else None
            if owner is None:
                self.report.files_listed.add(1, deletion.size or 0)
            yield stored_row(unit, key, file, owner)

    # ---- what becomes of it ----------------------------------------------------------------------------
    def _recheck(self, plan: SweepPlan, index: UnitIndex, spared: dict[str, str]) -> Recheck:
        finder = UnknownFinder(
            engine=self.engine,
            store=self.store,
            versions_of=lambda content_id: self.store.content_versions(self.live_set.id, content_id),
            repository=self.live_set.repository,
            rules=self.rules,
            choice=self.settings.choice,
            readers=self.readers,
        )
        return Recheck(
            engine=self.engine,
            repository=self.service.repository,
            settings=self.settings,
            live_set=self.live_set,
            report=self.report,
            plan=plan,
            index=index,
            readers=self.readers,
            finder=finder,
            known=self.engine.empty(EXPANDED_FILES),
            spared_units=spared,
        )

    def _take(self, verdicts: Dataset, recheck: Recheck, outcome_file: OutcomeFile) -> None:
        """Deletes one part, counts, and forgets what is gone."""
        settings = self.settings
        mine = recheck.spare_newly_live(verdicts).checkpoint()
        real = settings.mode is not DeleteMode.DRY_RUN
        if real:
            dead = mine.where("verdict", [Verdict.UNREFERENCED.value])
            dead = dead.where("unit", sorted(recheck.spared_units), negate=True)
            at = self.service.clock()
            bury(dead, self.readers, settings.choice, self.store, self.live_set.repository, at=at)
        self.lease.check()
        mode = DeleteMode.DELETE if real else DeleteMode.DRY_RUN
        function = DeleteFiles(settings.choice, mode, recheck.spared_units)
        outcomes = dealt_out(mine).flat_map(function).checkpoint()
        outcome_file.write(outcomes)
        if real:  # what is not forgotten is named again by the next run, which finds it gone
            self._forget(outcomes)
        count_outcomes(outcomes, self.report)
        name_files(outcomes, self.report)

    def _forget(self, outcomes: Dataset) -> None:
        """Removes the records of files that are gone; those that failed or were spared stay recorded."""
        gone = outcomes.where("outcome", [Outcome.DELETED.value, Outcome.ALREADY_GONE.value])
        for batch in gone.batches():
            self.store.remove_file_deletions(self.live_set.id, file_deletions(batch))


def _part(verdicts: Dataset, part: int, parts: int) -> Dataset:
    if parts == 1:
        return verdicts
    return verdicts.where("bucket", [bucket for bucket in range(BUCKETS) if bucket % parts == part])
