"""The steps of a deletion: what is deleted between two looks at the references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nessie_gc_core.algorithms.count import count_verdicts
from nessie_gc_core.algorithms.guard import BUCKETS
from nessie_gc_core.dataset import Dataset

Judged = dict[tuple[str, str], tuple[int, int]]
"""Files and bytes of each unit and verdict."""


@dataclass(frozen=True, slots=True)
class Step:
    """Whole units, or some buckets of one large unit."""

    units: tuple[str, ...] | None
    """Canonical roots; ``None``: all there are."""
    part: int = 1
    parts: int = 1

    @property
    def name(self) -> str:
        """The part as it is recorded."""
        return f"{self.part}/{self.parts}"

    def of(self, dataset: Dataset) -> Dataset:
        """The rows that belong to the step."""
        mine = dataset if self.units is None else dataset.where("unit", self.units)
        if self.parts == 1:
            return mine
        return mine.where("bucket", [b for b in range(BUCKETS) if b % self.parts == self.part - 1])


def step_of(units: Sequence[str], name: str) -> Step:
    """The step of some units that was recorded under a name."""
    part, _, parts = name.partition("/")
    return Step(tuple(units), int(part), int(parts))


def judged(verdicts: Dataset) -> Judged:
    """Files and bytes per unit and verdict (:data:`VERDICTS`); a sidecar alone does not count."""
    return count_verdicts(verdicts)


def steps_of(found: Mapping[tuple[str, str], tuple[int, int]], files_per_step: int) -> Iterator[Step]:
    """Whole units together as long as they are small; a large unit in parts by bucket."""
    by_unit: dict[str, int] = {}
    for (unit, _), (files, _) in found.items():
        by_unit[unit] = by_unit.get(unit, 0) + files
    group: list[str] = []
    size = 0
    for unit, files in sorted(by_unit.items()):
        if files > files_per_step:
            parts = min(-(-files // files_per_step), BUCKETS)
            yield from (Step((unit,), part, parts) for part in range(1, parts + 1))
            continue
        if group and size + files > files_per_step:
            yield Step(tuple(group))
            group, size = [], 0
        group.append(unit)
        size += files
    if group:
        yield Step(tuple(group))
