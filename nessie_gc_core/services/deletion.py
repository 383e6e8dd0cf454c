"""The tail of every deletion: re-check, delete step by step, record, and count every outcome (S9, S15, S21).

A sweep and the deferred deletions differ only in where the verdicts come from and in how outcomes are recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from nessie_gc_core.algorithms.delete import DeleteFiles, Remove, dealt_out
from nessie_gc_core.algorithms.guard import spare
from nessie_gc_core.algorithms.hold import Hold
from nessie_gc_core.algorithms.roots import ROOTS, may_be_roots
from nessie_gc_core.algorithms.with_versions import WithVersions, older_versions
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_texts
from nessie_gc_core.model.relations import FILE_KEYS, VERDICTS
from nessie_gc_core.model.verdicts import DeleteMode, Verdict
from nessie_gc_core.services.finding_parameters import NoncurrentVersions
from nessie_gc_core.services.looked_at import LookedAt
from nessie_gc_core.services.lost_and_found import keep_namesakes
from nessie_gc_core.services.outcome_counts import Counts, add_outcomes
from nessie_gc_core.services.outcome_file import OutcomeFile
from nessie_gc_core.services.quarantine.holding import Holding, Tables
from nessie_gc_core.services.quarantine.needed_again import NeededAgain
from nessie_gc_core.services.quarantine.places import hold_places
from nessie_gc_core.services.quarantine.tagged import leave_tagged
from nessie_gc_core.services.recheck import BECAME_LIVE, NewlyNeeded, Recheck
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Scope
from nessie_gc_core.services.steps import Judged, Step, judged, steps_of
from nessie_gc_core.services.versioning import stores_without_versions

DEAD = Verdict.UNREFERENCED.value


class OutcomeRecords(ABC):
    """How the live-set store remembers what is about to be deleted, and its outcome."""

    counts_earlier: ClassVar[bool] = False
    """Whether :meth:`begin` counts what an earlier attempt took, so that it must not be counted as spared."""

    @abstractmethod
    def begin(self, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Settles what an earlier attempt left open; nothing is deleted yet."""

    @abstractmethod
    def announce(self, step: Step, rows: Dataset, spared: Mapping[str, str], outcome_file: OutcomeFile) -> None:
        """Records what a step is about to delete: its rows (:data:`VERDICTS`) but for the units that are spared."""

    @abstractmethod
    def remember(self, outcomes: Dataset) -> None:
        """Puts in or takes out the records of single files (:data:`OUTCOMES`), before anything is counted as done."""

    @abstractmethod
    def close(self, step: Step, by_unit: Mapping[str, Counts]) -> None:
        """Records that a step is done, with the counts of its units."""


OnOutcomes = Callable[[Dataset], None]
"""Told the outcomes (:data:`OUTCOMES`) of every step, when they are recorded."""


def nobody_told(outcomes: Dataset) -> None:
    """Is not told."""


