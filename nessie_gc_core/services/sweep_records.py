"""What a sweep records of its steps, so that one that was killed can be resumed, and everything is counted (S15)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from nessie_gc_core.algorithms.planned import PlanFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import SweepStep, SweepStepState
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.services.deletion import DEAD, OutcomeRecords
from nessie_gc_core.services.file_deletions import record_deletions
from nessie_gc_core.services.outcome_counts import Counts
from nessie_gc_core.services.outcome_file import OutcomeFile
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Scope
from nessie_gc_core.services.steps import Judged, Step, judged, step_of

_SPARED = Verdict.SPARED.value


class SweepRecords(OutcomeRecords):
    """Announces each step before its first deletion, and closes it after its last."""

    counts_earlier: ClassVar[bool] = True

    def __init__(self, run: SweepRun, scope: Scope) -> None:
        self._run = run
        self._scope = scope
        self._attempt = 1
        self._announced: dict[str, tuple[int, int]] = {}

    def begin(self, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Counts what an earlier attempt of the same sweep deleted, and names it.

        A finished step says it. An unfinished one says what it was about to delete: what no longer exists was deleted
        by it. Of a unit that is not swept this time nothing can be said.
        """
        earlier = list(self._run.store.steps(self._run.live_set.id))
        held = any(Outcome.QUARANTINED.value in step.outcomes for step in earlier)
        if held and self._run.parameters.mode is DeleteMode.DELETE:
            raise ConfigurationError(
                "an earlier attempt of this sweep moved files to a quarantine: resume it with `quarantine`, too"
            )
        self._attempt = max((int(_attempt(step)) + 1 for step in earlier), default=1)
        self._carry_over(earlier, verdicts)
        stored = verdicts.flat_map(PlanFiles(whatever_the_verdict=True))
        listed = sorted({location for unit in self._scope.plan.units for location in unit.locations})
        outcome_file.name_earlier(stored, listed, self._run.engine)

    def _carry_over(self, earlier: Sequence[SweepStep], verdicts: Dataset) -> None:
        report, swept = self._run.report, set(self._scope.plan.roots)
        unfinished = [step for step in earlier if step.state is SweepStepState.STARTED]
        known = [step for step in unfinished if step.unit in swept]
        for step in unfinished:
            if step.unit not in swept:
                report.warn(f"deletions by an earlier attempt in {step.unit} are unknown, and not counted")
        closed = _closed(known, verdicts)
        self._run.store.record_steps(self._run.live_set.id, closed)
        for step in (*closed, *(step for step in earlier if step.state is SweepStepState.DONE)):
            for outcome in (Outcome.DELETED, Outcome.QUARANTINED, Outcome.ALREADY_GONE):
                report.add_outcome(step.unit, outcome, *step.outcomes.get(outcome.value, (0, 0)))

    def announce(self, step: Step, rows: Dataset, spared: Mapping[str, str], outcome_file: OutcomeFile) -> None:
        """Records each unit of the step, and names its files in the outcome file's plan."""
        found = judged(rows)
        self._announced = {
            unit: counts for (unit, verdict), counts in found.items() if verdict == DEAD and unit not in spared
        }
        doing = self._run.parameters.mode.done.value
        kept = {
            unit: {Outcome.SPARED.value: found.get((unit, _SPARED), (0, 0)), doing: (0, 0)} for unit in self._announced
        }
        self._record(step, SweepStepState.STARTED, kept)
        outcome_file.plan(rows.flat_map(PlanFiles(spared_units=spared)))

    def remember(self, outcomes: Dataset) -> None:
        """Records files for later."""
        if self._run.parameters.mode is DeleteMode.DEFER:
            record_deletions(outcomes.where("outcome", [Outcome.DEFERRED.value]), self._run)

    def close(self, step: Step, by_unit: Mapping[str, Counts]) -> None:
        """Closes the units of the step."""
        self._record(step, SweepStepState.DONE, by_unit)

    def _record(self, step: Step, state: SweepStepState, outcomes: Mapping[str, Counts]) -> None:
        recorded = (
            SweepStep(
                unit=unit,
                part=f"{self._attempt}:{step.name}",
                state=state,
                planned_files=files,
                planned_bytes=bytes_,
                outcomes=outcomes.get(unit, {}),
            )
            for unit, (files, bytes_) in self._announced.items()
        )
        self._run.store.record_steps(self._run.live_set.id, recorded)


def _attempt(step: SweepStep) -> str:
    return step.part.partition(":")[0]


def _part(step: SweepStep) -> str:
    return step.part.partition(":")[2]


def _closed(steps: Sequence[SweepStep], verdicts: Dataset) -> list[SweepStep]:
    """Unfinished steps, closed: what they were about to delete and no longer exists was deleted by them."""
    closed = []
    for part, some in itertools.groupby(sorted(steps, key=_part), key=_part):
        together = list(some)
        left = judged(step_of([step.unit for step in together], part).of(verdicts))
        for step in together:
            gone = Outcome.QUARANTINED if Outcome.QUARANTINED.value in step.outcomes else Outcome.DELETED
            outcomes = {gone.value: _gone_since(step, left)}
            closed.append(replace(step, state=SweepStepState.DONE, outcomes=outcomes))
    return closed


def _gone_since(step: SweepStep, left: Judged) -> tuple[int, int]:
    """Files and bytes that an unfinished step had announced and that no longer exist.

    Whether a file is spared may have changed since, so those count on both sides.
    """
    kept_files, kept_bytes = step.outcomes.get(Outcome.SPARED.value, (0, 0))
    files, bytes_ = step.planned_files + kept_files, step.planned_bytes + kept_bytes
    for verdict in (DEAD, _SPARED):
        left_files, left_bytes = left.get((step.unit, verdict), (0, 0))
        files, bytes_ = files - left_files, bytes_ - left_bytes
    return max(files, 0), max(bytes_, 0)
