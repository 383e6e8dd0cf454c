from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.guard import BUCKETS, JudgeFiles, StoreAges, bucket_of
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import to_batches, to_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.limits import AgeLimit, DeletionCaps
from nessie_gc_core.model.relations import CANDIDATES, UNKNOWN_TIME, VERDICTS
from nessie_gc_core.plugins import PluginRegistry

NOW = datetime(2026, 3, 1, tzinfo=UTC)
US = timedelta(microseconds=1)
offsets = st.timedeltas(timedelta(days=-3), timedelta(days=3))


@given(st.timedeltas(timedelta(0), timedelta(days=60)), offsets)
def test_the_newest_deletable_time_is_the_least_age_before_the_listing_by_the_clock_that_shows_least(
    min_age: timedelta, offset: timedelta
) -> None:
    newest = AgeLimit(min_age=min_age).newest_deletable(NOW, NOW + offset, NOW)
    assert min(NOW, NOW + offset) - min_age == newest


@given(offsets, offsets, offsets)
def test_no_clock_makes_a_file_older(listed: timedelta, store: timedelta, ours: timedelta) -> None:
    """The references were listed at some time before now: every clock may be wrong but one."""
    newest = AgeLimit(min_age=timedelta(0)).newest_deletable(NOW + listed, NOW + store, NOW + ours)
    assert newest <= min(NOW + listed, NOW + store, NOW + listed + store - ours)


@given(offsets, offsets)
def test_a_newest_modification_only_moves_the_limit_back(latest: timedelta, offset: timedelta) -> None:
    limit = AgeLimit(max_file_modification=NOW + latest).newest_deletable(NOW, NOW + offset, NOW)
    assert min(NOW + latest, NOW - timedelta(days=1), NOW + offset - timedelta(days=1)) == limit


@pytest.mark.parametrize(
    ("min_age", "floor", "said"),
    [(timedelta(minutes=59), True, "`no_age_floor`"), (timedelta(seconds=-1), False, "must not be negative")],
)
def test_a_least_age_that_is_too_short_is_refused(min_age: timedelta, floor: bool, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        AgeLimit(min_age=min_age).check(floor=floor)


def test_with_a_least_age_from_before_the_calendar_nothing_is_old_enough() -> None:
    limit = AgeLimit(min_age=timedelta(days=999_999)).newest_deletable(NOW, NOW)
    assert datetime.min.replace(tzinfo=UTC) == limit


def test_a_least_age_of_an_hour_is_accepted_and_a_shorter_one_on_request() -> None:
    AgeLimit(min_age=timedelta(hours=1)).check(floor=True)
    AgeLimit(min_age=timedelta(0)).check(floor=False)


@pytest.mark.parametrize(
    ("modified", "verdict"),
    [
        (to_micros(NOW - timedelta(days=1)), "UNREFERENCED"),
        (to_micros(NOW - timedelta(days=1) + US), "TOO_YOUNG"),
        (to_micros(NOW), "TOO_YOUNG"),
        (to_micros(NOW + US), "TOO_YOUNG"),
        (UNKNOWN_TIME, "TOO_YOUNG"),
        (0, "UNREFERENCED"),
    ],
)
def test_age_decides_to_the_microsecond(modified: int, verdict: str) -> None:
    unit = "s3://b/db/t/"
    judge = JudgeFiles({"s3://b": StoreAges(newest_deletable=NOW - timedelta(days=1), now=NOW)}, ConnectorChoice())
    rows = [(unit, "x", unit, "x", 1, modified, None, 0)]
    (batch,) = judge(to_batches(rows, CANDIDATES))
    assert [verdict] == batch.column("verdict").to_pylist()


def test_each_store_of_a_unit_has_its_own_limit() -> None:
    """Accounts that may be the same are one unit; a file is as old as its own store says."""
    unit, day = "abfs://c/db/t/", timedelta(days=1)
    ages = {
        "abfs://c@one": StoreAges(newest_deletable=NOW - day, now=NOW),
        "abfs://c@two": StoreAges(newest_deletable=NOW - 3 * day, now=NOW - 2 * day),
    }
    rows = [(unit, "x", f"{store}/db/t/", "x", 1, to_micros(NOW - 2 * day), None, 0) for store in ages]
    (batch,) = JudgeFiles(ages, ConnectorChoice())(to_batches(rows, CANDIDATES))
    assert ["UNREFERENCED", "TOO_YOUNG"] == batch.column("verdict").to_pylist()


TIMES = [UNKNOWN_TIME, *(to_micros(NOW + timedelta(days=days)) for days in range(-5, 3))]
STORES = {
    "s3://one": StoreAges(newest_deletable=NOW - timedelta(days=1), now=NOW),
    "s3://two": StoreAges(newest_deletable=NOW - timedelta(days=3), now=NOW - timedelta(days=2)),
}


class Held:
    """A plugin that lets nothing go whose name begins with ``h``."""

    @hookimpl
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: f"held in {location}" for file in files if file.path.startswith("h")}


