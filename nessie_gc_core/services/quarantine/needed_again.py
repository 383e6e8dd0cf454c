"""Files that are lost because they are in quarantine: they are named, and their time is extended (S9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from nessie_gc_core.algorithms.namesakes import namesakes
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.quarantine import bucket_of_tags
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.quarantine.places import with_places
from nessie_gc_core.services.quarantine.rows import RECORDS, record_of, record_row
from nessie_gc_core.services.run import SweepRun

_WHOLE = pa.field("whole", pa.string(), nullable=False)
_LOST = pa.schema([_WHOLE])
_HELD = pa.schema([_WHOLE, *RECORDS])
"""A file in quarantine, and the canonical path at which it was."""


def keep_what_is_needed_again(lost: Dataset, run: SweepRun) -> None:
    """Looks for lost files in quarantine; a run that changes the store extends their time.

    Args:
        lost: reachable files that are not stored (:data:`REACHABLE_FILES`), at least one.
        run: the run, whose report takes a warning.
    """
    store = run.store
    if not isinstance(store, SupportsQuarantine) or next(iter(store.quarantines()), None) is None:
        return
    held_files = with_places(store, run.choice.rules())
    rows = ((whole, *record_row(file)) for whole, file in held_files if bucket_of_tags(file.place) is None)
    held = run.engine.dataset(to_batches(rows, _HELD), _HELD)
    found = held.semi_join(lost.flat_map(_Whole()), [_WHOLE.name]).checkpoint()
    files = found.where("sidecar", [0]).count()
    if not files:
        return
    run.report.warn(
        f"{plural(files, 'lost file')} {'is' if files == 1 else 'are'} in quarantine: `restore` brings them back"
    )
    if run.parameters.mode.removes:
        until = run.clock() + run.parameters.quarantine_for
        for batch in found.batches():
            store.put_held_files(
                replace(file, until=max(file.until, until)) for file in map(record_of, batch.to_pylist())
            )


def keep_what_may_be_lost(lost: Dataset, names: Dataset, run: SweepRun) -> None:
    """Looks in quarantine for files with the name of a lost one; a run that changes the store extends their time (S30).

    Args:
        lost: reachable files that were found nowhere (:data:`REACHABLE_FILES`).
        names: their names (:data:`LOST_NAMES`).
        run: the run, whose report takes a warning.
    """
    store = run.store
    if not isinstance(store, SupportsQuarantine) or next(iter(store.quarantines()), None) is None:
        return
    held_files = with_places(store, run.choice.rules())
    rows = ((whole, *record_row(file)) for whole, file in held_files if bucket_of_tags(file.place) is None)
    held = run.engine.dataset(to_batches(rows, _HELD), _HELD).where("sidecar", [0])
    others = held.anti_join(lost.flat_map(_Whole()), _LOST.names)
    found = others.semi_join(namesakes(others, names, _LOST), _LOST.names).checkpoint()
    files = found.count()
    if not files:
        return
    run.report.warn(
        f"{plural(files, 'file')} in quarantine may be a lost file in another spelling, such as "
        f"{found.head(1).to_pylist()[0]['whole']}: 'restore' brings it back"
    )
    if run.parameters.mode.removes:
        until = run.clock() + run.parameters.quarantine_for
        for batch in found.batches():
            store.put_held_files(
                replace(file, until=max(file.until, until)) for file in map(record_of, batch.to_pylist())
            )


class _Whole:
    """Lost files to their whole canonical paths."""

    schema = _LOST

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Unit and key put together."""
        for batch in batches:
            yield from to_batches((("".join(row),) for row in to_texts(batch, "unit", "key")), self.schema)
