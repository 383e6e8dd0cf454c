"""Delete: the last step; every file gets exactly one outcome (S15, S21)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.dataset import Dataset, task_attempt
from nessie_gc_core.model.batches import Row, file_reference, to_batches
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.relations import OUTCOMES, VERDICTS
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict

_KEPT = {Verdict.TOO_YOUNG: Outcome.TOO_YOUNG, Verdict.SPARED: Outcome.SPARED}
_NOT_DELETED = {DeleteMode.DEFER: Outcome.DEFERRED, DeleteMode.DRY_RUN: Outcome.WOULD_DELETE}


@dataclass(frozen=True, slots=True)
class _Doomed:
    """A file to delete, with the unit it counts for."""

    unit: str
    file: FileReference
    modified: int
    sidecar: bool
    sidecar_of: str | None = None


class DeleteFiles:
    """Verdicts to outcomes (:data:`OUTCOMES`): deletes, or in the other modes stops before the last call."""

    schema = OUTCOMES

    def __init__(self, choice: ConnectorChoice, mode: DeleteMode, spared_units: Mapping[str, str]) -> None:
        """Takes the connectors' options, the mode, and units that are spared as a whole with the reason."""
        self._choice = choice
        self._mode = mode
        self._spared_units = dict(spared_units)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decides row by row; what goes is deleted in batches per location."""
        lacking = self._choice.lacking_plugin()
        with OpenConnectors(self._choice) as connectors:
            yield from to_batches(self._outcomes(batches, connectors, lacking), self.schema)

    def _outcomes(
        self, batches: Iterator[pa.RecordBatch], connectors: OpenConnectors, lacking: str | None
    ) -> Iterator[Row]:
        waiting: dict[str, list[_Doomed]] = {}
        for row in (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist()):
            kept = self._kept(row, lacking)
            if kept is not None:
                yield from (outcome_row(doomed, *kept) for doomed in _files_of(row))
                continue
            files = waiting.setdefault(row["location"], [])
            files.extend(_files_of(row))
            if len(files) >= connectors.deleter(row["location"]).batch_size:
                yield from self._delete(connectors, row["location"], waiting.pop(row["location"]))
        for location, files in waiting.items():
            yield from self._delete(connectors, location, files)

    def _kept(self, row: Mapping[str, str], lacking: str | None) -> tuple[Outcome, str | None] | None:
        if row["verdict"] in _KEPT:
            return _KEPT[Verdict(row["verdict"])], row["reason"]
        if row["unit"] in self._spared_units:
            return Outcome.SPARED, self._spared_units[row["unit"]]
        if lacking is not None:
            return Outcome.SPARED, lacking
        if self._mode is not DeleteMode.DELETE:
            return _NOT_DELETED[self._mode], None
        return None

    def _delete(self, connectors: OpenConnectors, location: str, files: Sequence[_Doomed]) -> Iterator[Row]:
        deleter = connectors.deleter(location)
        mains = [doomed for doomed in files if not (doomed.sidecar and doomed.sidecar_of)]
        failed = set()
        for doomed, outcome, reason in delete_batch(deleter, location, mains):
            if outcome is Outcome.FAILED:
                failed.add(doomed.file.path)
            yield outcome_row(doomed, outcome, reason)
        sidecars = [doomed for doomed in files if doomed.sidecar and doomed.sidecar_of]
        with_file = [doomed for doomed in sidecars if doomed.sidecar_of not in failed]
        for doomed in sidecars:
            if doomed.sidecar_of in failed:
                yield outcome_row(doomed, Outcome.FAILED, "its file could not be deleted")
        for doomed, outcome, reason in delete_batch(deleter, location, with_file):
            yield outcome_row(doomed, outcome, reason)


def dealt_out(verdicts: Dataset) -> Dataset:
    """Verdicts over as many tasks as delete at the same time, stored before the first of them begins.

    A stage that reads a shuffle may be attempted anew as a whole, and its tasks then count their attempts from zero
    again: what the first attempt deleted would be taken for somebody else's work. One that reads stored rows is not,
    and a task of it that is tried again knows that it is.
    """
    return verdicts.spread(["location", "key"]).checkpoint()


def _files_of(row: Mapping[str, object]) -> Iterator[_Doomed]:
    """The file of a candidate row and its sidecar."""
    unit, location, path = str(row["unit"]), str(row["location"]), row["path"]
    modified = int(str(row["modified"]))
    if path is not None:
        file = file_reference(location, str(path), int(str(row["size"])), modified)
        yield _Doomed(unit, file, modified, False)
    if row["sidecar_path"] is not None:
        file = file_reference(location, str(row["sidecar_path"]), int(str(row["sidecar_size"])), modified)
        yield _Doomed(unit, file, modified, True, None if path is None else str(path))


def outcome_row(doomed: _Doomed, outcome: Outcome, reason: str | None) -> Row:
    """A row of :data:`OUTCOMES`."""
    file = doomed.file
    return (doomed.unit, file.location, file.path, file.size, doomed.modified, doomed.sidecar, outcome, reason or None)


def delete_batch(
    deleter: FileDeleter, location: str, files: Sequence[_Doomed]
) -> Iterator[tuple[_Doomed, Outcome, str]]:
    """Deletes files and gives exactly one outcome for each, whatever the deleter does (S15)."""
    for start in range(0, len(files), deleter.batch_size):
        waiting = {doomed.file.path: doomed for doomed in files[start : start + deleter.batch_size]}
        error = "the deleter gave no outcome for it"
        try:
            for given in deleter.delete_files(location, [doomed.file for doomed in waiting.values()]):
                doomed = waiting.pop(given.path, None)
                if doomed is not None:
                    yield doomed, _outcome(given), given.reason
        except Exception as failure:  # noqa: BLE001 - a deleter that breaks off fails the files it did not report
            error = one_line(failure)
        yield from zip(waiting.values(), itertools.repeat(Outcome.FAILED), itertools.repeat(error))


def _outcome(given: DeleteOutcome) -> Outcome:
    """An outcome; "already gone" after a failed attempt of the same task was that attempt's work."""
    if given.status is DeleteStatus.FAILED:
        return Outcome.FAILED
    if given.status is DeleteStatus.ALREADY_GONE and task_attempt.get() == 0:
        return Outcome.ALREADY_GONE
    return Outcome.DELETED
