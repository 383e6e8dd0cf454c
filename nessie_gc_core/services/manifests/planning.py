"""Decides which manifests of a snapshot are rewritten, from what its manifest list says and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Self

from nessie_gc_core.model.manifests import Manifest, ManifestContent
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.services.manifests.levels import (
    EFFORTS,
    OVERLAPS,
    Effort,
    EffortRules,
    PartitionPriority,
    parse_target,
    target_of,
)
from nessie_gc_core.services.manifests.ranges import Box, Point, by_size, measured, meeting, possible_partitions

_TOO_MUCH = "its ranges overlap, and together they exceed what this effort rewrites; raise `effort`"

_MANY = 3.0
"""From so many manifests on that a query for one partition opens, nobody would call ranges fine."""
_FULL = 1.2
"""Iceberg ends a new manifest at so many times the target size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestGroup:
    """The manifests of one partition spec and one content, which are rewritten into each other."""

    spec_id: int
    """The partition spec."""
    content: ManifestContent
    """Data files or delete files."""
    manifests: Sequence[Manifest] = field(repr=False)
    """All of them, of the current snapshot."""
    chosen: Sequence[Manifest] = field(default=(), repr=False)
    """Those that would be rewritten."""
    target_bytes: int
    """The size that new manifests get."""
    small: int = 0
    """How many are too small."""
    large: int = 0
    """How many are too large."""
    crowded: int = 0
    """How many are where a query for one partition opens more manifests than the partition priority allows."""
    overlap: float | None = None
    """How many a query for one partition opens on average; ``None``: there are no partitions, or no known ranges."""
    reason: str | None = None
    """Why none of them is rewritten."""

    @property
    def bytes(self) -> int:
        """Size of all of them."""
        return total(self.manifests)

    @property
    def chosen_bytes(self) -> int:
        """Size of those that would be rewritten."""
        return total(self.chosen)

    @property
    def expected(self) -> int:
        """How many the rewritten ones should become."""
        return ideal_count(self.chosen, self.target_bytes)

    @property
    def fewer(self) -> int:
        """How many manifests less should remain."""
        return len(self.chosen) - self.expected


def total(manifests: Iterable[Manifest]) -> int:
    """The size of some manifests in bytes."""
    return sum(manifest.length for manifest in manifests)


