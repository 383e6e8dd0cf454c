"""Which partitions are due, by their files alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import FileEntry
from nessie_gc_core.model.table_metadata import PartitionField
from nessie_gc_core.services.compaction.estimating import (
    delete_files_due,
    least_small_files,
    nothing_due,
    small_files_due,
)
from nessie_gc_core.services.compaction.planning import (
    CompactionRules,
    PartitionPlan,
    within_budget,
)
from nessie_gc_core.services.compaction.separating import bundles, inseparable, name_of
from nessie_gc_core.services.compaction.tallies import Tally, tallied

MB = 1 << 20
SMALL, LARGE = 1 * MB, 200 * MB
RULES = CompactionRules(max_small_files=10.0, max_delete_files=10.0, small_bytes=100 * MB, target_bytes=256 * MB)
REGION = PartitionField(name="region", transform="identity", source_id=2)
BUCKET = PartitionField(name="id_bucket", transform="bucket[4]", source_id=1)
DAY = PartitionField(name="ts_day", transform="day", source_id=3)
SPECS: Mapping[int, Sequence[PartitionField]] = {0: (), 1: (REGION,), 2: (REGION, BUCKET), 3: (BUCKET,)}
DAY_1 = Partition(4, ("us", 1))
EU, US = Partition(1, ("eu",)), Partition(1, ("us",))


def file(size: int = SMALL, partition: Partition = EU, kind: FileKind = FileKind.DATA, **more: Any) -> FileEntry:
    return FileEntry(
        path="p",
        kind=kind,
        file_format="PARQUET",
        size=size,
        records=1,
        spec_id=partition.spec_id,
        partition=partition.values,
        **more,
    )


def deletes(number: int, partition: Partition = EU, kind: FileKind = FileKind.POSITION_DELETES) -> list[FileEntry]:
    return [file(partition=partition, kind=kind)] * number


def due(
    entries: Sequence[FileEntry], rules: CompactionRules = RULES, default_spec: int | None = None, **times: int
) -> list[PartitionPlan]:
    added = {int(name.removeprefix("s")): time for name, time in times.items()}
    return rules.due(tallied(entries, small_bytes=rules.small_bytes, added_ms=added), SPECS, default_spec=default_spec)


# ---- what is due --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("small", "large", "is_due"), [(10, 0, False), (11, 0, True), (20, 2, False), (21, 2, True)])
def test_small_files_are_counted_for_each_large_one_and_no_large_one_counts_as_one(
    small: int, large: int, is_due: bool
) -> None:
    assert is_due is bool(due([file()] * small + [file(LARGE)] * large))


def test_only_small_files_are_rewritten_where_deletes_are_not_due() -> None:
    (plan,) = due([file()] * 21 + [file(LARGE)] * 2 + deletes(3))
    assert (21, 21 * SMALL, 1, False) == (plan.input_files, plan.input_bytes, plan.output_files, plan.deletes_due)


@pytest.mark.parametrize(("number", "is_due"), [(20, False), (21, True)])
def test_delete_files_are_counted_for_each_data_file(number: int, is_due: bool) -> None:
    assert is_due is bool(due([file(LARGE)] * 2 + deletes(number)))


def test_all_data_files_may_be_rewritten_where_deletes_are_due() -> None:
    (plan,) = due([file(LARGE)] * 2 + [file()] + deletes(31))
    assert (3, 2 * LARGE + SMALL, 3, True) == (plan.input_files, plan.input_bytes, plan.output_files, plan.deletes_due)


def test_delete_files_without_any_data_file_are_due() -> None:
    (plan,) = due(deletes(11))
    assert (0, 0, True, 11) == (plan.input_files, plan.output_files, plan.deletes_due, plan.gain)


def test_files_that_would_not_become_fewer_are_not_due() -> None:
    rules = replace(RULES, max_small_files=0.0, target_bytes=100 * MB)
    assert [] == due([file(99 * MB)] * 2, rules)
    assert [] == due([file()], rules)


def test_each_partition_is_due_by_itself() -> None:
    plans = due([file()] * 11 + [file(partition=US)] * 10)
    assert [EU] == [plan.partition for plan in plans]


def test_equality_deletes_of_no_partition_count_in_all() -> None:
    everywhere = deletes(11, Partition(0), FileKind.EQUALITY_DELETES)
    plans = due([file(LARGE), *everywhere])
    assert {EU, Partition(0)} == {plan.partition for plan in plans}
    of_positions = deletes(11, Partition(0))
    assert {Partition(0)} == {plan.partition for plan in due([file(LARGE), *of_positions])}


def test_equality_deletes_of_a_spec_that_lost_its_fields_count_in_all_partitions() -> None:
    void = PartitionField(name="region", transform="void", source_id=2)
    lost = Partition(6, (None,))
    entries = [file(LARGE), *deletes(11, lost, FileKind.EQUALITY_DELETES)]
    found = RULES.due(tallied(entries, small_bytes=100 * MB, added_ms={}), {**SPECS, 6: (void,)})
    assert {EU, lost} == {plan.partition for plan in found}


def test_a_deletion_vector_has_the_size_that_its_entry_says() -> None:
    entry = file(5 * MB, kind=FileKind.DELETION_VECTOR, content_size=40)
    (tally,) = tallied([entry, entry], small_bytes=SMALL, added_ms={}).values()
    assert (2, 80, 0) == (tally.delete_files, tally.delete_bytes, tally.data_files)


@pytest.mark.parametrize(("added", "reason"), [(999, None), (1000, "it is being written to")])
def test_partitions_that_are_being_written_wait(added: int, reason: str | None) -> None:
    entries = [file(snapshot_id=1)] * 11 + [file(snapshot_id=2)]
    (plan,) = due(entries, replace(RULES, written_since_ms=1000), s1=5, s2=added)
    assert reason == (None if plan.reason is None else plan.reason.partition(":")[0])


def test_files_of_snapshots_that_expired_are_old() -> None:
    (plan,) = due([file(snapshot_id=7)] * 11, replace(RULES, written_since_ms=0))
    assert plan.reason is None


@pytest.mark.parametrize(
    ("data_files", "delete_files", "is_nothing"),
    [(1, 0, True), (10, 10, True), (11, 0, False), (2, 11, False), (None, 0, False), (1, None, False)],
)
def test_so_few_files_are_never_due(data_files: int | None, delete_files: int | None, is_nothing: bool) -> None:
    assert is_nothing is nothing_due(FileCounts(data_files=data_files, delete_files=delete_files), RULES)


_FILES = st.lists(
    st.builds(
        file,
        size=st.sampled_from([SMALL, LARGE]),
        partition=st.sampled_from([EU, US, Partition(0)]),
        kind=st.sampled_from([FileKind.DATA, FileKind.DATA, FileKind.POSITION_DELETES, FileKind.EQUALITY_DELETES]),
    ),
    max_size=30,
)
_RATIOS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 10.0])


@given(entries=_FILES, small=_RATIOS, delete=_RATIOS)
def test_what_a_summary_rules_out_is_never_due(entries: list[FileEntry], small: float, delete: float) -> None:
    rules = replace(RULES, max_small_files=small, max_delete_files=delete)
    data_files = sum(entry.kind is FileKind.DATA for entry in entries)
    counts = FileCounts(data_files=data_files, delete_files=len(entries) - data_files)
    plans = due(entries, rules)
    assert plans == [] or not nothing_due(counts, rules)
    assert all(plan.output_files <= plan.input_files <= plan.tally.data_files for plan in plans)
    assert all(plan.gain >= 0 for plan in plans)


@given(sizes=st.lists(st.integers(1, 3 * LARGE), max_size=40), ratio=_RATIOS, small=st.integers(1, 128))
def test_what_a_summary_says_of_small_files_holds_without_partitions(
    sizes: list[int], ratio: float, small: int
) -> None:
    rules = replace(RULES, max_small_files=ratio, small_bytes=small * MB)
    counts = FileCounts(data_files=len(sizes), delete_files=0, bytes=sum(sizes))
    assert (least_small_files(counts, rules) or 0) <= sum(size < small * MB for size in sizes)
    plans = due([file(size, Partition(0)) for size in sizes], rules)
    assert not small_files_due(counts, rules) or [True] == [plan.small_due for plan in plans]


@given(entries=_FILES, ratio=_RATIOS)
def test_what_a_summary_says_of_delete_files_holds_where_partitions_have_data(
    entries: list[FileEntry], ratio: float
) -> None:
    entries = [*entries, *(file(partition=each) for each in (EU, US))]
    entries = [each for each in entries if each.spec_id == EU.spec_id]
    deletes = sum(entry.kind is not FileKind.DATA for entry in entries)
    counts = FileCounts(data_files=len(entries) - deletes, delete_files=deletes)
    rules = replace(RULES, max_delete_files=ratio)
    assert not delete_files_due(counts, rules) or any(plan.deletes_due for plan in due(entries, rules))


# ---- the budget ---------------------------------------------------------------------------------------
def _plan(name: str, files: int, size: int) -> PartitionPlan:
    return PartitionPlan(
        partition=Partition(1, (name,)),
        tally=Tally(),
        deletes_due=False,
        small_due=True,
        input_files=files,
        input_bytes=size,
        output_files=1,
    )


def test_the_budget_goes_to_what_gains_most() -> None:
    plans = [_plan("a", 20, 50), _plan("b", 90, 60), _plan("c", 10, 40)]
    (found,) = within_budget([plans], 100)
    assert [("b",), ("c",)] == [plan.partition.values for plan in found if plan.reason is None]


def test_the_budget_is_one_for_all_tables() -> None:
    found = within_budget([[_plan("a", 20, 60)], [_plan("a", 90, 60)], []], 100)
    assert [[False], [True], []] == [[plan.reason is None for plan in plans] for plans in found]


def test_what_is_larger_than_the_budget_says_so() -> None:
    ((large, small),) = within_budget([[_plan("a", 90, 101), _plan("b", 20, 100)]], 100)
    assert ("raise `max_bytes`", None) == (str(large.reason)[-17:], small.reason)


def test_partitions_that_need_each_other_share_the_budget_or_leave_it_to_others() -> None:
    both = due([file()] * 11 + [file(partition=Partition(0))] * 11)
    assert {frozenset({EU, Partition(0)})} == {plan.bundle for plan in both}
    other = _plan("c", 2, 12 * SMALL)
    (dropped, kept) = within_budget([both, [other]], 21 * SMALL)
    assert [True, True, False] == [plan.reason is not None for plan in [*dropped, *kept]]
    (together, left) = within_budget([both, [other]], 22 * SMALL)
    assert [False, False, True] == [plan.reason is not None for plan in [*together, *left]]


def test_a_partition_whose_column_was_dropped_waits_alone() -> None:
    tallies = tallied([file()] * 11 + [file(partition=DAY_1)] * 11, small_bytes=100 * MB, added_ms={})
    specs = {1: (REGION,), 4: (REGION, DAY)}
    found = {plan.partition: plan.reason for plan in RULES.due(tallies, specs, columns={1, 2})}
    assert {EU: None, DAY_1: "Iceberg cannot select it: the column of its partition field ts_day was dropped"} == found
    assert {EU: None, DAY_1: None} == {plan.partition: plan.reason for plan in RULES.due(tallies, specs)}


def test_a_void_field_needs_no_column() -> None:
    void = PartitionField(name="region", transform="void", source_id=2)
    tallies = tallied([file()] * 11, small_bytes=100 * MB, added_ms={})
    assert [None] == [plan.reason for plan in RULES.due(tallies, {1: (void,)}, columns={1})]


@pytest.mark.parametrize(("default", "waits"), [(0, False), (1, False), (2, True), (3, True), (None, False)])
def test_small_files_of_an_old_spec_wait_where_they_could_become_more(default: int | None, waits: bool) -> None:
    tallies = tallied([file()] * 11, small_bytes=100 * MB, added_ms={})
    (plan,) = RULES.due(tallies, SPECS, default_spec=default)
    assert waits is (plan.reason is not None)


def test_files_of_an_old_spec_stay_whole_where_it_has_all_fields_of_the_current_one() -> None:
    tallies = tallied([file(partition=Partition(2, ("eu", 1)))] * 11, small_bytes=100 * MB, added_ms={})
    assert [None] == [plan.reason for plan in RULES.due(tallies, SPECS, default_spec=1)]


def test_deletes_of_an_old_spec_are_due_whatever_the_current_one_is() -> None:
    tallies = tallied([file(LARGE), *deletes(11)], small_bytes=100 * MB, added_ms={})
    assert [None] == [plan.reason for plan in RULES.due(tallies, SPECS, default_spec=3)]


def test_bundles_hold_what_a_filter_cannot_tell_apart_over_several_specs() -> None:
    evolved, more, apart = Partition(2, ("eu", 1)), Partition(2, ("eu", 2)), Partition(2, ("us", 1))
    found = bundles([EU, evolved, more, apart], SPECS)
    together = frozenset({EU, evolved, more})
    assert {EU: together, evolved: together, more: together, apart: frozenset({apart})} == found


@given(sizes=st.lists(st.integers(0, 50), max_size=12), budget=st.integers(0, 200))
def test_no_more_than_the_budget_is_rewritten_and_nothing_that_fits_waits(sizes: list[int], budget: int) -> None:
    (plans,) = within_budget([[_plan(str(n), n + 2, size) for n, size in enumerate(sizes)]], budget)
    used = sum(plan.input_bytes for plan in plans if plan.reason is None)
    assert used <= budget
    assert all(plan.input_bytes > budget - used for plan in plans if plan.reason is not None)


# ---- what Iceberg can tell apart ----------------------------------------------------------------------
def test_partitions_of_one_spec_are_told_apart() -> None:
    assert set() == inseparable({EU}, [EU, US], SPECS)


def test_a_filter_takes_in_what_it_matches_of_another_spec() -> None:
    evolved, other = Partition(2, ("eu", 1)), Partition(2, ("us", 1))
    assert {EU} == inseparable({EU}, [EU, evolved], SPECS)
    assert set() == inseparable({EU}, [EU, other], SPECS)
    assert set() == inseparable({EU, evolved}, [EU, evolved, other], SPECS)
    assert {evolved} == inseparable({evolved}, [evolved, Partition(3, (1,))], SPECS)
    assert set() == inseparable({evolved}, [evolved, Partition(3, (2,))], SPECS)


def test_a_filter_takes_in_all_of_a_spec_that_has_no_field_in_common() -> None:
    assert {EU} == inseparable({EU}, [EU, Partition(3, (1,))], SPECS)
    assert {EU} == inseparable({EU}, [EU, Partition(0)], SPECS)


def test_what_is_left_out_is_not_taken_in_by_others() -> None:
    evolved = Partition(2, ("eu", 1))
    assert {EU, evolved} == inseparable({EU, evolved}, [EU, evolved, Partition(3, (1,))], SPECS)


def test_partitions_that_cannot_be_told_apart_wait() -> None:
    (plan,) = due([file()] * 11 + [file(partition=Partition(0))])
    assert (EU, True) == (plan.partition, "would also rewrite files of another" in str(plan.reason))


# ---- earlier specs ------------------------------------------------------------------------------------
OLD = Partition(0)
NULL = Partition(1, (None,))
MOVED = replace(RULES, earlier_specs=True)


def reasons(plans: Sequence[PartitionPlan]) -> dict[Partition, bool]:
    """Partitions that are due, and whether each is rewritten."""
    return {plan.partition: plan.reason is None for plan in plans}


def test_small_files_of_an_earlier_spec_hold_others_back_until_they_are_asked_for() -> None:
    entries = [*[file()] * 11, *[file(partition=OLD)] * 12]
    assert {EU: False, OLD: False} == reasons(due(entries, default_spec=1))
    assert {EU: True, OLD: True} == reasons(due(entries, MOVED, default_spec=1))
    assert {EU: True, OLD: True} == reasons(due(entries, default_spec=0))


def test_a_few_small_files_of_an_earlier_spec_are_due_when_asked_for() -> None:
    entries = [*[file()] * 11, *[file(partition=OLD)] * 2]
    assert {EU: False} == reasons(due(entries, default_spec=1))
    assert {EU: True, OLD: True} == reasons(due(entries, MOVED, default_spec=1))


def test_one_small_file_of_an_earlier_spec_stays_and_holds_nothing_back() -> None:
    entries = [*[file()] * 11, file(partition=OLD)]
    for rules in (RULES, MOVED):
        assert {EU: True} == reasons(due(entries, rules, default_spec=1))
    assert {EU: False} == reasons(due(entries))  # nobody knows which spec is the current one


def test_one_small_file_of_an_earlier_spec_is_no_group_of_its_own_beside_a_partition_without_values() -> None:
    entries = [*[file(partition=NULL)] * 11, file(partition=OLD)]
    assert {NULL: False} == reasons(due(entries, default_spec=1))
    assert {NULL: True, OLD: True} == reasons(due(entries, MOVED, default_spec=1))


def test_large_files_with_deletes_beside_a_lone_small_file_make_a_group() -> None:
    beside = [file(LARGE, NULL), *deletes(11, NULL)]
    assert {NULL: False} == reasons(due([*beside, file(partition=OLD)], default_spec=1))
    earlier = [file(LARGE, EU), *deletes(11, EU)]
    assert {EU: False} == reasons(due([*earlier, file(partition=OLD)], default_spec=2))
    deleted = [*[file()] * 11, file(LARGE, OLD), file(partition=OLD), *deletes(1, OLD)]
    assert {EU: False} == reasons(due(deleted, default_spec=1))


def test_one_small_file_of_another_partition_holds_no_earlier_spec_back() -> None:
    entries = [*[file(partition=OLD)] * 20, file(partition=US), *[file()] * 20]
    assert {OLD: True, EU: True} == reasons(due(entries, MOVED, 1))


def test_partitions_that_are_taken_in_with_an_earlier_spec_go_with_it_unless_they_are_being_written() -> None:
    old, today = [file(partition=OLD, snapshot_id=1)] * 20, [file(partition=US, snapshot_id=2)] * 3
    assert {OLD: True, US: True} == reasons(due([*old, *today], MOVED, 1))
    assert {OLD: False, US: False} == reasons(
        due([*old, *today], replace(MOVED, written_since_ms=1000), 1, s1=5, s2=1000)
    )
    assert {OLD: 1, US: 1} == {plan.partition: plan.output_files for plan in due([*old, *today], MOVED, 1)}


def test_files_of_an_earlier_spec_are_taken_for_one_in_each_partition_of_the_current_one() -> None:
    partitions = [Partition(1, (f"r{number}",)) for number in range(7)]
    entries = [*[file(partition=OLD)] * 20, *(file(LARGE, each) for each in partitions)]
    (plan,) = due(entries, MOVED, 1)
    assert (OLD, 20, 7) == (plan.partition, plan.input_files, plan.output_files)


def test_files_that_are_a_group_only_together_share_one_budget() -> None:
    one, other = Partition(1, ("a",)), Partition(1, ("b",))
    plans = due([file(90 * MB, one), file(90 * MB, other)], MOVED, default_spec=2)
    assert {one: True, other: True} == reasons(plans)
    assert {frozenset({one, other})} == {plan.bundle for plan in plans}
    (none,), (both,) = within_budget([plans], 100 * MB), within_budget([plans], 200 * MB)
    assert [False, False] == [plan.reason is None for plan in none]
    assert [True, True] == [plan.reason is None for plan in both]


def test_a_file_that_would_be_a_group_of_one_is_never_due_again_and_again() -> None:
    named, dropped = Partition(1, ("a",)), Partition(3, (1,))
    entries = [file(partition=named), file(partition=dropped)]
    counted = tallied(entries, small_bytes=MOVED.small_bytes, added_ms={})
    plans = MOVED.due(counted, SPECS, columns={2}, default_spec=2)
    assert {named: False, dropped: False} == reasons(plans)
    assert {True} == {"Iceberg" in str(plan.reason) for plan in plans}


def test_what_is_being_written_of_an_earlier_spec_waits_and_holds_back() -> None:
    entries = [*[file(snapshot_id=1)] * 11, *[file(partition=OLD, snapshot_id=2)] * 2]
    plans = due(entries, replace(MOVED, written_since_ms=1000), 1, s1=5, s2=1000)
    assert {EU: False, OLD: False} == reasons(plans)


def test_large_files_of_another_spec_are_no_reason_to_wait() -> None:
    (plan,) = due([file()] * 11 + [file(LARGE, Partition(0))])
    assert (EU, None) == (plan.partition, plan.reason)


def test_large_files_with_deletes_of_another_spec_are_one_where_deletes_are_due() -> None:
    other = [file(LARGE, Partition(0)), *deletes(1, Partition(0))]
    assert [None] == [plan.reason for plan in due([file()] * 11 + other)]
    assert [True] == [plan.reason is not None for plan in due([file(LARGE), *deletes(11), *other])]


def test_small_files_go_with_deletes_that_are_due_where_they_cannot_be_told_apart() -> None:
    plans = due([file()] * 11 + [file(LARGE, Partition(0)), *deletes(11, Partition(0))])
    assert {(EU, True, 11, 11 * SMALL, None), (Partition(0), True, 1, LARGE, None)} == {
        (plan.partition, plan.deletes_due, plan.input_files, plan.input_bytes, plan.reason) for plan in plans
    }


def test_small_files_with_deletes_that_go_with_others_are_rewritten_with_all_files() -> None:
    eu = [file()] * 11 + [file(LARGE), *deletes(2)]
    plans = due([*eu, file(LARGE, Partition(0)), *deletes(11, Partition(0))])
    assert [(12, 11 * SMALL + LARGE, 2)] == [
        (plan.input_files, plan.input_bytes, plan.output_files) for plan in plans if plan.partition == EU
    ]


def test_small_files_do_not_wait_for_deletes_that_have_to_wait() -> None:
    waiting = [file(LARGE, Partition(0)), *deletes(11, Partition(0))]
    other = [file(LARGE, US), *deletes(1, US)]
    plans = {plan.partition: plan for plan in due([file()] * 11 + waiting + other)}
    assert (None, False) == (plans[EU].reason, plans[EU].deletes_due)
    assert plans[Partition(0)].reason is not None


@pytest.mark.parametrize("value", [None, "eu", math.nan])
def test_null_and_nan_are_values_like_others(value: Any) -> None:
    assert {Partition(1, (value,))} == inseparable({Partition(1, (value,))}, [Partition(2, (value, 1))], SPECS)
    assert set() == inseparable({Partition(1, (value,))}, [Partition(2, ("other", 1))], SPECS)


# ---- names --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("transform", "value", "shown"),
    [
        ("identity", "eu", "eu"),
        ("identity", None, "null"),
        ("identity", 5, "5"),
        ("identity", True, "True"),
        ("identity", b"\x01\xff", "01ff"),
        ("bucket[4]", 3, "3"),
        ("year", 56, "2026"),
        ("month", 56 * 12 + 1, "2026-02"),
        ("day", 20484, "2026-01-31"),
        ("hour", 24, "1970-01-02-00"),
        ("day", 10**9, "1000000000"),
    ],
)
def test_partitions_have_names_that_people_read(transform: str, value: Any, shown: str) -> None:
    field = PartitionField(name="f", transform=transform, source_id=1)
    assert f"f={shown}" == name_of(Partition(5, (value,)), {5: (field,)})


def test_fields_that_are_not_known_have_no_name() -> None:
    assert ("?=1", "") == (name_of(Partition(9, (1,)), {}), name_of(Partition(0), SPECS))
