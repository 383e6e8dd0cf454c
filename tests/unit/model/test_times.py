"""Times as metadata has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.times import LATEST, from_millis, in_zone
from nessie_gc_core.services.autotag.states import states_in

NOW_MS = 1_795_833_721_519


def test_milliseconds_since_the_epoch_are_a_time() -> None:
    assert datetime(2026, 11, 28, 2, 42, 1, 519000, UTC) == from_millis(NOW_MS)
    assert datetime(1969, 12, 31, 23, 59, 59, 999000, UTC) == from_millis(-1)


@pytest.mark.parametrize("number", [NOW_MS * 1000, NOW_MS * 10**6, 10**30, -(10**18), 253402300799999])
def test_s33_what_no_calendar_has_is_as_late_as_can_be(number: int) -> None:
    assert LATEST == from_millis(number)


@pytest.mark.parametrize("has_log", [True, False])
def test_s33_states_of_a_table_that_counts_in_microseconds_are_never_past(has_log: bool) -> None:
    log = [{"timestamp-ms": NOW_MS * 1000, "snapshot-id": 1}]
    fields = {
        "location": "file:///t",
        "format-version": 2,
        "snapshots": log,
        "current-snapshot-id": 1,
        "snapshot-log": log if has_log else [],
    }
    table = TableMetadata.parse(
        fields, metadata_location="m", reference="db.t", commit_id="c", content_key="db.t", content_id="id"
    )
    assert [("1", LATEST)] == [(state.target, state.time) for state in states_in(table, "main")]


@pytest.mark.parametrize(("year", "hours"), [(1, 5), (9999, -5)])
def test_the_first_and_last_hours_of_the_calendar_are_in_every_zone(year: int, hours: int) -> None:
    first_or_last = datetime.min if year == 1 else datetime.max
    assert first_or_last.replace(tzinfo=UTC) == in_zone(first_or_last.replace(tzinfo=timezone(timedelta(hours=hours))))
    noon = datetime(2026, 11, 28, 12, tzinfo=timezone(timedelta(hours=hours)))
    assert (noon, timedelta(0)) == (in_zone(noon), in_zone(noon).utcoffset())
