"""Delete: the last step; every file gets exactly one outcome (S15, S21)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.planned import as_files
from nessie_gc_core.algorithms.still_held import Refusal, StillHeld, not_begun
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.dataset import Dataset, task_attempt
from nessie_gc_core.model.batches import constant, file_reference, in_schema, to_tuples
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.relations import CANDIDATES, OUTCOMES, VERDICTS
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict

_FILE_STAYS = "its file could not be deleted"
Remove = Callable[[FileDeleter, str, Sequence[FileReference]], Iterator[tuple[str, Outcome, str]]]
"""Removes files of a raw location: one outcome and reason for each path."""
_DECIDED = pa.schema([*CANDIDATES, *(OUTCOMES.field(name) for name in ("outcome", "reason"))])
"""Candidates and their outcomes."""


class DeleteFiles:
    """Verdicts to outcomes (:data:`OUTCOMES`): removes the files, or in some modes does all but that."""

    schema = OUTCOMES

    def __init__(
        self,
        choice: ConnectorChoice,
        mode: DeleteMode,
        spared_units: Mapping[str, str],
        still_held: StillHeld,
        remove: Remove | None = None,
    ) -> None:
        """Takes the connectors' options, and what is done with files.

        Args:
            choice: the connectors' options.
            mode: whether files are removed.
            spared_units: units that are spared as a whole, with the reason.
            still_held: asked before every batch.
            remove: how files are removed (default: they are deleted).
        """
        self._choice = choice
        self._mode = mode
        self._spared_units = dict(spared_units)
        self._still_held = still_held
        assert remove is not None or mode is not DeleteMode.QUARANTINE, "a quarantine never deletes"
        self._remove = remove if remove is not None else delete_batch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decides column by column; deletes in batches per location."""
        lacking = self._choice.lacking_plugin()
        with OpenConnectors(self._choice) as connectors, self._still_held.opened() as refusal:
            waiting: dict[str, list[pa.RecordBatch]] = {}
            for batch in batches:
                rows = in_schema(batch, VERDICTS)
                outcome, reason = self._kept(rows, lacking)
                decided = in_schema(rows, _DECIDED, {"outcome": outcome, "reason": reason})
                yield from as_files(decided.filter(outcome.is_valid()), self.schema)
                for location, doomed in _by_location(rows.filter(outcome.is_null())):
                    waiting.setdefault(location, []).append(doomed)
                    yield from self._remove_full(connectors.deleter(location), location, waiting, refusal)
            for location, rest in waiting.items():
                yield from self._removed(connectors.deleter(location), location, pa.concat_batches(rest), refusal)

    def _remove_full(
        self, deleter: FileDeleter, location: str, waiting: dict[str, list[pa.RecordBatch]], refusal: Refusal
    ) -> Iterator[pa.RecordBatch]:
        """Removes what fills batches of the deleter; the rest waits for more."""
        rows = sum(each.num_rows for each in waiting[location])
        full = rows - rows % deleter.batch_size
        if full:
            doomed = pa.concat_batches(waiting.pop(location))
            if full < rows:
                waiting[location] = [doomed.slice(full)]
            yield from self._removed(deleter, location, doomed.slice(0, full), refusal)

    def _removed(
        self, deleter: FileDeleter, location: str, doomed: pa.RecordBatch, refusal: Refusal
    ) -> Iterator[pa.RecordBatch]:
        """Removes files batch by batch, as long as nothing is said against the next one."""
        for start in range(0, doomed.num_rows, deleter.batch_size):
            batch = doomed.slice(start, deleter.batch_size)
            why = refusal()
            yield from _removed(self._remove, deleter, location, batch) if why is None else _left(batch, why)

    def _kept(self, rows: pa.RecordBatch, lacking: str | None) -> tuple[pa.Array, pa.Array]:
        """The outcome of each row that stays, and why; null for rows to delete."""
        said: tuple[str | None, str | None] = (None, None)
        if lacking is not None:
            said = Outcome.SPARED.value, lacking
        elif not self._mode.removes:
            said = self._mode.done.value, None
        outcome, reason = (constant(text, rows.num_rows, pa.string()) for text in said)
        if self._spared_units:
            units = pc.index_in(rows.column("unit"), pa.array(list(self._spared_units), pa.string()))
            outcome = pc.if_else(units.is_valid(), Outcome.SPARED.value, outcome)
            why = pa.array(list(self._spared_units.values()), pa.string()).take(units)
            reason = pc.if_else(units.is_valid(), why, reason)
        young = pc.fill_null(pc.equal(rows.column("verdict"), Verdict.TOO_YOUNG.value), False)
        stays = pc.fill_null(pc.not_equal(rows.column("verdict"), Verdict.UNREFERENCED.value), True)
        kept = pc.if_else(young, Outcome.TOO_YOUNG.value, Outcome.SPARED.value)
        reason = pc.if_else(stays, rows.column("reason"), reason)
        reason = pc.if_else(pc.equal(reason, ""), pa.scalar(None, pa.string()), reason)
        return pc.if_else(stays, kept, outcome), reason