def ideal_count(manifests: Sequence[Manifest], target_bytes: int) -> int:
    """How many manifests of the target size hold what these do; none where no file of them is live."""
    live = any(manifest.files != 0 for manifest in manifests)
    return max(math.ceil(total(manifests) / target_bytes), 1) if live else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlanner:
    """Plans for one table after the other; it keeps nothing."""

    effort: Effort
    priority: PartitionPriority
    target_bytes: int

    @classmethod
    def of(
        cls, table: TableMetadata, effort: Effort, priority: PartitionPriority, target_manifest_size: str | None
    ) -> Self:
        """The planner of one table.

        Raises:
            ConfigurationError: a size, or the table's own, is invalid.
        """
        target = parse_target(target_manifest_size) or target_of(table)
        return cls(effort=effort, priority=priority, target_bytes=target)

    @property
    def _rules(self) -> EffortRules:
        return EFFORTS[self.effort]

    def plan(self, manifests: Sequence[Manifest]) -> list[ManifestGroup]:
        """What would be rewritten, for each partition spec and content, those with the most gain first.

        The share of bytes that the effort allows is one for the whole table.
        """
        groups = [self._group(list(found)) for _, found in groupby(sorted(manifests, key=_kind), key=_kind)]
        budget = max(self._rules.share * total(manifests), self._rules.least_targets * self.target_bytes)
        planned: list[ManifestGroup] = []
        for group in sorted(groups, key=lambda group: -len(group.manifests)):
            found = self._planned(group, budget)
            budget -= found.chosen_bytes
            planned.append(found)
        return planned

    def _group(self, manifests: Sequence[Manifest]) -> ManifestGroup:
        return ManifestGroup(
            spec_id=manifests[0].spec_id,
            content=manifests[0].content,
            manifests=manifests,
            target_bytes=self.target_bytes,
        )

    def _planned(self, group: ManifestGroup, budget: float) -> ManifestGroup:
        """The group with what is wrong with it, and with what is rewritten of it."""
        found = Problems.of(group, self._rules, OVERLAPS[self.priority])
        numbers = self._chosen(group.manifests, found, budget)
        chosen = [group.manifests[number] for number in numbers]
        proposed = replace(
            group,
            chosen=chosen,
            small=len(found.small),
            large=len(found.large),
            crowded=len(found.crowded),
            overlap=found.overlap,
        )
        reason = self._against(proposed, found, set(numbers))
        return proposed if reason is None else replace(proposed, chosen=(), reason=reason)

    def _chosen(self, manifests: Sequence[Manifest], found: Problems, budget: float) -> list[int]:
        """The numbers of the manifests to rewrite within the budget."""
        wrong = found.small | found.large | found.crowded
        if not wrong:
            return []
        if self._rules.whole:
            whole = [number for number in range(len(manifests)) if manifests[number].is_counted]
            return self._within(budget, manifests, [whole])
        if self.priority is PartitionPriority.HIGH and found.boxes is not None:
            meet = [part for part in meeting(found.boxes) if wrong & set(part)]
            if chosen := self._within(budget, manifests, meet):
                return chosen
        singly = sorted(wrong, key=lambda number: self._order(manifests, found, number))
        return self._within(budget, manifests, [[number] for number in singly])

    def _within(self, budget: float, manifests: Sequence[Manifest], parts: Iterable[Sequence[int]]) -> list[int]:
        """The numbers in those parts that fit into the budget."""
        chosen: list[int] = []
        for part in parts:
            size = total(manifests[number] for number in part)
            if size <= budget and all(manifests[number].is_counted for number in part):
                chosen.extend(part)
                budget -= size
        return sorted(chosen)

    def _order(self, manifests: Sequence[Manifest], found: Problems, number: int) -> Point:
        """By partition, so that neighbours come together; where partitions do not matter, the smallest first."""
        if self.priority is PartitionPriority.LOW or found.boxes is None:
            return by_size(manifests[number].length)
        return found.boxes[number].lower

    def _against(self, group: ManifestGroup, found: Problems, chosen: set[int]) -> str | None:
        """Why it is not worth it; ``None``: it is."""
        if not (found.small or found.large or found.crowded):
            return self._fine(found)
        if not chosen:
            uncounted = any(not manifest.is_counted for manifest in group.manifests)
            return "its manifest list has no file counts" if uncounted else _TOO_MUCH
        least = max(self._rules.fewer, math.ceil(self._rules.fewer_share * len(group.manifests)))
        if group.fewer >= least or len(chosen & found.crowded) > 1 or chosen & found.large:
            return None
        return (
            f"it would save {group.fewer:,} of {len(group.manifests):,} manifests, and this effort requires at least "
            f"{least:,}"
        )

    def _fine(self, found: Problems) -> str:
        """Why nothing is wrong; ranges are not called fine where they are only accepted."""
        if found.overlap is None or found.overlap < _MANY:
            return "sizes and partition ranges are fine"
        opens = f"a query for one partition opens {found.overlap:.1f} manifests"
        if self._rules.only_small or OVERLAPS[self.priority] is None:
            return f"sizes are fine; {opens}, but this `effort` or `partition_priority` looks at sizes only"
        return f"sizes are fine; {opens}, which is no more than the size of a partition needs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """What is wrong with manifests of one spec and content, by their numbers."""

    small: frozenset[int]
    large: frozenset[int]
    crowded: frozenset[int] = frozenset()
    overlap: float | None = None
    boxes: Sequence[Box] | None = None
    """Their ranges; ``None``: they have none, or not all are known."""

    @classmethod
    def of(cls, group: ManifestGroup, rules: EffortRules, times: float | None) -> Problems:
        """Looks at sizes and ranges.

        Args:
            group: the manifests.
            rules: of the effort.
            times: how many times more manifests than needed a query for one partition may open.
        """
        lengths, target = [manifest.length for manifest in group.manifests], group.target_bytes
        small = frozenset(number for number, length in enumerate(lengths) if length < rules.small * target)
        most = math.inf if rules.large is None else rules.large * target
        large = frozenset(number for number, length in enumerate(lengths) if length > most)
        if not large and _is_left_by_one_rewrite(group):
            small = frozenset()
        boxes = [box for box in map(Box.of, group.manifests) if box is not None]
        if not boxes or len(boxes) < len(lengths):
            return cls(small=small, large=large)
        files = [manifest.files for manifest in group.manifests]
        partitions = possible_partitions(boxes, math.inf if None in files else sum(filter(None, files)))
        needed = max(1.0, ideal_count(group.manifests, target) / partitions)
        allowed = None if times is None or rules.only_small else times * needed
        writers = [_writer(each, is_small=number in small) for number, each in enumerate(group.manifests)]
        merged = ideal_count([group.manifests[number] for number in small], target)
        found = measured(boxes, allowed, writers, merged)
        return cls(small=small, large=large, crowded=found.crowded, overlap=found.depth, boxes=boxes)


def overlap_of(manifests: Sequence[Manifest]) -> float | None:
    """How many manifests a query for one partition opens on average, over all specs and contents that have partitions.

    Each spec and content counts as much as it has manifests.
    """
    found = list(_depths(manifests))
    weights = sum(weight for weight, _ in found)
    return sum(weight * depth for weight, depth in found) / weights if weights else None


def _depths(manifests: Sequence[Manifest]) -> Iterator[tuple[int, float]]:
    for _, group in groupby(sorted(manifests, key=_kind), key=_kind):
        boxes = [Box.of(manifest) for manifest in group]
        known = [box for box in boxes if box is not None]
        if known and len(known) == len(boxes):
            yield len(known), measured(known).depth


def _writer(manifest: Manifest, *, is_small: bool) -> object:
    """What manifests have in common that one rewrite wrote, in the order of their partitions; ``None``: it is small."""
    if manifest.added_files == 0 and manifest.snapshot_id is not None:
        return manifest.snapshot_id
    return None if is_small else manifest.path


def _is_left_by_one_rewrite(group: ManifestGroup) -> bool:
    """Whether one rewrite wrote all of them, so that another one would write the same again, small ones included.

    Iceberg distributes files over as many writers as there should be manifests. Each writer begins a new manifest at
    1.2 times the target size, and leaves a last one of any size.
    """
    writers = {each.snapshot_id if each.added_files == 0 else None for each in group.manifests}
    most = ideal_count(group.manifests, group.target_bytes) + int(group.bytes / (_FULL * group.target_bytes))
    return len(writers) == 1 and None not in writers and len(group.manifests) <= most


def _kind(manifest: Manifest) -> tuple[int, str]:
    return manifest.spec_id, manifest.content
