"""The sweep service: expands a live set, lists its locations, subtracts, and deletes what is left."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar
from uuid import UUID

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.expansion_cache import ExpansionCache
from nessie_gc_core.algorithms.guard import StoreAges, judge, spare
from nessie_gc_core.algorithms.listing import list_units
from nessie_gc_core.algorithms.planned import Planned, PlannedOutcomes, only_planned
from nessie_gc_core.algorithms.storable import failure_text
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Beside, Dataset
from nessie_gc_core.errors import LiveSetStateError
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.closing import only_warned
from nessie_gc_core.model.live_sets import DroppedSweep, LiveSet, LiveSetStatus
from nessie_gc_core.model.locations import LocationRules, with_slash
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.services.begin import work_on_live_set
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.deletion import Deletion, OnOutcomes, nobody_told
from nessie_gc_core.services.file_lists import FileLists
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.forgotten import held_back
from nessie_gc_core.services.looked_at import LookedAt
from nessie_gc_core.services.lost_and_found import Missing, find_missing, keep_namesakes
from nessie_gc_core.services.marked import freeze_marked
from nessie_gc_core.services.needed import Located, Needed, find_needed, locate
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.plans.making import named_by_plan, planned_by, save_plan
from nessie_gc_core.services.preconditions import check_marked, check_sweeper
from nessie_gc_core.services.quarantine.holding import named
from nessie_gc_core.services.quarantine.needed_again import NeededAgain
from nessie_gc_core.services.quarantine.tagged import look_for_tagged
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.steps import judged
from nessie_gc_core.services.sweep_records import SweepRecords
from nessie_gc_core.services.swept import Swept, tables_at
from nessie_gc_core.services.version_hints import with_hints
from nessie_gc_core.services.versioning import warn_of_versions
from nessie_gc_core.services.watch import watched


class Purpose:
    """What a service with its own kind of sweep may override; by default nothing."""

    def restrict(self, located: Located) -> None:
        """Takes out of the plan what is not swept; contents there are read all the same."""

    def chosen(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """Those of some verdicts (:data:`VERDICTS`) that are selected; the others are not reported."""
        return verdicts

    def before_deletion(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """Does what must be done before anything is deleted; returns the verdicts (:data:`VERDICTS`) as they are then.

        Not called where nothing is deleted. The references are looked at again after it.
        """
        return verdicts

    def left_open(self) -> str | None:
        """Why the live set is not done with when all else of the sweep is; ``None``: it is."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """What someone else than its parameters says of a sweep."""

    only: Planned | None = None
    """The only files that may be deleted, on the engine of the run."""
    on_outcomes: OnOutcomes = nobody_told
    """Told the outcome of files, step by step."""
    cache: ExpansionCache | None = None
    """What an earlier run remembers of manifests."""
    remember: bool = True
    """Whether the live-set store remembers where contents are, for later runs."""
    alone: bool = True
    """Whether the lease of each repository is taken; a run that changes neither files nor the store needs none."""
    purpose: Purpose = field(default_factory=Purpose)
    """What the sweep is for, where that is not all garbage."""
    service: str | None = None
    """Name of the service that alone may sweep the live set, because it deletes less than a sweep."""


@dataclass(frozen=True, slots=True)
class SweepService(Service[Run]):
    """Delete the files that a live set does not need: expand it, list its locations, subtract, check again, delete."""

    name: ClassVar[str] = "sweep"
    aliases: ClassVar[tuple[str, ...]] = ("expire",)
    Parameters: ClassVar[type[ConnectorOptions]] = SweepParameters

    parameters: SweepParameters
    directions: Directions = field(default_factory=Directions)

    def run(self, run: Run) -> GcReport:
        """Sweeps.

        Raises:
            SafetyError: the live set is too old, or of another repository.
            LiveSetStateError, LeaseHeldError: it is not ready, or another process is sweeping.
            NessieGcError: the sweep failed; the live set is then EXPIRY_FAILED, and can be resumed.
        """
        self.outcomes(run)
        return run.report

    def outcomes(self, run: Run) -> Dataset | None:
        """Sweeps, and returns the outcomes (:data:`OUTCOMES`) of the last step; a dry run has only one."""
        return self.swept(run).outcomes

    def swept(self, run: Run) -> Swept:
        """Sweeps, and returns what was found on the way."""
        return replace(self, parameters=named_by_plan(self.parameters, run.store))._swept(run)

    def _swept(self, run: Run) -> Swept:
        with work_on_live_set(run, self.parameters, self._check_status, alone=self.directions.alone) as sweep_run:
            return self._sweep(sweep_run)

    def _check_status(self, run: SweepRun) -> None:
        for live_set in reversed(self._to_sweep(run)):
            named = replace(live_set, id=run.live_set.id)  # one id names them all
            check_sweeper(named, self.directions.service)
            check_marked(named, resume=self.parameters.resume)
            if live_set.is_of_expiry and type(self.directions.purpose) is Purpose:
                raise LiveSetStateError(
                    f"live set {live_set.id} belongs to a snapshot expiry, which a sweep cannot finish: run "
                    "`expire_snapshots` again"
                )

    def _to_sweep(self, run: SweepRun) -> list[LiveSet]:
        """The live sets whose sweep this is; the one with the records is the last of which a sweep says it is done.

        Where one repository is chosen, the others are not swept: their live sets only say what is needed.
        """
        first, *others = (member.live_set for member in run.worked_on)
        done = LiveSetStatus.EXPIRY_SUCCESS if self.parameters.resume else None
        return [*(live_set for live_set in others if live_set.status is not done), first]

    def _sweep(self, run: SweepRun) -> Swept:
        """Sweeps under the lease; a dry run leaves the live sets as they are."""
        directions, plan = self.directions, self.parameters.apply
        if plan is not None:  # one that was changed is refused before the live sets say that they are being swept
            directions = replace(directions, only=planned_by(plan, run))
        sweep = _Sweep(run, self.parameters, directions)
        if run.parameters.mode is DeleteMode.DRY_RUN:
            return sweep.run()
        ids = [live_set.id for live_set in self._to_sweep(run)]
        for id_ in ids:
            run.store.start_expire(id_, at=run.clock(), resume=self.parameters.resume)
        try:
            swept = sweep.run()
            run.lease.check()
        except BaseException as error:
            if run.lease.is_held:  # else the live sets may be somebody else's by now
                with only_warned("the store does not know that the sweep failed, which can be resumed"):
                    _finish(run, ids, failure_text(error))
            raise
        rule, dropped = self.parameters.dropped, None
        if rule is not None:
            whole = type(directions.purpose) is Purpose and directions.only is None
            dropped = DroppedSweep(after=rule.after, left=swept.left_of_dropped(run.report, whole=whole))
        _finish(run, ids, self.directions.purpose.left_open() or sweep.left_open(), dropped)
        return swept


def _finish(
    run: SweepRun, live_set_ids: Sequence[UUID], failure: str | None, dropped: DroppedSweep | None = None
) -> None:
    """Ends the sweep of live sets; one that succeeded keeps the digest of its deferred deletions (S34)."""
    for id_ in live_set_ids:
        digest = None if failure is not None else RowsDigest.of(each.values for each in run.store.file_deletions(id_))
        run.store.finish_expire(id_, at=run.clock(), failure=failure, deletions=digest, dropped=dropped)


class _Sweep:
    """One sweep under way."""

    def __init__(self, run: SweepRun, parameters: SweepParameters, directions: Directions) -> None:
        self._run = run
        self._parameters = parameters
        self._only = directions.only
        self._on_outcomes = directions.on_outcomes
        self._cache = directions.cache
        self._remember = directions.remember
        self._purpose = directions.purpose
        self._lists = FileLists.opened(run, parameters)
        self._due = 0
        """How many files of a plan were to be deleted, those that earlier attempts deleted included."""

    def run(self) -> Swept:
        """All steps up to the guard; then deletion."""
        run = self._run
        with run.report.phase("expand"):
            located = locate(run, dropped=self._parameters.dropped, remember=self._remember)
        self._purpose.restrict(located)
        ages = self._ages(located.plan)
        with self._listing(tuple(located.plan.units), located.plan.rules) as listed:
            with run.report.phase("expand"):
                needed = find_needed(located, run, listed.check, self._cache)
            stored, counts = listed.result()
        looked_at = LookedAt.by_listing(stored, located.plan, located.places())
        again = NeededAgain(needed.scope.index, needed.scope.plan, run)
        missing, verdicts = self._judged(needed, ages, looked_at, counts, again)
        look_for_tagged(needed.expansion.reachable(), needed.scope, run, missing.names)
        unlisted = needed.expansion.reachable() if self._parameters.file_list else None
        again.keep(unlisted=unlisted, outside=needed.expansion)
        verdicts = self._purpose.chosen(self._held_back(verdicts, located, needed), needed, run)
        warn_of_versions(needed.scope.plan.units, run, run.parameters)
        needed.scope.report_to(run)
        records = SweepRecords(run, needed.scope)
        if run.parameters.mode.removes:
            verdicts = self._purpose.before_deletion(verdicts, needed, run)
        deletion = Deletion(
            run,
            needed.scope,
            looked_at=looked_at,
            on_outcomes=self._on_outcomes,
            tables=lambda: named(tables_at(located, needed.scope, run.report, {})),
        )
        outcomes = deletion.run(verdicts, records, counts.files_by_unit)
        self._due += records.done_before
        run.report.dropped = self._dropped(located, needed)
        swept = Swept(
            live_set=run.live_set,
            outcomes=outcomes,
            located=located,
            scope=needed.scope,
            stored=stored,
            lost=missing.lost,
        )
        if self._parameters.by_table:
            run.report.tables = swept.by_table(run.report, counts.files)
        if self._parameters.plan is not None:
            save_plan(self._parameters.plan, swept, run, self._parameters)
        return swept

    def _held_back(self, verdicts: Dataset, located: Located, needed: Needed) -> Dataset:
        """The verdicts, but the metadata that alone shows a dropped table is deleted after the rest of it."""
        shown = [each for each in located.dropped if each.metadata_location is not None]
        left: dict[str, int] = {}
        for (unit, _), (files, _) in judged(verdicts).items() if shown else ():
            left[unit] = left.get(unit, 0) + files
        held = held_back(shown, needed.scope.index, left)
        if not held:
            return verdicts
        keys = self._run.engine.dataset(to_batches(held, FILE_KEYS), FILE_KEYS)
        return spare(verdicts, keys, "it alone shows where a dropped table is; it is deleted after the rest of it")

    def _dropped(self, located: Located, needed: Needed) -> dict[str, str]:
        """The dropped contents that were swept on their own and had files."""
        files_in, roots = self._run.report.files_in, frozenset(needed.scope.plan.roots)
        found = ((each, needed.scope.index.find(with_slash(each.location))) for each in located.dropped)
        return {
            each.location: each.reason
            for each, unit in found
            if unit is not None and not unit[1] and unit[0] in roots and files_in.get(unit[0])
        }

    def _listing(
        self, units: Sequence[SweepUnit], rules: LocationRules
    ) -> AbstractContextManager[Beside[tuple[Dataset, StoredCounts]]]:
        """Lists the units beside what the block does, or else when that is done.

        In one process that is worth it only where there is something to wait for: threads that never wait get in each
        other's way.
        """
        engine, choice, listed = self._run.engine, self._run.choice, partial(self._listed, units, rules)
        if engine.distributed or any(choice.reads_at_once(at) > 1 for unit in units for at in unit.locations):
            return engine.beside(listed)
        return nullcontext(Beside(result=listed))

    def _listed(self, units: Sequence[SweepUnit], rules: LocationRules) -> tuple[Dataset, StoredCounts]:
        """Lists the units; nothing that is found out meanwhile changes that."""
        run = self._run
        run.tell("list", 0, None)
        with run.report.phase("list"), watched(run, lambda done: run.tell("list", done.files_listed, None)):
            if self._lists.lists:
                stored = self._lists.stored(run, units, rules)
            else:
                stored = list_units(run.engine, units, run.choice, rules)
            counts = StoredCounts(stored)
        run.report.left_alone = counts.left_alone
        run.report.files_in = counts.files_by_unit
        listed = sum(counts.files_by_unit.values())
        run.tell("list", listed, listed)
        return stored.where("left_alone", [0]), counts

    def _judged(
        self, needed: Needed, ages: dict[str, StoreAges], looked_at: LookedAt, counts: StoredCounts, again: NeededAgain
    ) -> tuple[Missing, Dataset]:
        """What is reachable and not stored; and judges what is stored and not reachable."""
        run, report, plan = self._run, self._run.report, needed.scope.plan
        by_lists = bool(self._parameters.file_list)
        run.tell("subtract", 0, None)
        with report.phase("subtract"):
            for unit, problem in counts.problems.items():
                plan.freeze([unit], problem)
            freeze_marked(plan, counts.marks)
            reachable = with_hints(needed, looked_at.stored, counts.marks, run)
            missing = find_missing(looked_at, needed.expansion, plan, counts, run, again, by_lists=by_lists)
            stored = looked_at.stored.where("unit", sorted(plan.roots))
            for root in plan.roots:
                report.files_listed.add(*counts.files.get(root, (0, 0)))
            candidates = self._candidates(stored, reachable, counts.with_sidecars)
            verdicts = self._planned(judge(candidates, ages, run.choice, look_again=by_lists))
            return missing, keep_namesakes(verdicts, missing.names, run)

    def _ages(self, plan: SweepPlan) -> dict[str, StoreAges]:
        """What the clock of every store says about ages (S8)."""
        live_sets = (member.live_set for member in self._run.read)
        listed = self._lists.counted_from(min(each.references_listed or each.created for each in live_sets))
        locations = (location for unit in plan.units for location in unit.locations)
        return store_ages(locations, self._parameters.age, listed, self._run)

    def _candidates(self, stored: Dataset, reachable: Dataset, with_sidecars: Collection[str]) -> Dataset:
        not_reachable = subtract.exact(reachable)
        if self._parameters.membership is Membership.BLOOM:
            not_reachable = subtract.bloom(
                reachable,
                capacity=self._parameters.expected_file_count,
                false_positive_rate=self._parameters.fpp,
            )
        return subtract.unreferenced(stored, not_reachable, with_sidecars=with_sidecars)

    def _planned(self, verdicts: Dataset) -> Dataset:
        """The verdicts that a plan has as well, where there is one; it says how many of its files stay."""
        if self._only is None:
            return verdicts
        mine = only_planned(verdicts, self._only).checkpoint()
        dead = mine.where("verdict", [Verdict.UNREFERENCED.value]).present("path")
        found = dead.count()
        self._due = found if isinstance(self._only, PlannedOutcomes) else 0
        left_out = self._only.count() - found
        if left_out:
            self._run.report.warn(f"{plural(left_out, 'file')} {self._only.left_out}")
        return mine

    def left_open(self) -> str | None:
        """Why a plan can be applied again; ``None``: all that could be deleted of it is."""
        outcomes = self._run.report.outcomes
        done = sum(outcomes[outcome].files for outcome in {self._run.parameters.mode.done, Outcome.ALREADY_GONE})
        left = self._due - done
        return f"{plural(left, 'file')} of the plan stayed: apply it again" if left > 0 else None
