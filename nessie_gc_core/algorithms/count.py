"""Count: what is stored, what is judged, and its outcome, by unit; and the names of some files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from nessie_gc_core.algorithms.still_held import NOT_BEGUN
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.verdicts import Outcome, Verdict
from nessie_gc_core.plugins.sets import INSTALL_ON_WORKERS

FILES_AND_BYTES = {"files": ("count", "unit"), "bytes": ("sum", "size")}
"""The measures that count files."""
_OUTCOMES = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("unit", "outcome")),
        pa.field("sidecar", pa.bool_()),
        *(pa.field(name, pa.int64()) for name in ("files", "bytes")),
    ]
)
_STORED = pa.schema(
    [
        pa.field("unit", pa.string()),
        pa.field("sidecar", pa.bool_()),
        pa.field("mark", pa.string()),
        pa.field("files", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("problem", pa.string()),
        pa.field("left_alone", pa.int64()),
        pa.field("example", pa.string()),
    ]
)
_PLANNED = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("unit", "verdict")),
        pa.field("sidecar_only", pa.bool_()),
        *(pa.field(name, pa.int64()) for name in ("files", "bytes", "newest")),
    ]
)
_REASONS = pa.schema([pa.field("reason", pa.string())])


def count_verdicts(verdicts: Dataset) -> dict[tuple[str, str], tuple[int, int]]:
    """Files and bytes per unit and verdict (:data:`VERDICTS`); a sidecar whose file is gone does not count."""
    return count_old_enough(verdicts)[0]


def count_old_enough(verdicts: Dataset) -> tuple[dict[tuple[str, str], tuple[int, int]], int]:
    """The same, and when the newest file that is not too young was modified (microseconds; 0: there is none)."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    newest = 0
    measures = {**FILES_AND_BYTES, "newest": ("max", "modified")}
    for row in verdicts.aggregate(["unit", "verdict", "sidecar_only"], measures, _PLANNED).summary().to_pylist():
        files, bytes_ = found.get((row["unit"], row["verdict"]), (0, 0))
        if not row["sidecar_only"]:
            files, bytes_ = files + row["files"], bytes_ + row["bytes"]
        found[row["unit"], row["verdict"]] = (files, bytes_)
        newest = max(newest, 0 if row["verdict"] == Verdict.TOO_YOUNG.value else row["newest"])
    return found, newest


def count_outcomes(outcomes: Dataset) -> Iterator[dict[str, Any]]:
    """Files and bytes of outcomes (:data:`OUTCOMES`) per unit, outcome, and whether they are sidecars."""
    counted = outcomes.aggregate(["unit", "outcome", "sidecar"], FILES_AND_BYTES, _OUTCOMES)
    yield from counted.summary().to_pylist()


def name_outcomes(outcomes: Dataset, outcome: Outcome, most: int) -> Iterator[tuple[str, str | None]]:
    """Some of the files with an outcome: their paths, each with the reason."""
    for row in outcomes.where("outcome", [outcome.value]).head(most).to_pylist():
        yield row["location"] + row["path"], row["reason"]


def kept_by_workers(outcomes: Dataset, most: int) -> list[str]:
    """Why workers spared files: they lack a plugin of the driver (S26), or the lease was over (S35); each once."""
    spared = outcomes.where("outcome", [Outcome.SPARED.value])
    reasons = spared.flat_map(_KeptByWorkers()).distinct(_REASONS.names).head(most)
    return [str(row["reason"]) for row in reasons.to_pylist()]


class _KeptByWorkers:
    """The reasons of files that stay because of the worker that was to delete them; one for many files."""

    schema = _REASONS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reasons = (reason for batch in batches for (reason,) in to_rows(batch, "reason"))
        texts = {reason for reason in reasons if isinstance(reason, str)}
        said = {each for each in texts if each.endswith(INSTALL_ON_WORKERS) or each.startswith(NOT_BEGUN)}
        yield from to_batches(((reason,) for reason in sorted(said)), self.schema)


class StoredCounts:
    """What a listing found in each unit: files and bytes, sidecars left out, and why it cannot be trusted.

    ``left_alone`` counts the names in all of them that are not our files; ``with_sidecars`` are the units that
    contain checksum sidecars; ``marks`` says for each unit what else uses it (S32), each with the key of one such file.
    """

    def __init__(self, stored: Dataset) -> None:
        measures = {
            "files": ("count", "key"),
            "bytes": ("sum", "size"),
            "problem": ("max", "problem"),
            "left_alone": ("sum", "left_alone"),
            "example": ("min", "key"),
        }
        self.files: dict[str, tuple[int, int]] = {}
        self.problems: dict[str, str] = {}
        self.with_sidecars: set[str] = set()
        self.marks: dict[str, dict[str, str]] = {}
        self.left_alone = 0
        for row in stored.aggregate(["unit", "sidecar", "mark"], measures, _STORED).summary().to_pylist():
            unit = row["unit"]
            if row["problem"] is not None:
                self.problems[unit] = row["problem"]
            if row["mark"] is not None:
                self.marks.setdefault(unit, {})[row["mark"]] = row["example"]
            if row["sidecar"]:
                self.with_sidecars.add(unit)
            else:
                self.left_alone += row["left_alone"]
                files, bytes_ = self.files.get(unit, (0, 0))
                self.files[unit] = (files + row["files"] - row["left_alone"], bytes_ + row["bytes"])

    @property
    def files_by_unit(self) -> dict[str, int]:
        """How many files each unit holds."""
        return {unit: files for unit, (files, _) in self.files.items()}
