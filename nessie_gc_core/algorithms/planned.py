"""Plan: names the files that a step is about to delete, so that a killed run leaves no nameless gap (S15)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.guard import SpareRows
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import Row, to_batches, to_rows
from nessie_gc_core.model.relations import FILE_KEYS, OUTCOMES, VERDICTS
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
"""What tells each from any other: in an object store ``a//b`` and ``a/b`` are two files with one key."""


NOT_PLANNED = "the plan does not have it as it is now"
"""Why a file stays that is dead and was not planned."""


class PlanFiles:
    """Verdicts (:data:`VERDICTS`) to the files that may go, or to all of them."""

    schema = PLANNED_FILES

    def __init__(self, *, spared_units: Collection[str] = (), whatever_the_verdict: bool = False) -> None:
        self._spared_units = frozenset(spared_units)
        self._all = whatever_the_verdict

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A file and its sidecar become two rows."""
        rows = (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist())
        yield from to_batches((file for row in rows if self._may_go(row) for file in _files_of(row)), self.schema)

    def _may_go(self, row: dict[str, object]) -> bool:
        return self._all or (row["verdict"] == Verdict.UNREFERENCED.value and row["unit"] not in self._spared_units)


def _files_of(row: dict[str, str | int | bool | None]) -> Iterator[Row]:
    for path, size, sidecar in (("path", "size", False), ("sidecar_path", "sidecar_size", True)):
        if row[path] is not None:
            yield (row["unit"], row["key"], row["location"], row[path], row[size], row["modified"], sidecar)


class NameOutcome:
    """Planned files to one outcome for all of them (:data:`OUTCOMES`)."""

    schema = OUTCOMES

    def __init__(self, outcome: Outcome | str, reason: str) -> None:
        self._outcome, self._reason = str(outcome), reason

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Keeps what names a file."""
        columns = ("unit", "location", "path", "size", "modified", "sidecar")
        rows = (row for batch in batches for row in to_rows(batch, *columns))
        yield from to_batches(((*row, self._outcome, self._reason) for row in rows), self.schema)


class Planned(ABC):
    """Files beyond which nothing may go."""

    @abstractmethod
    def count(self) -> int:
        """How many files, without their sidecars."""

    @abstractmethod
    def others(self, dead: Dataset) -> Dataset:
        """Those of some dead files (:data:`PLANNED_FILES`) that were not planned as they are now."""


@dataclass(frozen=True, slots=True)
class PlannedOutcomes(Planned):
    """The outcomes of a dry run (:data:`OUTCOMES`)."""

    outcomes: Dataset

    def count(self) -> int:
        """Without sidecars."""
        return self.outcomes.where("sidecar", [False]).count()

    def others(self, dead: Dataset) -> Dataset:
        """Those of another place, size or time."""
        return dead.anti_join(self.outcomes, [*PLANNED_KEYS, "size", "modified"])


def only_planned(verdicts: Dataset, planned: Planned) -> Dataset:
    """The verdicts (:data:`VERDICTS`), in which a file goes only if it was planned as it is now.

    Files with one key stay together: where one of them was not planned, none goes.
    """
    dead = verdicts.where("verdict", [Verdict.UNREFERENCED.value])
    not_planned = planned.others(dead.flat_map(PlanFiles()))
    kept = dead.semi_join(not_planned, FILE_KEYS.names).flat_map(SpareRows(NOT_PLANNED))
    rest = verdicts.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
    return dead.anti_join(not_planned, FILE_KEYS.names).union(kept).union(rest)
