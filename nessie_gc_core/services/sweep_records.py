"""What a sweep records of its steps, so that one that was killed can be resumed, and everything is counted (S15)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

from nessie_gc_core.algorithms.count import count_old_enough
from nessie_gc_core.algorithms.planned import PlanFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.live_sets import NEWEST_ANNOUNCED, SweepStep, SweepStepState
from nessie_gc_core.model.relations import UNKNOWN_TIME
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.services.deletion import DEAD, OutcomeRecords
from nessie_gc_core.services.file_deletions import record_deletions
from nessie_gc_core.services.outcome_counts import Counts
from nessie_gc_core.services.outcome_file import OutcomeFile
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Scope
from nessie_gc_core.services.steps import Step, judged, step_of

_SPARED = Verdict.SPARED.value
_CLOCKS_DIFFER = 60_000_000
"""Microseconds by which a store's time of a file may be behind that of whoever listed the references."""


class SweepRecords(OutcomeRecords):
    """Announces each step before its first deletion, and closes it after its last."""

    counts_earlier: ClassVar[bool] = True

    def __init__(self, run: SweepRun, scope: Scope) -> None:
        self._run = run
        self._scope = scope
        self._attempt = 1
        self._announced: dict[str, tuple[int, int]] = {}
        self.done_before = 0
        """How many files earlier attempts deleted, which the report counts as well."""

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
        closed = _closed(known, verdicts, self._run)
        self._run.store.record_steps(self._run.live_set.id, closed)
        for step in (*closed, *(step for step in earlier if step.state is SweepStepState.DONE)):
            for outcome in (Outcome.DELETED, Outcome.QUARANTINED, Outcome.ALREADY_GONE):
                files, size = step.outcomes.get(outcome.value, (0, 0))
                report.add_outcome(step.unit, outcome, files, size)
                self.done_before += files

    def announce(self, step: Step, rows: Dataset, spared: Mapping[str, str], outcome_file: OutcomeFile) -> None:
        """Records each unit of the step, and names its files in the outcome file's plan."""
        found, newest = count_old_enough(rows)
        self._announced = {
            unit: counts for (unit, verdict), counts in found.items() if verdict == DEAD and unit not in spared
        }
        doing = self._run.parameters.mode.done.value
        kept = {
            unit: {
                Outcome.SPARED.value: found.get((unit, _SPARED), (0, 0)),
                doing: (0, 0),
                NEWEST_ANNOUNCED: (newest, 0),
            }
            for unit in self._announced
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


class _Left(NamedTuple):
    """What is stored of the units of some steps and nothing needs, whatever its verdict is now: files and bytes."""

    as_announced: Mapping[str, tuple[int, int]]
    """Of each unit what is as old as what was announced."""
    written_since: Mapping[str, tuple[int, int]]
    """Of each unit what was written after the references were listed; any of it may be at the path of such a file."""

    @classmethod
    def of(cls, steps: Sequence[SweepStep], part: str, verdicts: Dataset, listed: int) -> Self:
        """Finds it.

        Args:
            steps: unfinished steps of one part.
            part: their part.
            verdicts: of everything that nothing needs (:data:`VERDICTS`).
            listed: when the references were listed, in microseconds.
        """
        mine = step_of([step.unit for step in steps], part).of(verdicts)
        newest = max(step.outcomes.get(NEWEST_ANNOUNCED, (listed, 0))[0] for step in steps)
        since = f"modified > {max(newest, listed - _CLOCKS_DIFFER)} AND modified < {UNKNOWN_TIME}"
        return cls(_by_unit(mine.matching(f"modified <= {newest}")), _by_unit(mine.matching(since)))


def _by_unit(verdicts: Dataset) -> Mapping[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for (unit, _), (files, bytes_) in judged(verdicts).items():
        before = found.get(unit, (0, 0))
        found[unit] = (before[0] + files, before[1] + bytes_)
    return found


def _closed(steps: Sequence[SweepStep], verdicts: Dataset, run: SweepRun) -> list[SweepStep]:
    """Unfinished steps, closed: what they were about to delete and no longer exists was deleted by them.

    A file that was written again is none of these, and cannot be told from one that is new: as many as there are of
    both are not counted.
    """
    listed = to_micros(run.live_set.references_listed or run.live_set.created)
    closed = []
    for part, some in itertools.groupby(sorted(steps, key=_part), key=_part):
        together = list(some)
        left = _Left.of(together, part, verdicts, listed)
        for step in together:
            gone = Outcome.QUARANTINED if Outcome.QUARANTINED.value in step.outcomes else Outcome.DELETED
            files, bytes_ = _gone_since(step, left)
            doubtful, doubtful_bytes = left.written_since.get(step.unit, (0, 0))
            if doubtful := min(doubtful, files):
                run.report.warn(
                    f"{plural(doubtful, 'file')} in {step.unit} may have been {gone} by an earlier attempt, or written "
                    "again since; not counted"
                )
                files, bytes_ = files - doubtful, max(bytes_ - doubtful_bytes, 0) if files > doubtful else 0
            closed.append(replace(step, state=SweepStepState.DONE, outcomes={gone.value: (files, bytes_)}))
    return closed


def _gone_since(step: SweepStep, left: _Left) -> tuple[int, int]:
    """Files and bytes that an unfinished step had announced and that no longer exist as they were.

    Whether a file is spared or too young may have changed since, so those count on both sides; but files that were too
    young then are newer than all that was announced.
    """
    kept_files, kept_bytes = step.outcomes.get(Outcome.SPARED.value, (0, 0))
    left_files, left_bytes = left.as_announced.get(step.unit, (0, 0))
    files = step.planned_files + kept_files - left_files
    return max(files, 0), max(step.planned_bytes + kept_bytes - left_bytes, 0) if files > 0 else 0
