"""Lost files, with the tables and references that break: for the report, and for a table of their own."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.assets import TYPES
from nessie_gc_core.algorithms.lost import NEEDING, NeedingState, needed_by, needing_states
from nessie_gc_core.algorithms.storable import storable, storable_text
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.assets import AssetType, snapshot_text
from nessie_gc_core.model.batches import Row, from_micros, to_batches, to_tuples
from nessie_gc_core.model.live_sets import ReferenceHead
from nessie_gc_core.model.lost_files import LOST_FILES
from nessie_gc_core.model.repository import ContentVersion, Reference, ReferenceKind
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.report import NamedFile
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.swept import Swept

_CONTENT_IDS = pa.schema([NEEDING.field("content_id")])
_MOST_ROWS = 1000
"""Of so many rows the report names what breaks."""
_MOST_NAMED = 3
"""So many references of a file the report names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRun:
    """What all lost files of one run have in common."""

    run: str
    """Its identity."""
    at: datetime
    """When it listed the references, UTC."""


def find_lost(run: Run, swept: Swept, lost_run: LostRun) -> Dataset:
    """The lost files of a sweep (:data:`LOST_FILES`), computed once; the report names what breaks."""
    if not run.report.lost.files:
        return run.engine.empty(LOST_FILES)
    with run.report.phase("lost"):
        scope = swept.scope
        needing = needing_states(swept.lost, swept.located.versions, scope.index, run.choice, scope.readers)
        ids = needing.select(_CONTENT_IDS).distinct(_CONTENT_IDS.names).summary().column("content_id").to_pylist()
        broken = needed_by(needing, _shown(run, swept.live_set.heads, frozenset(ids)), run.engine).checkpoint()
        _name_in_report(run, broken)
        return broken.flat_map(_LostFiles(lost_run)).checkpoint()


def _shown(run: Run, heads: Collection[ReferenceHead], ids: Collection[str]) -> Iterator[tuple[str, ContentVersion]]:
    """Some contents as references show them; each commit is asked once, however many references have it."""
    ordered = sorted((head for head in heads if head.commit_id is not None), key=lambda head: str(head.commit_id))
    for commit_id, same in itertools.groupby(ordered, key=lambda head: head.commit_id):
        names = [head.name for head in same]
        reference = Reference(name=names[0], kind=ReferenceKind.BRANCH, commit_id=commit_id)
        try:
            for version in map(storable, run.repository.contents(reference)):
                if version.content_id in ids:
                    yield from ((storable_text(name), version) for name in names)
        except NessieGcError as error:
            run.report.warn(f"cannot tell what breaks on {names[0]}: {one_line(error)}")


def _name_in_report(run: Run, broken: Dataset) -> None:
    """Says of each lost file that the report names, what needs it."""
    report = run.report
    found: dict[str, set[str]] = {}
    named = broken.where("path", [file.path for file in report.lost_files]).head(_MOST_ROWS)
    for row in named.to_pylist():
        where = "its history" if row["reference"] is None else row["reference"]
        found.setdefault(row["path"], set()).add(f"{row['content_key']} on {where}")
    report.lost_files = [NamedFile(file.path, _reason(found.get(file.path, ()))) for file in report.lost_files]


def _reason(needed_by: Collection[str]) -> str:
    first, others = sorted(needed_by)[:_MOST_NAMED], len(needed_by) - _MOST_NAMED
    said = ", ".join(first) + (f" and {others} more" if others > 0 else "")
    return f"it is missing, and needed by {said}" if said else "it is referenced but missing"


class _NeededBy(NamedTuple):
    """A lost file with a table and a reference that need it (:data:`NEEDED_BY`)."""

    path: str
    kind: str
    content_key: str
    reference: str | None
    states: int
    latest: str


class _LostFiles:
    """Files with a table and a reference that need them (:data:`NEEDED_BY`), to rows of the table."""

    schema = LOST_FILES

    def __init__(self, lost_run: LostRun) -> None:
        self._run = lost_run

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_tuples(batch, _NeededBy))
        yield from to_batches(map(self._row, rows), self.schema)

    def _row(self, row: _NeededBy) -> Row:
        state = NeedingState.of(row.latest)
        return (
            self._run.run,
            self._run.at,
            row.content_key,
            TYPES.get(row.kind, AssetType.UNKNOWN).value,
            row.path,
            row.path.rpartition("/")[2],
            row.reference,
            row.states,
            snapshot_text(state.snapshot_id),
            state.commit_id,
            from_micros(state.micros or None),
        )