def said_of(store: str, name: str, modified: int, *, vetoes: bool, deferred: bool) -> tuple[str, str | None]:
    """What has to be said of a file, by the letter."""
    if modified == UNKNOWN_TIME:
        return "TOO_YOUNG", "its modification time is unknown"
    if not deferred and modified > to_micros(STORES[store].now):
        return "TOO_YOUNG", "its modification time is in the future"
    if not deferred and modified > to_micros(STORES[store].newest_deletable):
        return "TOO_YOUNG", None
    return ("SPARED", f"held in {store}/t/") if vetoes and name.startswith("h") else ("UNREFERENCED", None)


@given(
    st.lists(st.tuples(st.sampled_from(sorted(STORES)), st.sampled_from("abhxh"), st.sampled_from(TIMES))),
    st.booleans(),
    st.booleans(),
)
def test_a_batch_is_judged_file_by_file(files: list[tuple[str, str, int]], vetoes: bool, deferred: bool) -> None:
    registry = PluginRegistry()
    if vetoes:
        registry.register(Held(), name="hold")
    rows = [
        (f"{store}/t/", f"{name}{n}", f"{store}/t/", f"{name}{n}", 1, modified, None, 0)
        for n, (store, name, modified) in enumerate(files)
    ]
    judge = JudgeFiles(None if deferred else STORES, ConnectorChoice(plugins=registry))
    found = [row for batch in judge(to_batches(rows, CANDIDATES)) for row in batch.to_pylist()]
    expected = [said_of(*file, vetoes=vetoes, deferred=deferred) for file in files]
    assert expected == [(row["verdict"], row["reason"]) for row in found]
    assert [row[1] for row in rows] == [row["key"] for row in found]


@given(st.text(st.characters(codec="utf-8")))
def test_a_bucket_is_one_of_all_buckets(key: str) -> None:
    assert 0 <= bucket_of(key) < BUCKETS


def test_buckets_are_the_same_in_every_version() -> None:
    assert [194, 504] == [bucket_of(""), bucket_of("data/ü.parquet")]


doomed = st.dictionaries(st.sampled_from("abc"), st.integers(0, 50))


@given(doomed, st.integers(0, 120), st.integers(0, 60), st.floats(0, 100))
def test_what_is_left_after_the_caps_exceeds_none_of_them(
    doomed: dict[str, int], most: int, most_of_unit: int, percent: float
) -> None:
    stored = dict.fromkeys(doomed, 60)
    caps = DeletionCaps(max_files=most, max_files_per_unit=most_of_unit, max_percent_per_unit=percent)
    over = caps.exceeded(doomed, stored)
    left = {unit: files for unit, files in doomed.items() if unit not in over}
    assert sum(left.values()) <= most
    assert all(files <= most_of_unit and 100 * files / 60 <= percent for files in left.values())


@given(doomed)
def test_without_caps_nothing_is_exceeded(doomed: dict[str, int]) -> None:
    assert {} == DeletionCaps().exceeded(doomed, {})


def test_a_batch_in_which_nothing_is_left_is_judged_too() -> None:
    judge = JudgeFiles({"s3://b": StoreAges(newest_deletable=NOW, now=NOW)}, ConnectorChoice())
    (batch,) = judge(iter([pa.RecordBatch.from_pylist([], schema=CANDIDATES)]))
    assert (0, VERDICTS) == (batch.num_rows, batch.schema)