class _Doomed(NamedTuple):
    """What a deleter is told of a candidate (:data:`CANDIDATES`), and what its outcome has."""

    path: str | None
    size: int
    sidecar_path: str | None
    sidecar_size: int
    modified: int


def _by_location(doomed: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    locations = pc.unique(doomed.column("location")).to_pylist()
    for location in locations:
        yield location, doomed if len(locations) == 1 else doomed.filter(pc.equal(doomed.column("location"), location))


def _removed(remove: Remove, deleter: FileDeleter, location: str, doomed: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Removes files, then the sidecars of those that are gone; returns one outcome for each (:data:`OUTCOMES`)."""
    first: list[FileReference] = []
    sidecars: list[tuple[str, FileReference]] = []
    for row in to_tuples(doomed, _Doomed):
        if row.path is not None:
            first.append(file_reference(location, row.path, row.size, row.modified))
        if row.sidecar_path is not None:
            file = file_reference(location, row.sidecar_path, row.sidecar_size, row.modified)
            first.append(file) if row.path is None else sidecars.append((row.path, file))
    done: dict[str, tuple[Outcome, str]] = {}
    for path, outcome, reason in remove(deleter, location, first):
        if outcome is not Outcome.ALREADY_GONE or path not in done:  # it may be we who deleted it a moment ago
            done[path] = outcome, reason
    failed = {path for path, (outcome, _) in done.items() if outcome is Outcome.FAILED}
    done.update((file.path, (Outcome.FAILED, _FILE_STAYS)) for path, file in sidecars if path in failed)
    second = [file for path, file in sidecars if path not in failed]
    done.update((path, (outcome, why)) for path, outcome, why in remove(deleter, location, second))
    unknown = pa.nulls(doomed.num_rows, pa.string())
    for files in as_files(in_schema(doomed, _DECIDED, {"outcome": unknown, "reason": unknown}), OUTCOMES):
        said = [done[path] for path in files.column("path").to_pylist()]
        reasons = pa.array([reason or None for _, reason in said], pa.string())
        outcomes = pa.array([outcome.value for outcome, _ in said], pa.string())
        yield in_schema(files, OUTCOMES, {"outcome": outcomes, "reason": reasons})


def _left(doomed: pa.RecordBatch, why: str) -> Iterator[pa.RecordBatch]:
    """Files whose batch was not begun, and their sidecars (:data:`OUTCOMES`)."""
    outcome, reason = (constant(str(said), doomed.num_rows, pa.string()) for said in not_begun(why))
    yield from as_files(in_schema(doomed, _DECIDED, {"outcome": outcome, "reason": reason}), OUTCOMES)


def dealt_out(verdicts: Dataset) -> Dataset:
    """Verdicts over as many tasks as delete at the same time, stored before the first of them begins.

    A stage that reads a shuffle may be attempted anew as a whole, and its tasks then count their attempts from zero
    again: what the first attempt deleted would be taken for someone else's work. One that reads stored rows is not, and
    a task of it that is tried again knows that it is.
    """
    return verdicts.spread(["location", "key"]).checkpoint()


def delete_batch(
    deleter: FileDeleter, location: str, files: Sequence[FileReference]
) -> Iterator[tuple[str, Outcome, str]]:
    """Deletes files and gives exactly one outcome for each path, whatever the deleter does (S15)."""
    for path, said in said_once(files, deleter.batch_size, partial(deleter.delete_files, location)):
        yield (path, Outcome.FAILED, said) if isinstance(said, str) else (path, _outcome(said), said.reason)


class _OfPath(Protocol):
    @property
    def path(self) -> str: ...


Asked = TypeVar("Asked", bound=_OfPath)
Said = TypeVar("Said", bound=_OfPath)


def said_once(
    files: Sequence[Asked], batch_size: int, ask: Callable[[Sequence[Asked]], Iterable[Said]]
) -> Iterator[tuple[str, Said | str]]:
    """What a deleter says of each path, exactly once, or why it says nothing (S15).

    Args:
        files: what it is asked about.
        batch_size: how many at a time.
        ask: asks it; it may leave out some, repeat itself, talk of others, or break off.
    """
    for start in range(0, len(files), batch_size):
        waiting = {file.path: file for file in files[start : start + batch_size]}
        error = "the deleter returned no outcome for it"
        try:
            for given in ask(list(waiting.values())):
                if waiting.pop(given.path, None) is not None:
                    yield given.path, given
        except Exception as failure:  # noqa: BLE001 - a deleter that breaks off fails the files it did not report
            error = one_line(failure)
        yield from zip(waiting, itertools.repeat(error))


def _outcome(given: DeleteOutcome) -> Outcome:
    """An outcome; "already gone" after a failed attempt of the same task was that attempt's work."""
    if given.status is DeleteStatus.FAILED:
        return Outcome.FAILED
    if given.status is DeleteStatus.ALREADY_GONE and task_attempt.get() == 0:
        return Outcome.ALREADY_GONE
    return Outcome.DELETED
