"""Sizes, times and durations: one form each, for people and for JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.model.text import (
    duration_text,
    iso_duration,
    json_time,
    size_text,
    size_unit,
    time_text,
    times_in,
)

KIB, MIB, GIB = 1024, 1024**2, 1024**3
NOON = datetime(2026, 1, 31, 12, 5, 7, 250_000, UTC)
BERLIN = ZoneInfo("Europe/Berlin")


# ---- sizes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (1_572_864, "1.5 MiB"),
        (MIB - 1, "1.0 MiB"),
        (GIB - 1, "1.0 GiB"),
        (1000 * KIB, "1,000.0 KiB"),
        (-1536, "-1.5 KiB"),
        (2048 * 1024**6, "2,048.0 EiB"),
    ],
)
def test_sizes_have_binary_units(size: int, text: str) -> None:
    assert text == size_text(size)


@pytest.mark.parametrize("size", [5, 1024, 3 * MIB, 2 * GIB, 1024**4, 3 * 1024**5, 1024**6])
def test_a_size_that_is_shown_can_be_given_as_an_option(size: int) -> None:
    assert size == parse_size(size_text(size), "target")


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, (1, "B")), (1023, (1, "B")), (1024, (KIB, "KiB")), (5 * GIB, (GIB, "GiB"))],
)
def test_a_plot_has_the_unit_of_its_largest_size(most: int, expected: tuple[int, str]) -> None:
    assert expected == size_unit(most)


# ---- times --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (UTC, "2026-01-31 12:05:07+00:00"),
        (BERLIN, "2026-01-31 13:05:07+01:00"),
        (timezone(timedelta(hours=-3, minutes=-30)), "2026-01-31 08:35:07-03:30"),
    ],
)
def test_a_time_for_people_is_in_their_zone_with_its_offset(zone: timezone, text: str) -> None:
    assert text == time_text(NOON, zone)
    with times_in(zone):
        assert text == time_text(NOON)


def test_without_a_zone_a_time_is_in_that_of_the_machine() -> None:
    assert datetime.fromisoformat(time_text(NOON)).utcoffset() == NOON.astimezone().utcoffset()


def test_a_time_that_comes_twice_is_told_apart_by_its_offset() -> None:
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    texts = [time_text(before + timedelta(hours=hours), BERLIN) for hours in (0, 1)]
    assert ["2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+01:00"] == texts


def test_an_inner_zone_wins_and_none_changes_nothing() -> None:
    with times_in(BERLIN):
        with times_in(None):
            assert "13:05:07+01:00" in time_text(NOON)
        with times_in(UTC):
            assert "12:05:07+00:00" in time_text(NOON)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (NOON, "2026-01-31T12:05:07.250000Z"),
        (NOON.replace(microsecond=0), "2026-01-31T12:05:07Z"),
        (NOON.astimezone(BERLIN), "2026-01-31T12:05:07.250000Z"),
        (None, None),
    ],
)
def test_a_time_in_json_is_utc_with_z(time: datetime | None, text: str | None) -> None:
    assert text == json_time(time)


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar_have_a_text(year: int) -> None:
    time = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, 0 if year == 1 else 23, tzinfo=UTC)
    for hours in (-12, 12):
        assert f"{year:04}" in time_text(time, timezone(timedelta(hours=hours)))
    assert time == datetime.fromisoformat(str(json_time(time)))


# ---- durations ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.004, "0 s"),
        (0.05, "0.05 s"),
        (0.1, "0.1 s"),
        (20, "20 s"),
        (4.2, "4.2 s"),
        (30, "30 s"),
        (59.96, "1 min"),
        (200, "3 min 20 s"),
        (3599.6, "1 h"),
        (7500, "2 h 5 min"),
        (86_399.9, "1 d"),
        (7 * 86_400, "7 d"),
        (3 * 86_400 + 4 * 3600 + 59, "3 d 4 h"),
        (4000 * 86_400, "4,000 d"),
        (-90, "-1 min 30 s"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert text == duration_text(seconds)
    assert text == duration_text(timedelta(seconds=seconds))


def test_what_is_not_known_is_empty() -> None:
    assert ("", "") == (time_text(None), duration_text(None))


def test_a_duration_of_an_option_is_iso() -> None:
    assert "P7D" == iso_duration(timedelta(days=7))
