"""Which manifests are rewritten, by nothing but what their list says: each level of effort and partition priority."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import FileEntry, Manifest, ManifestContent, PartitionRange, PartitionValue
from nessie_gc_core.services.manifests.levels import EFFORTS, Effort, PartitionPriority
from nessie_gc_core.services.manifests.placing import placed
from nessie_gc_core.services.manifests.planning import ManifestGroup, ManifestPlanner, overlap_of, total
from nessie_gc_core.services.manifests.ranges import Box, meeting

MB = 1 << 20
TARGET = 8 * MB
LOW, MEDIUM, HIGH = Effort.LOW, Effort.MEDIUM, Effort.HIGH


def manifest(
    number: int, length: int, *range_: PartitionValue | None, rewritten_by: int | None = None, **more: Any
) -> Manifest:
    """One that names a file; its range is that of one partition, or from one to another."""
    lower, upper = (range_ * 2)[:2] if range_ else (None, None)
    ranges = (PartitionRange(lower=lower, upper=upper, contains_null=lower is None, contains_nan=False),)
    counts = {"added_files": 0 if rewritten_by else 1, "existing_files": 1 if rewritten_by else 0, "deleted_files": 0}
    named: dict[str, Any] = {"snapshot_id": rewritten_by or number, **counts, **more}
    return Manifest(path=f"m{number}", length=length, partitions=ranges if range_ else (), **named)


def planned(
    manifests: Sequence[Manifest],
    effort: Effort = MEDIUM,
    priority: PartitionPriority = PartitionPriority.MEDIUM,
    target: int = TARGET,
) -> list[ManifestGroup]:
    return ManifestPlanner(effort=effort, priority=priority, target_bytes=target).plan(manifests)


def chosen(*arguments: Any, **more: Any) -> list[str]:
    return sorted(manifest.path for group in planned(*arguments, **more) for manifest in group.chosen)


def share(*arguments: Any) -> float:
    groups = planned(*arguments)
    return sum(group.chosen_bytes for group in groups) / sum(group.bytes for group in groups)


# ---- sizes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("effort", "least"), [(LOW, 5), (MEDIUM, 3), (HIGH, 2)])
def test_small_manifests_are_rewritten_from_so_many_on(effort: Effort, least: int) -> None:
    def small(count: int) -> list[Manifest]:
        return [manifest(number, 7000) for number in range(count)]

    assert [] == chosen(small(least - 1), effort)
    assert least == len(chosen(small(least), effort))


@pytest.mark.parametrize(("effort", "small"), [(LOW, 0.25), (MEDIUM, 0.5), (HIGH, 1.0)])
def test_small_is_what_is_below_a_share_of_the_target(effort: Effort, small: float) -> None:
    (below,) = planned([manifest(number, int(small * TARGET) - 1) for number in range(40)], effort)
    (above,) = planned([manifest(number, int(small * TARGET)) for number in range(40)], effort)
    assert (40, 0) == (below.small, above.small)


@pytest.mark.parametrize(("effort", "large"), [(LOW, 0), (MEDIUM, 1), (HIGH, 1)])
def test_large_manifests_are_cut_but_with_little_effort(effort: Effort, large: int) -> None:
    (group,) = planned([manifest(1, 3 * TARGET)], effort)
    assert (large, large) == (group.large, len(group.chosen))
    assert 3 * large == group.expected


def test_manifests_of_the_target_size_are_left_alone() -> None:
    (group,) = planned([manifest(number, TARGET) for number in range(50)])
    assert ((), "sizes and partition ranges are fine") == (group.chosen, group.reason)


def test_a_few_small_ones_among_many_are_not_worth_a_commit() -> None:
    (group,) = planned([manifest(number, TARGET if number > 3 else 7000) for number in range(200)])
    assert ((), "it would save 3 of 200 manifests, and this effort requires at least 10") == (
        group.chosen,
        group.reason,
    )


def test_manifests_that_nobody_counted_are_left_alone() -> None:
    groups = planned([manifest(number, 7000, added_files=None) for number in range(9)])
    assert [((), "its manifest list has no file counts")] == [(group.chosen, group.reason) for group in groups]


def test_manifests_without_live_files_become_none() -> None:
    (group,) = planned([manifest(number, 7000, added_files=0, deleted_files=1) for number in range(4)])
    assert (4, 0) == (len(group.chosen), group.expected)


def test_specs_and_contents_are_planned_apart() -> None:
    kinds = [(0, ManifestContent.DATA), (1, ManifestContent.DATA), (1, ManifestContent.DELETES)]
    manifests = [
        manifest(10 * kind + number, 7000, spec_id=spec, content=content)
        for kind, (spec, content) in enumerate(kinds)
        for number in range(3)
    ]
    assert {(*kind, 3, 1) for kind in kinds} == {
        (group.spec_id, group.content, len(group.chosen), group.expected) for group in planned(manifests)
    }


# ---- shares of bytes ----------------------------------------------------------------------------------
@pytest.mark.parametrize(("effort", "most"), [(LOW, 0.25), (MEDIUM, 0.5), (HIGH, 1.0)])
def test_no_more_than_a_share_of_the_bytes_is_rewritten(effort: Effort, most: float) -> None:
    manifests = [manifest(number, MB) for number in range(400)]
    assert most - 0.01 < share(manifests, effort) <= most


def test_what_fits_into_one_manifest_is_rewritten_as_a_whole_with_little_effort() -> None:
    assert 20 == len(chosen([manifest(number, 7000) for number in range(20)], LOW))


def test_with_little_effort_the_smallest_come_first() -> None:
    manifests = [manifest(number, 1000 + number) for number in reversed(range(100))]
    found = chosen(manifests, LOW, target=8000)
    assert {f"m{number}" for number in range(len(found))} == set(found)


# ---- partitions ---------------------------------------------------------------------------------------
CLUSTERED = [manifest(number, TARGET, 10 * number, 10 * number + 9) for number in range(12)]
MIXED = [manifest(number, TARGET, 0, 119) for number in range(12)]


@pytest.mark.parametrize("priority", PartitionPriority)
@pytest.mark.parametrize("effort", Effort)
def test_manifests_that_follow_the_partitions_are_left_alone(effort: Effort, priority: PartitionPriority) -> None:
    assert [] == chosen(CLUSTERED, effort, priority)
    assert 1.0 == overlap_of(CLUSTERED)


@pytest.mark.parametrize(
    ("priority", "count"), [(PartitionPriority.LOW, 0), (PartitionPriority.MEDIUM, 12), (PartitionPriority.HIGH, 12)]
)
def test_manifests_that_all_hold_every_partition_are_rewritten_where_partitions_matter(
    priority: PartitionPriority, count: int
) -> None:
    assert 12.0 == overlap_of(MIXED)
    assert count == len(chosen(MIXED, HIGH, priority))


def test_with_little_effort_large_manifests_stay_however_they_overlap() -> None:
    assert [] == chosen(MIXED, LOW)


@pytest.mark.parametrize(("priority", "most"), [(PartitionPriority.MEDIUM, 3), (PartitionPriority.HIGH, 2)])
def test_so_many_manifests_a_query_for_one_partition_may_open(priority: PartitionPriority, most: int) -> None:
    assert [] == chosen(MIXED[:most], HIGH, priority)
    assert most + 1 == len(chosen(MIXED[: most + 1], HIGH, priority))


def test_a_table_of_one_partition_has_as_many_manifests_as_it_needs() -> None:
    manifests = [manifest(number, TARGET, "a") for number in range(12)]
    assert [] == chosen(manifests, HIGH, PartitionPriority.HIGH)


def test_what_one_rewrite_wrote_is_not_rewritten_again() -> None:
    assert [] == chosen([manifest(number, TARGET, 0, 119, rewritten_by=7) for number in range(12)], HIGH)


LEFT = [
    manifest(number, int(share * TARGET), number // 2, rewritten_by=7) for number, share in enumerate([1.2, 0.1] * 2)
]


@pytest.mark.parametrize("priority", PartitionPriority)
@pytest.mark.parametrize("effort", Effort)
def test_small_ones_that_one_rewrite_left_are_not_rewritten_again(effort: Effort, priority: PartitionPriority) -> None:
    """Two partitions of 1.3 targets each become four manifests, whoever rewrites them."""
    before = [manifest(number, 26 * TARGET // 100, number % 2) for number in range(10)]
    assert 10 == len(chosen(before, HIGH, priority))
    (group,) = planned(LEFT, effort, priority)
    assert ((), "sizes and partition ranges are fine") == (group.chosen, group.reason)


def test_small_ones_that_several_rewrites_left_are_rewritten() -> None:
    assert 5 == len(chosen([*LEFT, manifest(9, 7000, 1, rewritten_by=8)], HIGH))


def test_more_small_ones_than_one_rewrite_leaves_were_written_for_another_target_and_are_rewritten() -> None:
    assert 2 == len(chosen([manifest(number, 7000, number, rewritten_by=7) for number in range(2)], HIGH))
    assert 6 == len(chosen([manifest(number, TARGET // 2, number, rewritten_by=7) for number in range(6)], HIGH))


def test_small_ones_over_large_ones_are_no_reason_to_rewrite_the_large() -> None:
    small = [manifest(100 + number, 7000, 0, 119) for number in range(6)]
    assert sorted(each.path for each in small) == chosen([*CLUSTERED, *small])


def test_small_ones_that_overlap_count_as_those_that_they_become() -> None:
    nearly_large = [manifest(number, TARGET - 1, 0, 119) for number in range(12)]
    assert 12 == len(chosen(nearly_large, HIGH))


def test_what_meets_is_rewritten_together_where_partitions_matter_most() -> None:
    small = [manifest(100 + number, 7000, 3) for number in range(3)]
    found = chosen([*CLUSTERED, *small], MEDIUM, PartitionPriority.HIGH)
    assert ["m0", "m100", "m101", "m102"] == found


def test_where_all_that_meets_is_too_much_the_highest_priority_does_what_the_medium_one_does() -> None:
    manifests = [manifest(number, MB, 0, 9) for number in range(200)]
    medium = chosen(manifests, MEDIUM, PartitionPriority.MEDIUM)
    assert medium
    assert medium == chosen(manifests, MEDIUM, PartitionPriority.HIGH)


def test_a_low_effort_rewrites_neighbours_and_leaves_the_others_as_they_are() -> None:
    aligned = [manifest(number, 7000 + number * 7919 % 500, number) for number in range(150)]  # a partition for each
    found = chosen(aligned, LOW, target=80_000)
    assert 4 < len(found) < len(aligned)
    first = min(int(name[1:]) for name in found)
    assert [f"m{number}" for number in range(first, first + len(found))] == sorted(
        found, key=lambda name: int(name[1:])
    )


def test_ranges_that_are_only_accepted_are_not_called_fine() -> None:
    (group,) = planned([manifest(number, TARGET, 0, 9) for number in range(57)], LOW)
    said = "sizes are fine; a query for one partition opens 57.0 manifests, but this `effort` or `partition_priority` "
    assert ((), f"{said}looks at sizes only") == (group.chosen, group.reason)


def test_null_and_nan_have_their_places() -> None:
    nothing = PartitionRange(contains_nan=False)
    nan = PartitionRange(contains_null=False)
    some = PartitionRange(lower=1.0, upper=2.0, contains_null=False, contains_nan=False)
    boxes = [Box.of(Manifest(path="m", length=1, partitions=(each,))) for each in (some, nothing, nan)]
    assert [[1, 2, 0]] == list(meeting([box for box in boxes if box is not None]))
    assert [[1], [0]] == list(meeting([box for box in boxes[:2] if box is not None]))


def test_ranges_that_are_not_known_decide_nothing() -> None:
    manifests = [_unknown(number) for number in range(9)]
    (group,) = planned(manifests, HIGH, PartitionPriority.HIGH)
    assert (None, None, ()) == (group.overlap, overlap_of(manifests), group.chosen)


def _unknown(number: int) -> Manifest:
    return Manifest(path=f"m{number}", length=TARGET, added_files=1, existing_files=0, deleted_files=0)


# ---- files that are dealt out here ---------------------------------------------------------------------
def entry(number: int, partition: PartitionValue | None) -> FileEntry:
    named: dict[str, Any] = {"kind": FileKind.DATA, "file_format": "PARQUET", "size": 1, "records": 1, "spec_id": 0}
    return FileEntry(path=f"f{number}", partition=(partition,), **named)


def dealt(partitions: Sequence[PartitionValue | None], *, length: int, target: int) -> dict[str, int]:
    """What becomes of one manifest with a file for each of some partitions."""
    chosen = [manifest(1, length, added_files=len(partitions))]
    group = ManifestGroup(spec_id=0, content=ManifestContent.DATA, manifests=chosen, chosen=chosen, target_bytes=target)
    return placed([group], lambda _: [entry(number, value) for number, value in enumerate(partitions)])


def test_files_fill_one_manifest_after_the_other_by_partition() -> None:
    assert {"f0": 2, "f1": 1, "f2": 2, "f3": 1} == dealt([7, 2, 9, 4], length=400, target=200)


def test_the_files_of_one_partition_stay_together() -> None:
    assert {"f0": 1, "f1": 2, "f2": 2, "f3": 2} == dealt([1, 2, 2, 2], length=400, target=200)


def test_null_is_dealt_out_first_and_nan_last() -> None:
    assert {"f0": 2, "f1": 3, "f2": 1} == dealt([1.0, math.nan, None], length=300, target=100)


# ---- whatever there is --------------------------------------------------------------------------------
@st.composite
def manifests_of_a_table(draw: st.DrawFn) -> list[Manifest]:
    found = []
    for number in range(draw(st.integers(0, 40))):
        ends = sorted(draw(st.tuples(st.integers(0, 9), st.integers(0, 9))))
        found.append(
            manifest(
                number,
                draw(st.integers(1, 3 * TARGET)),
                *ends,
                spec_id=draw(st.integers(0, 1)),
                content=draw(st.sampled_from(ManifestContent)),
                rewritten_by=draw(st.sampled_from([None, 1000, 1001])),
            )
        )
    return found


@settings(deadline=None)
@given(manifests_of_a_table(), st.sampled_from(Effort), st.sampled_from(PartitionPriority))
def test_each_manifest_is_in_one_group_and_the_effort_is_kept(
    manifests: list[Manifest], effort: Effort, priority: PartitionPriority
) -> None:
    groups = planned(manifests, effort, priority)

    assert sorted(each.path for each in manifests) == sorted(m.path for group in groups for m in group.manifests)
    rules = EFFORTS[effort]
    most = max(rules.share * total(manifests), rules.least_targets * TARGET)
    assert sum(group.chosen_bytes for group in groups) <= most
    for group in groups:
        assert bool(group.chosen) is (group.reason is None)
        assert {m.path for m in group.chosen} <= {m.path for m in group.manifests}
        assert {(m.spec_id, m.content) for m in group.manifests} == {(group.spec_id, group.content)}


@settings(deadline=None)
@given(manifests_of_a_table(), st.sampled_from(PartitionPriority))
def test_what_was_rewritten_as_planned_is_left_alone(manifests: list[Manifest], priority: PartitionPriority) -> None:
    """As Iceberg writes them: of the target size, in the order of their partitions, in one snapshot."""
    after: list[Manifest] = []
    for group in planned(manifests, HIGH, priority):
        after.extend(each for each in group.manifests if each not in group.chosen)
        more = {"spec_id": group.spec_id, "content": group.content}
        lengths = [group.chosen_bytes // group.expected] * group.expected if group.chosen else []
        after.extend(
            manifest(5000 + len(after) + number, length, number, rewritten_by=5000, **more)
            for number, length in enumerate(lengths)
        )
    assert [] == chosen(after, HIGH, priority)
