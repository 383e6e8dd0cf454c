"""Files that are lost because they are in quarantine: they are named, and their time is extended (S9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import Row, from_micros, to_batches, to_micros, to_texts
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.quarantine.places import with_places
from nessie_gc_core.services.run import SweepRun

_WHOLE = pa.field("whole", pa.string(), nullable=False)
_LOST = pa.schema([_WHOLE])
_TEXTS = ("repository", "live_set_id", "place", "held_path", "location", "path", "table", "state")
_NUMBERS = ("size", "modified", "held", "until", "sidecar")
_HELD = pa.schema(
    [
        _WHOLE,
        *(pa.field(name, pa.string(), nullable=False) for name in _TEXTS),
        *(pa.field(n, pa.int64()) for n in _NUMBERS),
    ]
)
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
    held = run.engine.dataset(to_batches(_rows(store, run), _HELD), _HELD)
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
            store.put_held_files(replace(file, until=max(file.until, until)) for file in map(_file, batch.to_pylist()))


class _Whole:
    """Lost files to their whole canonical paths."""

    schema = _LOST

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Unit and key put together."""
        for batch in batches:
            yield from to_batches((("".join(row),) for row in to_texts(batch, "unit", "key")), self.schema)


def _rows(store: SupportsQuarantine, run: SweepRun) -> Iterator[Row]:
    for whole, file in with_places(store, run.choice.rules()):
        texts = {**{name: getattr(file, name) for name in _TEXTS}, "live_set_id": str(file.live_set_id)}
        numbers = {"size": file.size, "sidecar": int(file.sidecar)}
        numbers |= {name: None if (at := getattr(file, name)) is None else to_micros(at) for name in _NUMBERS[1:4]}
        yield (whole, *(texts[name] for name in _TEXTS), *(numbers[name] for name in _NUMBERS))


def _file(row: dict[str, Any]) -> HeldFile:
    times = {name: from_micros(row[name]) for name in _NUMBERS[1:4]}
    others = {name: row[name] for name in _TEXTS if name not in ("live_set_id", "state")}
    others |= {"live_set_id": UUID(row["live_set_id"]), "state": HeldState(row["state"])}
    others |= {"size": row["size"], "sidecar": bool(row["sidecar"])}
    return HeldFile(**others, **times)  # type: ignore[arg-type]  # the schema says what is null
