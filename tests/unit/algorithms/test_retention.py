from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.retention import Retention, expired, kept_for_positions
from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model import RefType, Removal, Snapshot, SnapshotRef, TableMetadata

DAY = 24 * 60 * 60 * 1000
NOW = datetime(2026, 6, 1, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
ALL_OLD = Retention(older_than=NOW + timedelta(days=1))


def snapshot(id_: int, *, days: float, parent: int | None = None) -> Snapshot:
    """A snapshot of so many days ago."""
    return Snapshot(snapshot_id=id_, parent_id=parent, timestamp_ms=NOW_MS - int(days * DAY))


def line(count: int, *, first: int = 1, parent: int | None = None) -> list[Snapshot]:
    """Snapshots one after the other: the last was made a day ago, the one before it two days, and so on."""
    ids = range(first, first + count)
    return [snapshot(id_, days=first + count - id_, parent=id_ - 1 if id_ > first else parent) for id_ in ids]


def branch(snapshot_id: int, *, least: int | None = None, age: float | None = None) -> SnapshotRef:
    """A branch that keeps so many snapshots at least, and those of so many days."""
    age_ms = None if age is None else int(age * DAY)
    return SnapshotRef(
        snapshot_id=snapshot_id, type=RefType.BRANCH, min_snapshots_to_keep=least, max_snapshot_age_ms=age_ms
    )


def tag(snapshot_id: int, *, age: float | None = None) -> SnapshotRef:
    """A tag that becomes so many days old."""
    age_ms = None if age is None else int(age * DAY)
    return SnapshotRef(snapshot_id=snapshot_id, type=RefType.TAG, max_ref_age_ms=age_ms)


def table(
    snapshots: list[Snapshot], refs: Mapping[str, SnapshotRef] | None = None, /, **properties: str
) -> TableMetadata:
    """A table whose branch main has the last snapshot, unless the refs say otherwise."""
    main = {"main": branch(snapshots[-1].snapshot_id)} if snapshots else {}
    return TableMetadata(
        reference="db.t",
        commit_id="m#1",
        content_key="db.t",
        content_id="uuid",
        metadata_location="file:///lake/db/t/metadata/m.json",
        location="file:///lake/db/t",
        snapshots=tuple(snapshots),
        refs=main if refs is None else refs,
        properties={name.replace("_", "-").replace("--", "."): value for name, value in properties.items()},
    )


def gone(found: Removal) -> set[int]:
    return set(found.snapshot_ids)


# ---- what the table says ------------------------------------------------------------------------------
def test_by_default_snapshots_of_five_days_stay_and_at_least_one() -> None:
    assert {1, 2, 3} == gone(expired(table(line(8)), Retention(), NOW))
    assert {1} == gone(expired(table([snapshot(1, days=90), snapshot(2, days=80, parent=1)]), Retention(), NOW))


def test_an_age_that_is_just_reached_keeps_the_snapshot() -> None:
    snapshots = [snapshot(1, days=5), snapshot(2, days=1, parent=1)]
    assert set() == gone(expired(table(snapshots), Retention(), NOW))
    later = NOW + timedelta(milliseconds=1)
    assert {1} == gone(expired(table(snapshots), Retention(), later))


def test_properties_of_the_table_say_how_long_and_how_many() -> None:
    days = {"history--expire--max-snapshot-age-ms": str(2 * DAY)}
    least = {"history--expire--min-snapshots-to-keep": "4"}
    assert {1, 2, 3, 4} == gone(expired(table(line(6), **days), Retention(), NOW))
    assert {1, 2} == gone(expired(table(line(6), **days, **least), Retention(), NOW))


def test_what_a_caller_says_wins_over_the_properties() -> None:
    properties = {"history--expire--max-snapshot-age-ms": str(100 * DAY), "history--expire--min-snapshots-to-keep": "9"}
    said = Retention(older_than=NOW - timedelta(days=2, hours=1), retain_last=3)
    assert {1, 2} == gone(expired(table(line(5), **properties), said, NOW))
    assert {1, 2, 3} == gone(expired(table(line(5), **properties), replace(said, retain_last=1), NOW))


def test_what_a_branch_says_of_itself_wins_over_everything() -> None:
    refs = {"main": branch(5, least=4, age=0.5)}
    assert {1} == gone(expired(table(line(5), refs), replace(ALL_OLD, retain_last=1), NOW))
    refs = {"main": branch(5, age=3.5)}
    assert {1, 2} == gone(expired(table(line(5), refs), ALL_OLD, NOW))


@pytest.mark.parametrize("text", ["", "-1", "5 days", "1e3"])
def test_a_property_that_is_no_number_is_named(text: str) -> None:
    odd = table(line(3), **{"history--expire--max-snapshot-age-ms": text})
    with pytest.raises(ConfigurationError, match=r"history\.expire\.max-snapshot-age-ms of db\.t"):
        expired(odd, Retention(), NOW)


# ---- branches and tags --------------------------------------------------------------------------------
def test_main_never_expires() -> None:
    old = table([snapshot(1, days=900)], {"main": branch(1)})
    assert not expired(old, replace(ALL_OLD, max_ref_age=timedelta(0)), NOW)


def test_the_snapshot_of_every_ref_stays() -> None:
    refs = {"main": branch(9), "release": tag(2), "dev": branch(4)}
    assert {1, 3, 5, 6, 7, 8} == gone(expired(table(line(9), refs), ALL_OLD, NOW))


def test_refs_go_by_their_own_age_or_that_of_the_table() -> None:
    refs = {"main": branch(9), "old": tag(2), "kept": tag(2, age=30), "young": tag(8), "brief": tag(8, age=1)}
    found = expired(table(line(9), refs, **{"history--expire--max-ref-age-ms": str(5 * DAY)}), Retention(), NOW)
    assert {"old", "brief"} == found.refs
    assert 2 not in found.snapshot_ids


def test_what_only_an_expired_branch_held_goes_by_the_rules_for_unreferenced_snapshots() -> None:
    beside = [snapshot(11, days=9, parent=1), snapshot(12, days=2, parent=11)]
    refs = {"main": branch(3), "dev": branch(12)}
    found = expired(table([*line(3), *beside], refs), Retention(max_ref_age=timedelta(days=1)), NOW)
    assert {"dev"} == found.refs
    assert {11} == gone(found)


def test_a_ref_without_its_snapshot_goes() -> None:
    found = expired(table(line(2), {"main": branch(2), "dangling": tag(99)}), Retention(), NOW)
    assert {"dangling"} == found.refs
    assert set() == gone(found)


def test_each_branch_keeps_by_its_own_rules() -> None:
    beside = line(4, first=11, parent=1)
    refs = {"main": branch(6, least=2), "dev": branch(14, least=3)}
    assert {1, 2, 3, 4, 11} == gone(expired(table([*line(6), *beside], refs), ALL_OLD, NOW))


def test_the_ancestors_of_a_tag_are_not_held_by_it() -> None:
    beside = [snapshot(11, days=50), snapshot(12, days=40, parent=11)]
    refs = {"main": branch(3), "release": tag(12)}
    assert {11} == gone(expired(table([*line(3), *beside], refs), Retention(), NOW))


def test_a_table_with_a_branch_and_no_main() -> None:
    assert {1, 2} == gone(expired(table(line(3), {"dev": branch(3)}), ALL_OLD, NOW))


def test_a_walk_ends_at_the_first_snapshot_that_is_too_old() -> None:
    """The clock of a writer went back: the snapshot before the old one is young, and goes all the same."""
    snapshots = [snapshot(1, days=1), snapshot(2, days=30, parent=1), snapshot(3, days=0.5, parent=2)]
    assert {1, 2} == gone(expired(table(snapshots), Retention(), NOW))


# ---- snapshots that no ref leads to -------------------------------------------------------------------
def test_staged_and_rolled_back_snapshots_go_when_they_are_old() -> None:
    beside = [snapshot(11, days=6, parent=1), snapshot(12, days=4, parent=1)]
    assert {11} == gone(expired(table([*beside, *line(3)]), Retention(), NOW))


def test_a_table_without_a_current_snapshot_keeps_what_is_young() -> None:
    assert {1} == gone(expired(table([snapshot(1, days=9), snapshot(2, days=1)], {}), Retention(), NOW))


def test_a_table_without_snapshots() -> None:
    assert not expired(table([]), ALL_OLD, NOW)


# ---- asked for by id ----------------------------------------------------------------------------------
def test_a_snapshot_that_is_asked_for_goes_whatever_its_age() -> None:
    young = table(line(4))
    assert {3} == gone(expired(young, Retention(snapshot_ids=frozenset({3, 77})), NOW))


def test_a_snapshot_that_a_ref_holds_cannot_be_asked_for() -> None:
    held = table(line(4), {"main": branch(4), "release": tag(2)})
    with pytest.raises(SafetyError, match=r"snapshot 2 of db\.t cannot expire: release still references it"):
        expired(held, Retention(snapshot_ids=frozenset({2})), NOW)


def test_a_snapshot_whose_tag_expires_can_be_asked_for() -> None:
    held = table(line(4), {"main": branch(4), "release": tag(2, age=1)})
    found = expired(held, Retention(snapshot_ids=frozenset({2})), NOW)
    assert {2} == gone(found)
    assert {"release"} == found.refs


# ---- metadata files -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("most", "falling_out"), [("100", 0), ("4", 1), ("2", 3), ("1", 4), ("0", 4)])
def test_the_oldest_files_fall_out_of_the_metadata_log(most: str, falling_out: int) -> None:
    log = ("m1", "m2", "m3", "m4")
    old = replace(table(line(9), **{"write--metadata--previous-versions-max": most}), metadata_log=log)
    assert log[:falling_out] == expired(old, Retention(), NOW).metadata_files


def test_nothing_falls_out_where_nothing_is_committed() -> None:
    quiet = table(line(2), **{"write--metadata--previous-versions-max": "1"})
    assert () == expired(replace(quiet, metadata_log=("m1", "m2")), Retention(), NOW).metadata_files


# ---- whatever the table -------------------------------------------------------------------------------
@st.composite
def tables(draw: st.DrawFn) -> TableMetadata:
    """Trees of snapshots, some parents of which are gone, with branches and tags anywhere."""
    count = draw(st.integers(1, 12))
    ids = range(1, count + 1)
    days = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    parents = [draw(st.none() | st.sampled_from(range(id_))) for id_ in ids]
    snapshots = [snapshot(i, days=d, parent=p) for i, d, p in zip(ids, days, parents, strict=True)]
    optional_days, positive = st.none() | st.integers(1, 12), st.none() | st.integers(1, 4)
    branches = st.builds(lambda i, n, d: branch(i, least=n, age=d), st.sampled_from(ids), positive, optional_days)
    tags = st.builds(lambda i, d: tag(i, age=d), st.sampled_from(ids), optional_days)
    refs = draw(st.dictionaries(st.sampled_from(["main", "a", "b", "c"]), branches | tags, max_size=4))
    if "main" in refs:
        refs["main"] = draw(branches)
    return table(snapshots, refs)


@given(tables(), st.integers(0, 12), st.none() | st.integers(1, 5))
def test_what_is_kept_is_what_the_rules_keep(found: TableMetadata, days: int, retain_last: int | None) -> None:
    said = Retention(older_than=NOW - timedelta(days=days), retain_last=retain_last)
    removal = expired(found, said, NOW)
    kept = {each.snapshot_id: each for each in found.snapshots if each.snapshot_id not in removal.snapshot_ids}
    refs = {name: ref for name, ref in found.refs.items() if name not in removal.refs}
    held = {ref.snapshot_id for ref in refs.values()}
    assert held <= set(kept)
    assert "main" not in removal.refs
    reached = held | {id_ for ref in refs.values() for id_ in ancestors(found, ref) if ref.type is RefType.BRANCH}
    for each in found.snapshots:
        young = each.timestamp_ms >= NOW_MS - days * DAY
        if each.snapshot_id not in reached:
            assert (each.snapshot_id in kept) == young
    for ref in refs.values():
        least = ref.min_snapshots_to_keep or retain_last or 1
        if ref.type is RefType.BRANCH:
            assert set(ancestors(found, ref)[:least]) <= set(kept)
    assert not expired(without(found, removal), said, NOW).refs


def ancestors(found: TableMetadata, ref: SnapshotRef) -> list[int]:
    by_id = {each.snapshot_id: each for each in found.snapshots}
    walked: list[int] = []
    at: int | None = ref.snapshot_id
    while at in by_id:
        walked.append(at)
        at = by_id[at].parent_id
    return walked


def without(found: TableMetadata, removal: Removal) -> TableMetadata:
    snapshots = tuple(each for each in found.snapshots if each.snapshot_id not in removal.snapshot_ids)
    return replace(found, snapshots=snapshots, refs={n: r for n, r in found.refs.items() if n not in removal.refs})


# ---- streaming writers --------------------------------------------------------------------------------
def with_positions(snapshots: list[Snapshot], **writers: int) -> list[Snapshot]:
    """The same, and each of the writers left its position in one of them, by its id."""
    found = {id_: frozenset(name for name, at in writers.items() if at == id_) for id_ in writers.values()}
    return [replace(each, positions=found.get(each.snapshot_id, frozenset())) for each in snapshots]


def test_the_newest_position_of_each_writer_stays_with_the_snapshots_through_which_it_is_found() -> None:
    snapshots = with_positions(line(6), flink=3, connect=5)
    assert {1, 2} == gone(expired(table(snapshots), ALL_OLD, NOW))


def test_an_older_position_of_the_same_writer_goes() -> None:
    snapshots = [replace(each, positions=frozenset({"flink"})) for each in line(4)]
    assert {1, 2, 3} == gone(expired(table(snapshots), ALL_OLD, NOW))


def test_a_position_is_looked_for_on_every_branch() -> None:
    snapshots = with_positions([*line(4), snapshot(5, days=3, parent=2)], spark=2)
    refs = {"main": branch(4), "audit": branch(5)}
    assert {1} == gone(expired(table(snapshots, refs), ALL_OLD, NOW))


def test_a_position_that_no_writer_finds_from_the_head_of_a_branch_goes() -> None:
    snapshots = with_positions([*line(2), snapshot(4, days=0.5, parent=3)], flink=1)
    assert {1, 2} == gone(expired(table(snapshots), ALL_OLD, NOW))


def test_positions_expire_by_their_age_where_that_is_asked_for() -> None:
    snapshots = with_positions(line(6), old=2, young=5)
    aged = replace(ALL_OLD, max_position_age=timedelta(days=3))
    assert {1, 2, 3, 4} == gone(expired(table(snapshots), aged, NOW))
    assert {1, 2, 3, 4, 5} == gone(expired(table(snapshots), replace(ALL_OLD, max_position_age=timedelta(0)), NOW))


def test_a_snapshot_that_is_asked_for_goes_whatever_position_it_has() -> None:
    snapshots = with_positions(line(3), flink=1)
    asked = replace(ALL_OLD, snapshot_ids=frozenset({1}))
    assert {1} == gone(expired(table(snapshots), asked, NOW))


def test_what_stays_only_for_positions_is_counted() -> None:
    streamed, plain = table(with_positions(line(6), flink=3)), table(line(6))
    assert 3 == kept_for_positions(streamed, ALL_OLD, expired(streamed, ALL_OLD, NOW), NOW)
    assert 0 == kept_for_positions(plain, ALL_OLD, expired(plain, ALL_OLD, NOW), NOW)
