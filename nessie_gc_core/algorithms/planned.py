"""Plan: names the files that a step is about to delete, so that a killed run leaves no nameless gap (S15)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.guard import spared_rows
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import constant, in_schema
from nessie_gc_core.model.relations import FILE_KEYS, OUTCOMES
from nessie_gc_core.model.verdicts import Outcome, Verdict

PLANNED_FILES = pa.schema(
    [
        pa.field("unit", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("sidecar", pa.bool_(), nullable=False),
    ]
)
"""One row per file and per sidecar."""
PLANNED_KEYS = ["location", "path"]
"""The columns that identify a planned file: in an object store ``a//b`` and ``a/b`` are two files with one key."""


class PlanFiles:
    """Verdicts (:data:`VERDICTS`) to the files that may be deleted, or to all of them."""

    schema = PLANNED_FILES

    def __init__(self, *, spared_units: Collection[str] = (), whatever_the_verdict: bool = False) -> None:
        self._spared_units = frozenset(spared_units)
        self._all = whatever_the_verdict

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A file and its sidecar become two rows."""
        spared = pa.array(sorted(self._spared_units), pa.string())
        for batch in batches:
            go = pc.and_not(
                pc.equal(batch.column("verdict"), Verdict.UNREFERENCED.value), pc.is_in(batch.column("unit"), spared)
            )
            yield from as_files(batch if self._all else batch.filter(go), self.schema)


def as_files(rows: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows with the columns of :data:`CANDIDATES` as single files: the files, then their sidecars.

    The schema has ``path``, ``size`` and ``sidecar``, and further columns that the rows have as well.
    """
    for path, size, sidecar in (("path", "size", False), ("sidecar_path", "sidecar_size", True)):
        there = rows.filter(rows.column(path).is_valid())
        if there.num_rows:
            named = {"path": there.column(path), "size": there.column(size)}
            yield in_schema(there, schema, {**named, "sidecar": constant(sidecar, there.num_rows, pa.bool_())})


class NameOutcome:
    """Planned files to one outcome for all of them (:data:`OUTCOMES`)."""

    schema = OUTCOMES

    def __init__(self, outcome: Outcome | str, reason: str) -> None:
        self._said = {"outcome": str(outcome), "reason": reason}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keeps what names a file."""
        for batch in batches:
            columns = {name: constant(value, batch.num_rows, pa.string()) for name, value in self._said.items()}
            yield in_schema(batch, self.schema, columns)


class Planned(ABC):
    """The only files that may be deleted."""

    why_not: ClassVar[str]
    """Why an unreferenced file stays that is none of them."""
    left_out: ClassVar[str]
    """What is wrong with those of them that are not unreferenced now, after their number."""

    @abstractmethod
    def count(self) -> int:
        """How many files, without their sidecars."""

    @abstractmethod
    def others(self, dead: Dataset) -> Dataset:
        """The unreferenced files (:data:`PLANNED_FILES`) that were not planned, or have changed since."""


@dataclass(frozen=True, slots=True)
class PlannedOutcomes(Planned):
    """The outcomes of a dry run (:data:`OUTCOMES`)."""

    why_not: ClassVar[str] = "it is not in the plan, or has changed since the plan was made"
    left_out: ClassVar[str] = "of the plan skipped: by now needed, changed or gone"

    outcomes: Dataset

    def count(self) -> int:
        """Without sidecars."""
        return self.outcomes.where("sidecar", [False]).count()

    def others(self, dead: Dataset) -> Dataset:
        """Those of another place, size or time."""
        return dead.anti_join(self.outcomes, [*PLANNED_KEYS, "size", "modified"])


def only_planned(verdicts: Dataset, planned: Planned) -> Dataset:
    """The verdicts (:data:`VERDICTS`), by which a file is deleted only if it was planned as it is now.

    Files with the same key share their fate: if one of them was not planned, all of them stay.
    """
    dead = verdicts.where("verdict", [Verdict.UNREFERENCED.value])
    not_planned = planned.others(dead.flat_map(PlanFiles()))
    kept = spared_rows(dead.semi_join(not_planned, FILE_KEYS.names), planned.why_not)
    rest = verdicts.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
    return dead.anti_join(not_planned, FILE_KEYS.names).union(kept).union(rest)
