"""The last part of a sweep: re-check, delete step by step, record, and count every outcome (S9, S15, S21)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nessie_gc_core.algorithms.defer import record_deletions
from nessie_gc_core.algorithms.delete import DeleteFiles, dealt_out
from nessie_gc_core.algorithms.guard import BUCKETS
from nessie_gc_core.algorithms.plan import PlanFiles
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.live_sets import LiveSet, SweepStep, SweepStepState
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.services.bury import bury
from nessie_gc_core.services.counting import count_outcomes, count_verdicts, name_files
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.outcomes import OutcomeFile
from nessie_gc_core.services.recheck import Recheck
from nessie_gc_core.services.report import GcReport

if TYPE_CHECKING:
    from nessie_gc_core.services.sweep import SweepService

_DEAD = Verdict.UNREFERENCED.value
_SPARED = Verdict.SPARED.value


@dataclass(frozen=True, slots=True)
class _Step:
    """What is deleted between two looks at the references: whole units, or some buckets of one large unit."""

    units: tuple[str, ...]
    part: int = 1
    parts: int = 1

    @property
    def name(self) -> str:
        """The part as it is recorded."""
        return f"{self.part}/{self.parts}"

    def of(self, dataset: Dataset) -> Dataset:
        """The rows that belong to the step."""
        mine = dataset.where("unit", self.units)
        if self.parts == 1:
            return mine
        return mine.where("bucket", [b for b in range(BUCKETS) if b % self.parts == self.part - 1])


@dataclass(slots=True, kw_only=True)
class Deletion:
    """Deletes what a sweep found, as far as it is still dead."""

    service: SweepService
    live_set: LiveSet
    report: GcReport
    lease: Lease
    readers: Sequence[type[ContentToFiles]]
    recheck: Recheck
    stored_by_unit: Mapping[str, int]
    _attempt: int = 1

    def run(self, verdicts: Dataset) -> None:
        """Takes all verdicts, step by step, to their outcomes."""
        settings = self.service.settings
        planned = _planned(verdicts)
        doomed = {unit: files for (unit, verdict), (files, _) in planned.items() if verdict == _DEAD}
        over = settings.caps.exceeded(doomed, self.stored_by_unit)
        self.recheck.spared_units.update(over)
        for reason in set(over.values()):
            self.report.warn(reason)
        self._carry_over(verdicts)
        steps = list(_steps(planned, settings.files_per_step))
        with self._outcome_file() as outcome_file:
            self._name_earlier(verdicts, outcome_file)
            for number, step in enumerate(steps):
                self.service.progress("delete", number, len(steps))
                self.recheck.run_if_due()
                with self.report.phase("delete"):
                    self._take(step, verdicts, outcome_file)
            self.service.progress("delete", len(steps), len(steps))

    def _outcome_file(self) -> OutcomeFile:
        settings = self.service.settings
        deletes = settings.mode is DeleteMode.DELETE
        return OutcomeFile(
            settings.outcomes_to, live_set_id=self.live_set.id, clock=self.service.clock, deletes=deletes
        )

    def _name_earlier(self, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Names what an attempt that was killed deleted without a line in the outcome file (S15)."""
        if self.service.settings.mode is DeleteMode.DELETE:
            stored = verdicts.flat_map(PlanFiles(whatever_the_verdict=True))
            listed = sorted({location for unit in self.recheck.plan.units for location in unit.locations})
            outcome_file.name_earlier(stored, listed, self.service.engine)

    def _take(self, step: _Step, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Deletes one step: announces it, deletes, counts, and closes it."""
        settings = self.service.settings
        mine = self.recheck.spare_newly_live(step.of(verdicts))
        real = settings.mode is DeleteMode.DELETE
        planned = self._announce(step, mine) if real else {}
        if real:
            outcome_file.plan(mine.flat_map(PlanFiles(spared_units=self.recheck.spared_units)))
        self.lease.check()
        function = DeleteFiles(settings.choice, settings.mode, self.recheck.spared_units)
        outcomes = dealt_out(mine).flat_map(function).checkpoint()
        outcome_file.write(outcomes)
        if settings.mode is DeleteMode.DEFER:
            deferred = outcomes.where("outcome", [Outcome.DEFERRED.value])
            record_deletions(deferred, self.service.store, self.live_set.id, self.service.engine)
        counted = count_outcomes(outcomes, self.report)
        name_files(outcomes, self.report)
        for unit, (files, bytes_) in planned.items():
            self._record(step, unit, SweepStepState.DONE, files, bytes_, counted.get(unit, {}))

    def _announce(self, step: _Step, mine: Dataset) -> dict[str, tuple[int, int]]:
        """Records what is about to go, and buries the metadata files among it, before the first deletion."""
        spared_units = self.recheck.spared_units
        dead = mine.where("verdict", [_DEAD]).where("unit", sorted(spared_units), negate=True)
        found = _planned(mine)
        planned = {unit: counts for (unit, verdict), counts in found.items() if verdict == _DEAD}
        planned = {unit: counts for unit, counts in planned.items() if unit not in spared_units}
        for unit, (files, bytes_) in planned.items():
            kept = {Outcome.SPARED.value: found.get((unit, _SPARED), (0, 0))}
            self._record(step, unit, SweepStepState.STARTED, files, bytes_, kept)
        service = self.service
        bury(
            dead,
            self.readers,
            service.settings.choice,
            service.store,
            self.live_set.repository,
            at=service.clock(),
        )
        return planned

    def _record(
        self,
        step: _Step,
        unit: str,
        state: SweepStepState,
        files: int,
        bytes_: int,
        outcomes: dict[str, tuple[int, int]],
    ) -> None:
        recorded = SweepStep(
            unit=unit,
            part=f"{self._attempt}:{step.name}",
            state=state,
            planned_files=files,
            planned_bytes=bytes_,
            outcomes=outcomes,
        )
        self.service.store.record_step(self.live_set.id, recorded)

    # ---- resume ----------------------------------------------------------------------------------------
    def _carry_over(self, verdicts: Dataset) -> None:
        """Counts what an earlier attempt of the same sweep deleted (S15).

        A finished step says it. An unfinished one says what it was about to delete: what is not there any more
        was deleted by it. Of a unit that is not swept this time nothing can be said.
        """
        if self.service.settings.mode is not DeleteMode.DELETE:
            return
        for step in list(self.service.store.steps(self.live_set.id)):
            attempt, _, part = step.part.partition(":")
            self._attempt = max(self._attempt, int(attempt) + 1)
            outcomes = step.outcomes
            if step.state is SweepStepState.STARTED:
                if step.unit not in self.recheck.plan.roots:
                    self.report.warn(f"what an earlier attempt deleted in {step.unit} is not known, and not counted")
                    continue
                outcomes = {Outcome.DELETED.value: _gone_since(step, part, verdicts)}
                closed = replace(step, state=SweepStepState.DONE, outcomes=outcomes)
                self.service.store.record_step(self.live_set.id, closed)
            for outcome in (Outcome.DELETED, Outcome.ALREADY_GONE):
                self.report.outcomes[outcome].add(*outcomes.get(outcome.value, (0, 0)))


def _planned(verdicts: Dataset) -> dict[tuple[str, str], tuple[int, int]]:
    """Files and bytes per unit and verdict; a sidecar alone does not count."""
    alone = dict.fromkeys(count_verdicts(verdicts, sidecar_only=True), (0, 0))
    return alone | count_verdicts(verdicts)


def _gone_since(step: SweepStep, part: str, verdicts: Dataset) -> tuple[int, int]:
    """Files and bytes that an unfinished step had announced and that are not there any more.

    Whether a file is spared may have changed since, so those count on both sides.
    """
    number, _, parts = part.partition("/")
    left = _planned(_Step((step.unit,), int(number), int(parts)).of(verdicts))
    kept_files, kept_bytes = step.outcomes.get(Outcome.SPARED.value, (0, 0))
    files, bytes_ = step.planned_files + kept_files, step.planned_bytes + kept_bytes
    for verdict in (_DEAD, _SPARED):
        left_files, left_bytes = left.get((step.unit, verdict), (0, 0))
        files, bytes_ = files - left_files, bytes_ - left_bytes
    return max(files, 0), max(bytes_, 0)


def _steps(planned: Mapping[tuple[str, str], tuple[int, int]], files_per_step: int) -> Iterator[_Step]:
    """Whole units together as long as they are small; a large unit in parts by bucket."""
    by_unit: dict[str, int] = {}
    for (unit, _), (files, _) in planned.items():
        by_unit[unit] = by_unit.get(unit, 0) + files
    group: list[str] = []
    size = 0
    for unit, files in sorted(by_unit.items()):
        if files > files_per_step:
            parts = min(-(-files // files_per_step), BUCKETS)
            yield from (_Step((unit,), part, parts) for part in range(1, parts + 1))
            continue
        if group and size + files > files_per_step:
            yield _Step(tuple(group))
            group, size = [], 0
        group.append(unit)
        size += files
    if group:
        yield _Step(tuple(group))