class Deletion:
    """Deletes what was judged unreferenced, if it still is."""

    def __init__(
        self,
        run: SweepRun,
        scope: Scope,
        *,
        looked_at: LookedAt | None = None,
        spared_units: Mapping[str, str] | None = None,
        on_outcomes: OnOutcomes = nobody_told,
        tables: Callable[[], Tables] = tuple,
    ) -> None:
        """Takes what it is about.

        Args:
            run: the run.
            scope: the sweep units.
            looked_at: what was listed; ``None``: nothing.
            spared_units: units that are spared as a whole, with the reason.
            on_outcomes: told the outcomes of every step.
            tables: the names of the tables at each unit, for the records of a quarantine.
        """
        self._run = run
        self._on_outcomes = on_outcomes
        self._scope = scope
        self._holding: Holding | None = None
        self._tables = tables
        self._with_versions: WithVersions | None = None
        self._recheck = Recheck(run, scope, spared_units or {}, looked_at)
        self._rows = run.engine.empty(VERDICTS)
        self._roots = run.engine.empty(ROOTS)

    def run(self, verdicts: Dataset, records: OutcomeRecords, stored_by_unit: Mapping[str, int]) -> Dataset | None:
        """Takes all verdicts (:data:`VERDICTS`), step by step, to their outcomes.

        Args:
            verdicts: what was judged.
            records: remembers what is deleted.
            stored_by_unit: how many files each unit holds, where that is known.

        Returns:
            The outcomes (:data:`OUTCOMES`) of the last step; a dry run has only one.
        """
        run = self._run
        verdicts = leave_tagged(verdicts, self._scope.index, run, counted=records.counts_earlier)
        found = judged(verdicts)
        if run.parameters.quarantine:
            self._prepare_quarantine()
        if run.parameters.noncurrent_versions is NoncurrentVersions.DELETE:
            self._with_versions = stores_without_versions(self._scope.plan, run)
        self._spare_over_caps(found, stored_by_unit)
        steps = self._steps(found)
        outcomes: Dataset | None = None
        if steps:
            self._store(verdicts)
        with self._outcome_file() as outcome_file:
            if run.parameters.mode.removes:
                records.begin(verdicts, outcome_file)
            for number, step in enumerate(steps):
                run.tell("delete", number, len(steps))
                newly_live = self._recheck.run_if_due()
                if newly_live is not None:
                    with run.report.phase("recheck"):
                        self._spare(newly_live, steps[number:])
                        self._keep_in_quarantine(newly_live.files)
                with run.report.phase("delete"):
                    outcomes = self._take(step, records, outcome_file)
            run.tell("delete", len(steps), len(steps))
        return outcomes

    def _prepare_quarantine(self) -> None:
        """Finds where files are moved to; what cannot be moved is spared, also in a dry run (S21)."""
        run = self._run
        places, without = hold_places(run.parameters.quarantine, self._scope.plan, run)
        self._recheck.spared_units.update(without)
        if run.parameters.mode is DeleteMode.DEFER:
            run.report.warn("the deletions are only recorded: give `quarantine` to 'deferred-deletes' as well")
        if run.parameters.mode is DeleteMode.QUARANTINE:
            hold = Hold(live_set_id=run.live_set.id, places=places)
            self._holding = Holding(run, hold, self._tables)

    def _spare_over_caps(self, found: Judged, stored_by_unit: Mapping[str, int]) -> None:
        spared = self._recheck.spared_units
        doomed = {
            unit: files for (unit, verdict), (files, _) in found.items() if verdict == DEAD and unit not in spared
        }
        over = self._run.parameters.caps.exceeded(doomed, stored_by_unit)
        spared.update(over)
        for reason in set(over.values()):
            self._run.report.warn(reason)

    def _steps(self, found: Judged) -> list[Step]:
        """The steps; one is enough where nothing is deleted between two looks at the references."""
        if self._run.parameters.mode is DeleteMode.DRY_RUN:
            return [Step(None)] if found else []
        return list(steps_of(found, self._run.parameters.files_per_step))

    def _outcome_file(self) -> OutcomeFile:
        run = self._run
        mode = run.parameters.mode
        return OutcomeFile(
            run.parameters.outcomes_to,
            live_set_id=run.live_set.id,
            clock=run.clock,
            deletes=mode.removes,
            alone=mode is not DeleteMode.DRY_RUN,
            done=mode.done,
        )

    def _store(self, verdicts: Dataset) -> None:
        """Stores all verdicts, distributed, before the first step and whenever some change; steps choose among them."""
        if not self._run.parameters.mode.removes:
            self._rows = verdicts.checkpoint()
        else:
            self._rows = dealt_out(verdicts)
            dead = self._rows.where("verdict", [DEAD])
            self._roots = may_be_roots(dead, self._scope.readers, self._run.choice).checkpoint()

    def _spare(self, newly_live: NewlyNeeded, ahead: Sequence[Step]) -> None:
        """Spares files in the remaining steps, if any of them is about to be deleted; so it does what may be one."""
        units = {unit for step in ahead for unit in step.units or ()}
        rows = kept = self._rows.where("unit", sorted(units)) if units else self._rows
        if rows.where("verdict", [DEAD]).semi_join(newly_live.files, FILE_KEYS.names).head(1).num_rows:
            kept = spare(rows, newly_live.files, BECAME_LIVE)
        kept = keep_namesakes(kept, newly_live.names, self._run)
        if kept is not rows:
            self._store(kept)

    def _keep_in_quarantine(self, newly_live: Dataset) -> None:
        """Spares the units of files (:data:`FILE_KEYS`) that are in quarantine, which get more time (S29)."""
        plan, before = self._scope.plan, self._scope.plan.roots
        NeededAgain(self._scope.index, plan, self._run).became_live(newly_live)
        left = frozenset(plan.roots)
        self._recheck.spared_units.update((unit, plan.why(unit)) for unit in before if unit not in left)

    def _take(self, step: Step, records: OutcomeRecords, outcome_file: OutcomeFile) -> Dataset:
        """Deletes one step: announces it, deletes, counts, and closes it."""
        run, spared, mode = self._run, self._recheck.spared_units, self._run.parameters.mode
        rows = step.of(self._rows)
        run.lease.check()  # whoever lost it announces nothing either
        if mode.removes:
            records.announce(step, rows, spared, outcome_file)
            self._put_up_tombstones(step.of(self._roots))
        if self._holding is not None:
            self._holding.announce(rows, spared)
        run.lease.check()
        still_held = run.lease.still_held(run.engine)
        outcomes = rows.flat_map(DeleteFiles(run.choice, mode, spared, still_held, self._remove)).checkpoint()
        run.lease.check_held()  # else the records are somebody else's by now; a resumed sweep finds what is gone
        outcome_file.write(outcomes)
        if self._holding is not None:
            self._holding.remember(outcomes)
        if mode is not DeleteMode.DRY_RUN:
            records.remember(outcomes)
        by_unit = add_outcomes(outcomes, run.report)
        if self._with_versions is not None:
            run.report.noncurrent_versions.add(*older_versions(outcomes))
        if mode.removes:
            records.close(step, by_unit)
        self._on_outcomes(outcomes)
        return outcomes

    @property
    def _remove(self) -> Remove | None:
        """How files are removed, where they are not just deleted."""
        if self._holding is not None:
            return self._holding.hold.move
        return None if self._with_versions is None else self._with_versions.remove

    def _put_up_tombstones(self, roots: Dataset) -> None:
        """Remembers which metadata files are about to be deleted, so that they are not taken for lost later (S7)."""
        run = self._run
        for batch in roots.where("unit", sorted(self._recheck.spared_units), negate=True).batches():
            paths = ["".join(row) for row in to_texts(batch, "unit", "key")]
            for member in run.read:
                run.store.add_tombstones(member.live_set.repository, paths, at=run.clock())
