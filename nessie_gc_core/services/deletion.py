"""The last part of a sweep: re-check, delete step by step, record, and count every outcome (S9, S15, S21)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from nessie_gc_core.algorithms.delete import DeleteFiles, DeleteMode, Outcome
from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.guard import BUCKETS, Verdict
from nessie_gc_core.algorithms.recheck import HeadsMoved, expand_moved, find_moved
from nessie_gc_core.algorithms.units import SweepPlan, UnitIndex
from nessie_gc_core.algorithms.unknown import UnknownFinder, home_of_metadata
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, VisitedDeduplicator
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, from_micros, to_batches, to_rows
from nessie_gc_core.model.live_sets import FileDeletion, LiveSet, ReferenceHead, SweepStep, SweepStepState
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import FILE_KEYS, VERDICTS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.outcomes import OutcomeFile
from nessie_gc_core.services.report import MAX_NAMES, GcReport, NamedFile

if TYPE_CHECKING:
    from nessie_gc_core.services.sweep import SweepService

log = logging.getLogger(__name__)

_PLANNED = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("unit", "verdict")),
        *(pa.field(name, pa.int64()) for name in ("files", "bytes")),
    ]
)
_OUTCOMES = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("unit", "outcome")),
        pa.field("sidecar", pa.bool_()),
        *(pa.field(name, pa.int64()) for name in ("files", "bytes")),
    ]
)
_FILES_AND_BYTES = {"files": ("count", "unit"), "bytes": ("sum", "size")}
_BECAME_LIVE = "a reference that is new or moved reaches it"


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
    plan: SweepPlan
    index: UnitIndex
    readers: Sequence[type[ContentToFiles]]
    finder: UnknownFinder
    expansion: Expansion
    stored_by_unit: Mapping[str, int]
    _spared_units: dict[str, str] = field(default_factory=dict)
    _newly_live: Dataset | None = None
    _heads: tuple[ReferenceHead, ...] = ()
    _checked: datetime | None = None
    _attempt: int = 1

    def run(self, verdicts: Dataset) -> None:
        """Takes all verdicts, step by step, to their outcomes."""
        self._heads = self.live_set.heads
        planned = self._planned(verdicts)
        doomed = {unit: files for (unit, verdict), files in planned.items() if verdict == Verdict.UNREFERENCED}
        self._spared_units.update(self.service.settings.caps.exceeded(doomed, self.stored_by_unit))
        for reason in set(self._spared_units.values()):
            self.report.warn(reason)
        self._carry_over(verdicts)
        steps = list(_steps(planned, self.service.settings.files_per_step))
        with OutcomeFile(self.service.settings.outcomes_to) as outcome_file:
            for number, step in enumerate(steps):
                self.service.progress("delete", number, len(steps))
                self._recheck_if_due()
                with self.report.phase("delete"):
                    self._take(step, verdicts, outcome_file)
            self.service.progress("delete", len(steps), len(steps))
        if not steps:
            self._recheck_if_due()

    def _planned(self, verdicts: Dataset) -> dict[tuple[str, str], int]:
        counts = verdicts.aggregate(["unit", "verdict"], _FILES_AND_BYTES, _PLANNED)
        return {(row["unit"], row["verdict"]): row["files"] for row in counts.summary().to_pylist()}

    # ---- re-check --------------------------------------------------------------------------------------
    def _recheck_if_due(self) -> None:
        """Walks what moved since the last look, where that is long ago (decision 24)."""
        now = self.service.clock()
        if self._checked is not None and now - self._checked < self.service.settings.recheck_interval:
            return
        with self.report.phase("recheck"):
            moved = self._moved()
            self._checked = now
            self._heads = moved.heads
            self.report.references_moved += moved.references
            if moved.versions:
                self._spare(moved)

    def _moved(self) -> HeadsMoved:
        settings = self.service.settings
        recorded = {head.name: head.policy for head in self.live_set.heads}
        policies = ReferencePolicies.from_texts(self.live_set.policies, recorded)
        with installed().open(VisitedDeduplicator, settings.deduplicator) as deduplicator:
            return find_moved(
                self.service.repository, self._heads, policies, deduplicator, parallelism=settings.parallelism
            )

    def _spare(self, moved: HeadsMoved) -> None:
        """Expands what became live, and remembers its files; what cannot be read freezes its units."""
        before = set(self.plan.roots)
        newly = expand_moved(
            self.service.engine,
            moved,
            self.index,
            self.service.settings.choice,
            self._readers_of(moved.versions),
            self.expansion.files,
            self._freeze_unread,
        )
        problems = self.finder.with_versions(moved.versions).find(newly.version_files, newly.expansion)
        strict = self.service.settings.strict_unknown
        self.finder.with_versions(moved.versions).freeze(
            problems, newly.version_files, self.index, self.plan, strict=strict
        )
        for unit in before - set(self.plan.roots):
            self._spared_units[unit] = self.plan.why(unit)
        keys = newly.expansion.reachable().select(FILE_KEYS).distinct(list(FILE_KEYS.names)).checkpoint()
        self._newly_live = keys if self._newly_live is None else self._newly_live.union(keys)

    def _readers_of(self, versions: Iterable[ContentVersion]) -> list[type[ContentToFiles]]:
        types = sorted({version.content_type for version in versions})
        found = (installed().reader_of(type_) for type_ in types)
        return list(dict.fromkeys([*self.readers, *(reader for reader in found if reader is not None)]))

    def _freeze_unread(self, version: ContentVersion) -> None:
        raw = version.location or (home_of_metadata(version.metadata_location) if version.metadata_location else None)
        if raw is None:
            return
        try:
            prefix = self.finder.rules.canonical_prefix(raw)
        except UnknownLocationError as error:
            self.report.warn(str(error))
            return
        reason = f"holds a content of type {version.content_type}, which no installed plugin reads"
        self.plan.freeze([prefix], reason, unread=True)

    # ---- one step --------------------------------------------------------------------------------------
    def _take(self, step: _Step, verdicts: Dataset, outcome_file: OutcomeFile) -> None:
        """Deletes one step: announces it, deletes, counts, and closes it."""
        settings = self.service.settings
        mine = self._less_newly_live(step.of(verdicts))
        real = settings.mode is DeleteMode.DELETE
        planned = self._announce(step, mine) if real else {}
        self.lease.check()
        function = DeleteFiles(settings.choice, settings.mode, self._spared_units)
        outcomes = mine.spread(["location", "key"]).flat_map(function).checkpoint()
        if settings.mode is DeleteMode.DEFER:
            self._defer(outcomes)
        counted = self._count(outcomes)
        self._name_files(outcomes)
        outcome_file.write(outcomes)
        if real:
            for unit, (files, bytes_) in planned.items():
                self._record(step, unit, SweepStepState.DONE, files, bytes_, counted.get(unit, {}))

    def _less_newly_live(self, mine: Dataset) -> Dataset:
        """The same rows, those that became live turned into spared ones."""
        if self._newly_live is None:
            return mine
        keys = list(FILE_KEYS.names)
        dead = mine.where("verdict", [Verdict.UNREFERENCED.value])
        spared = dead.semi_join(self._newly_live, keys).flat_map(_Spare())
        rest = mine.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
        return dead.anti_join(self._newly_live, keys).union(spared).union(rest).checkpoint()

    def _announce(self, step: _Step, mine: Dataset) -> dict[str, tuple[int, int]]:
        """Records what is about to go, and buries the metadata files among it, before the first deletion."""
        dead = mine.where("verdict", [Verdict.UNREFERENCED.value]).where(
            "unit", sorted(self._spared_units), negate=True
        )
        counts = dead.where("sidecar_only", [False]).aggregate(["unit", "verdict"], _FILES_AND_BYTES, _PLANNED)
        planned = {row["unit"]: (row["files"], row["bytes"]) for row in counts.summary().to_pylist()}
        for unit, (files, bytes_) in planned.items():
            self._record(step, unit, SweepStepState.STARTED, files, bytes_, {})
        roots = dead.flat_map(_MayBeRoots([reader.name for reader in self.readers], self.service))
        for batch in roots.batches():
            paths = [f"{unit}{key}" for unit, key in to_rows(batch, "unit", "key")]
            self.service.store.add_tombstones(self.live_set.repository, paths, at=self.service.clock())
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

    def _defer(self, outcomes: Dataset) -> None:
        """Records the files whose deletion is deferred, in batches."""
        for batch in outcomes.where("outcome", [Outcome.DEFERRED.value]).batches():
            deletions = [
                FileDeletion(location=str(loc), path=str(path), size=int(str(size)), modified=from_micros(int(str(at))))
                for loc, path, size, at in to_rows(batch, "location", "path", "size", "modified")
            ]
            self.service.store.add_file_deletions(self.live_set.id, deletions)

    def _count(self, outcomes: Dataset) -> dict[str, dict[str, tuple[int, int]]]:
        """Adds the outcomes to the report; returns them per unit."""
        counts = outcomes.aggregate(["unit", "outcome", "sidecar"], _FILES_AND_BYTES, _OUTCOMES)
        by_unit: dict[str, dict[str, tuple[int, int]]] = {}
        gone = {Outcome.DELETED, Outcome.WOULD_DELETE, Outcome.DEFERRED}
        for row in counts.summary().to_pylist():
            outcome = Outcome(row["outcome"])
            if row["sidecar"]:
                if outcome in gone:
                    self.report.sidecars.add(row["files"], row["bytes"])
                elif outcome is Outcome.FAILED:
                    self.report.warn(f"{row['files']} checksum files in {row['unit']} could not be deleted")
                continue
            self.report.outcomes[outcome].add(row["files"], row["bytes"])
            by_unit.setdefault(row["unit"], {})[outcome.value] = (row["files"], row["bytes"])
        return by_unit

    def _name_files(self, outcomes: Dataset) -> None:
        """Names some of the files that failed or were spared."""
        for outcome, names in (
            (Outcome.FAILED, self.report.failed_files),
            (Outcome.SPARED, self.report.spared_files),
        ):
            if self.report.outcomes[outcome].files and len(names) < MAX_NAMES:
                rows = outcomes.where("outcome", [outcome.value]).head(MAX_NAMES - len(names)).to_pylist()
                names.extend(NamedFile(row["location"] + row["path"], row["reason"]) for row in rows)

    # ---- resume ----------------------------------------------------------------------------------------
    def _carry_over(self, verdicts: Dataset) -> None:
        """Counts what an earlier attempt of the same sweep deleted (S15).

        A finished step says it. An unfinished one says what it was about to delete: what is not there any more
        was deleted by it.
        """
        if self.service.settings.mode is not DeleteMode.DELETE:
            return
        for step in list(self.service.store.steps(self.live_set.id)):
            attempt, _, part = step.part.partition(":")
            self._attempt = max(self._attempt, int(attempt) + 1)
            outcomes = step.outcomes
            if step.state is SweepStepState.STARTED:
                outcomes = {Outcome.DELETED.value: self._gone_since(step, part, verdicts)}
                closed = replace(step, state=SweepStepState.DONE, outcomes=outcomes)
                self.service.store.record_step(self.live_set.id, closed)
            for outcome in (Outcome.DELETED, Outcome.ALREADY_GONE):
                self.report.outcomes[outcome].add(*outcomes.get(outcome.value, (0, 0)))

    def _gone_since(self, step: SweepStep, part: str, verdicts: Dataset) -> tuple[int, int]:
        """Files and bytes that an unfinished step had announced and that are not there any more."""
        number, _, parts = part.partition("/")
        mine = _Step((step.unit,), int(number), int(parts)).of(verdicts).where("sidecar_only", [False])
        left = mine.where("verdict", [Verdict.UNREFERENCED.value])
        rows = left.aggregate(["unit", "verdict"], _FILES_AND_BYTES, _PLANNED).head(1).to_pylist()
        files, bytes_ = (rows[0]["files"], rows[0]["bytes"]) if rows else (0, 0)
        return max(step.planned_files - files, 0), max(step.planned_bytes - bytes_, 0)


def _steps(planned: Mapping[tuple[str, str], int], files_per_step: int) -> Iterator[_Step]:
    """Whole units together as long as they are small; a large unit in parts by bucket."""
    by_unit: dict[str, int] = {}
    for (unit, _), files in planned.items():
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


class _Spare:
    """Turns verdicts into spared ones."""

    schema = VERDICTS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist())
        spared: Iterator[Row] = (
            tuple({**row, "verdict": Verdict.SPARED.value, "reason": _BECAME_LIVE}.values()) for row in rows
        )
        yield from to_batches(spared, self.schema)


class _MayBeRoots:
    """Keeps the files that could be what a content version points to."""

    schema = FILE_KEYS

    def __init__(self, readers: Sequence[str], service: SweepService) -> None:
        self._readers = tuple(readers)
        self._choice = service.settings.choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            readers = [connectors.reader_named(name) for name in self._readers]
            rows = (row for batch in batches for row in to_rows(batch, "unit", "key"))
            roots = (row for row in rows if any(reader.may_be_root(str(row[1])) for reader in readers))
            yield from to_batches(roots, self.schema)
