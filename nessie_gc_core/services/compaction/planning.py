"""Decides which partitions of a table are compacted, from what its manifests say of their files and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.services.compaction.groups import bundled_in_common, is_in_common, moved, rewritten_along
from nessie_gc_core.services.compaction.separating import (
    Specs,
    bundles,
    dropped_source,
    inseparable,
    joined,
    stays_whole,
)
from nessie_gc_core.services.compaction.tallies import Tally, deletes_everywhere, own_deletes

_SPREAD = "its small files would be spread over partitions of the current spec, and could become more"
_OVER_BUDGET = "the byte budget of this run is used up"
_TOO_LARGE = "files that must be rewritten together exceed the byte budget; raise `max_bytes`"
_INSEPARABLE = "Iceberg would also rewrite files of another partition spec, which are not due or must wait"
_EARLIER_SPECS = "use `earlier_specs` to rewrite small files of earlier specs"
_ALONE = "it is a single small file of an earlier partition spec, which Iceberg does not rewrite"


def small_ratio(small: int, data_files: int) -> float:
    """Small data files for each large one, where so many of all data files are small; no large one counts as one."""
    return small / max(data_files - small, 1)


def delete_ratio(delete_files: int, data_files: int) -> float:
    """Delete files for each data file; no data file counts as one."""
    return delete_files / max(data_files, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """A partition that is due, and what would be rewritten of it."""

    partition: Partition
    tally: Tally
    deletes_due: bool
    """Whether it has too many delete files, or can only be rewritten together with partitions that have."""
    small_due: bool
    """Whether it has too many small files."""
    input_files: int
    """How many data files would be rewritten at most."""
    input_bytes: int
    """Their size."""
    output_files: int
    """How many they should become."""
    reason: str | None = None
    """Why it is left as it is; ``None``: it is compacted."""
    remedy: str | None = None
    """What to do about that; ``None``: nothing."""
    bundle: frozenset[Partition] = frozenset()
    """The partitions that are rewritten with it or not at all; empty: itself."""

    @property
    def gain(self) -> int:
        """How many files less should remain."""
        return self.input_files - self.output_files + (self.tally.delete_files if self.deletes_due else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRules:
    """What is due, and what is left alone."""

    max_small_files: float
    """Most small data files for each large one."""
    max_delete_files: float
    """Most delete files for each data file."""
    small_bytes: int
    """Below this, a data file is small."""
    target_bytes: int
    """The size that new data files get."""
    written_since_ms: int | None = None
    """Partitions to which a file was added then or later are being written; ``None``: no matter."""
    earlier_specs: bool = False
    """Whether all small files of earlier partition specs are due, though they may become more in the current one."""

    def due(
        self,
        tallies: Mapping[Partition, Tally],
        specs: Specs,
        *,
        columns: Set[int] = frozenset(),
        default_spec: int | None = None,
    ) -> list[PartitionPlan]:
        """The partitions that are due, those with the most gain first.

        Args:
            tallies: all partitions of a table that have live files.
            specs: the ids of its partition specs with their fields.
            columns: ids of the columns of the table's schema; empty: not known.
            default_spec: id of the partition spec that new files get; ``None``: not known.
        """
        everywhere = deletes_everywhere(tallies, specs)
        becoming = moved(tallies, specs, default_spec) if self.earlier_specs else {}
        plans: list[PartitionPlan] = []
        for each, tally in tallies.items():
            deletes = tally.delete_files + everywhere - own_deletes(each, tally, specs)
            plan = self._plan(each, tally, deletes, becoming.get(each))
            if plan is not None:
                plans.append(_named(plan, specs, columns))
        if not self.earlier_specs:
            plans = [_kept_together(plan, specs, default_spec) for plan in plans]
        plans = sorted(separated(plans, tallies, specs, default_spec), key=_order)
        return plans if self.earlier_specs else [_with_remedy(plan) for plan in plans]

    def _plan(self, partition: Partition, tally: Tally, deletes: int, becoming: int | None) -> PartitionPlan | None:
        """What would be rewritten of a partition that is due, or is to become so many files at least."""
        output = max(math.ceil(tally.small_bytes / self.target_bytes), becoming or 0)
        large = tally.data_files - tally.small
        is_small = tally.small - output > 0 and small_ratio(tally.small, tally.data_files) > self.max_small_files
        small_due = is_small or becoming is not None
        deletes_due = delete_ratio(deletes, tally.data_files) > self.max_delete_files
        if not small_due and not deletes_due:
            return None
        files, size = (tally.data_files, tally.bytes) if deletes_due else (tally.small, tally.small_bytes)
        plan = PartitionPlan(
            partition=partition,
            tally=tally,
            deletes_due=deletes_due,
            small_due=small_due,
            input_files=files,
            input_bytes=size,
            output_files=min(large + output if deletes_due else output, files),
        )
        since = self.written_since_ms
        if since is not None and tally.added_ms is not None and tally.added_ms >= since:
            return replace(plan, reason="it is being written to: files were added to it recently")
        return plan


def _with_remedy(plan: PartitionPlan) -> PartitionPlan:
    return replace(plan, remedy=_EARLIER_SPECS) if plan.reason in (_SPREAD, _INSEPARABLE) else plan


def _named(plan: PartitionPlan, specs: Specs, columns: Set[int]) -> PartitionPlan:
    """The plan, with a reason where no filter can name its partition."""
    dropped = dropped_source(plan.partition, specs, columns)
    if plan.reason is not None or dropped is None:
        return plan
    return replace(plan, reason=f"Iceberg cannot select it: the column of its partition field {dropped} was dropped")


def _kept_together(plan: PartitionPlan, specs: Specs, default_spec: int | None) -> PartitionPlan:
    """The plan, with a reason where its small files could become more by the partitions of the current spec."""
    is_safe = plan.deletes_due or default_spec is None or stays_whole(plan.partition.spec_id, default_spec, specs)
    return plan if plan.reason is not None or is_safe else replace(plan, reason=_SPREAD)


def separated(
    plans: Sequence[PartitionPlan],
    tallies: Mapping[Partition, Tally],
    specs: Specs,
    default_spec: int | None = None,
) -> list[PartitionPlan]:
    """The same, without those that Iceberg would rewrite together with partitions that are not planned.

    What has small files only goes with those whose deletes are due, where Iceberg cannot tell them apart.
    """
    chosen = [plan for plan in plans if plan.reason is None]
    small = {plan.partition for plan in chosen if not plan.deletes_due}
    deletes = {plan.partition for plan in chosen if plan.deletes_due}
    everywhere = deletes_everywhere(tallies, specs)
    with_small = rewritten_along(tallies, specs, default_spec)
    touched = {each for each, tally in tallies.items() if each in with_small or tally.delete_files or everywhere}
    together = joined(deletes, small, specs)
    while mixed := inseparable(deletes | together, touched, specs):
        deletes -= mixed
        together = joined(deletes, small, specs)
    small -= together
    small -= inseparable(small, with_small, specs)
    alone = bundled_in_common(bundles(small, specs), small, tallies, default_spec)
    bundle = {**bundles(deletes | together, specs), **alone}
    found = [
        plan if plan.reason is not None else _separated(plan, bundle, together, has_deletes=everywhere > 0)
        for plan in plans
    ]
    return found if default_spec is None else _without_lone_file(found, default_spec)


def _without_lone_file(plans: Sequence[PartitionPlan], default_spec: int) -> list[PartitionPlan]:
    """The plans, with a reason for the only small file in the group of the earlier specs."""
    chosen = (plan for plan in plans if plan.reason is None and not plan.deletes_due)
    common = [plan for plan in chosen if is_in_common(plan.partition, default_spec)]
    is_alone = sum(plan.tally.small for plan in common) == 1
    return [replace(plan, reason=_ALONE) if is_alone and plan in common else plan for plan in plans]


def _separated(
    plan: PartitionPlan,
    bundle: Mapping[Partition, frozenset[Partition]],
    together: Set[Partition],
    *,
    has_deletes: bool,
) -> PartitionPlan:
    """A plan with what Iceberg would rewrite with it."""
    if plan.partition not in bundle:
        return replace(plan, reason=_INSEPARABLE)
    plan = replace(plan, bundle=bundle[plan.partition])
    if plan.partition not in together:
        return plan
    tally, plan = plan.tally, replace(plan, deletes_due=True)
    if not tally.delete_files and not has_deletes:
        return plan
    output = tally.data_files - tally.small + plan.output_files
    return replace(plan, input_files=tally.data_files, input_bytes=tally.bytes, output_files=output)


def within_budget(tables: Sequence[Sequence[PartitionPlan]], max_bytes: int) -> list[list[PartitionPlan]]:
    """The plans, of which those with the most gain use up a budget, and others wait for the next run.

    Partitions of one bundle get their share together or not at all.

    Args:
        tables: the plans of each table.
        max_bytes: how many bytes of data files are rewritten at most.
    """
    bundled: dict[tuple[int, frozenset[Partition]], list[PartitionPlan]] = {}
    for number, plans in enumerate(tables):
        for plan in plans:
            if plan.reason is None:
                bundled.setdefault((number, plan.bundle or frozenset([plan.partition])), []).append(plan)
    left, reasons = max_bytes, dict[int, str]()
    for found in sorted(bundled.values(), key=_order_of_bundle):
        size = sum(plan.input_bytes for plan in found)
        if size <= left:
            left -= size
        else:
            reasons.update(dict.fromkeys(map(id, found), _TOO_LARGE if size > max_bytes else _OVER_BUDGET))
    return [
        [replace(plan, reason=reasons[id(plan)]) if id(plan) in reasons else plan for plan in plans] for plans in tables
    ]


def _order_of_bundle(plans: Sequence[PartitionPlan]) -> tuple[int, int, str]:
    first = min(str(plan.partition) for plan in plans)
    return -sum(plan.gain for plan in plans), sum(plan.input_bytes for plan in plans), first


def _order(plan: PartitionPlan) -> tuple[int, int, str]:
    return -plan.gain, plan.input_bytes, str(plan.partition)
