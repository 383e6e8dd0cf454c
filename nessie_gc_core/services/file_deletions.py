"""The deletions that a store records for later: put in from where the rows are, and taken out when they are done."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import BatchFunction, Dataset
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.batches import from_micros
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.services.run import SweepRun

_CHECKED_AT_ONCE = 1_000
_RECORDED_OF = ("location", "path", "size", "modified")
_RECORDED = pa.schema([pa.field("recorded", pa.int64(), nullable=False)])


def file_deletions(batch: pa.RecordBatch) -> list[FileDeletion]:
    """The files of a batch with these columns of :data:`OUTCOMES`."""
    locations, paths, sizes, times = (batch.column(name).to_pylist() for name in _RECORDED_OF)
    return [
        FileDeletion(location=location, path=path, size=size, modified=from_micros(modified))
        for location, path, size, modified in zip(locations, paths, sizes, times, strict=True)
    ]


def stored_deletions(store: LiveSetStore, live_set_id: UUID) -> Iterator[FileDeletion]:
    """The deferred deletions of a live set, streamed; the caller holds the lease.

    Raises:
        SafetyError: at the end, if they are not those that were recorded (S34).
    """
    recorded, found = store.get(live_set_id).deletions, RowsDigest()
    for some in in_pieces(store.file_deletions(live_set_id), _CHECKED_AT_ONCE):
        found += RowsDigest.of(deletion.values for deletion in some)
        yield from some
    if recorded is not None and found != recorded:
        raise SafetyError(
            f"the store gave {found.rows} deferred deletions of live set {live_set_id}, not the {recorded.rows} that "
            "its sweep recorded, or changed some, so none is run: mark again, and discard these records, but no file, "
            f"with {next_call('delete', live_set_id=live_set_id, discard_deferred=True)}"
        )


def record_deletions(rows: Dataset, run: SweepRun, files: BatchFunction | None = None) -> None:
    """Records all rows of a dataset of :data:`OUTCOMES`, or of its columns that name a file; streamed, in batches.

    With ``files`` its rows are those of the function.
    """
    if run.engine.distributed and run.store.multi_process:
        deferred = rows if files is None else rows.flat_map(files)
        deferred.flat_map(_RecordDeletions(run.store, run.live_set.id)).checkpoint()
        return
    for batch in rows.batches() if files is None else files(rows.batches()):
        run.store.add_file_deletions(run.live_set.id, file_deletions(batch))


def forget_deletions(gone: Dataset, run: SweepRun) -> None:
    """Takes the records out of all rows of a dataset of :data:`OUTCOMES`; streamed, in batches."""
    for batch in gone.batches():
        run.store.remove_file_deletions(run.live_set.id, file_deletions(batch))


class _RecordDeletions:
    """Records rows from where they are; twice does no harm, for what is recorded already is left out."""

    schema = _RECORDED

    def __init__(self, store: LiveSetStore, live_set_id: UUID) -> None:
        self._connector = type(store)
        self._options = store.options
        self._live_set_id = live_set_id

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._connector(self._options) as store:
            for batch in batches:
                recorded = store.add_file_deletions(self._live_set_id, file_deletions(batch))
                yield pa.RecordBatch.from_pydict({"recorded": [recorded]}, schema=self.schema)
