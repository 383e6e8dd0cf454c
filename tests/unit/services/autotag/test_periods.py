"""When periods roll over: by the wall clock of a zone, also where that is set back or forward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.autotag.periods import Period

UTC_ZONE, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
SATURDAY = datetime(2019, 9, 7, 15, 50, 30, tzinfo=UTC)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/Sao_Paulo", "Australia/Lord_Howe"])
PERIODS = st.sampled_from(["hourly", "daily", "weekly", "monthly", "yearly", "PT15M", "PT6H", "P1D"])


def digits(period: str, upto: datetime, zone: ZoneInfo = UTC_ZONE, *, count: int = 2) -> list[str]:
    return [each.digits for each in islice(Period.parse(period).roll_overs(upto, zone), count)]


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ("PT10M", ["2019_09_07_15_50", "2019_09_07_15_40"]),
        ("hourly", ["2019_09_07_15_00", "2019_09_07_14_00"]),
        ("PT6H", ["2019_09_07_12_00", "2019_09_07_06_00"]),
        ("daily", ["2019_09_07_00_00", "2019_09_06_00_00"]),
        ("weekly", ["2019_09_02_00_00", "2019_08_26_00_00"]),
        ("monthly", ["2019_09_01_00_00", "2019_08_01_00_00"]),
        ("YEARLY", ["2019_01_01_00_00", "2018_01_01_00_00"]),
    ],
)
def test_a_period_begins_where_the_calendar_says(period: str, expected: list[str]) -> None:
    assert expected == digits(period, SATURDAY)


def test_the_instant_of_a_roll_over_is_part_of_what_it_is_asked_up_to() -> None:
    (found,) = islice(Period.parse("daily").roll_overs(datetime(2026, 5, 1, tzinfo=UTC), UTC_ZONE), 1)
    assert (datetime(2026, 5, 1, tzinfo=UTC), "2026_05_01_00_00") == (found.instant, found.digits)


def test_days_begin_at_the_midnight_of_their_zone() -> None:
    (found,) = islice(Period.parse("daily").roll_overs(SATURDAY, BERLIN), 1)
    assert (datetime(2019, 9, 6, 22, tzinfo=UTC), "2019_09_07_00_00") == (found.instant, found.digits)


def test_an_hour_that_a_clock_shows_twice_counts_once() -> None:
    after = datetime(2026, 10, 25, 2, 30, tzinfo=UTC)
    assert ["2026_10_25_03_00", "2026_10_25_02_00", "2026_10_25_01_00"] == digits("hourly", after, BERLIN, count=3)
    instants = [each.instant.hour for each in islice(Period.parse("hourly").roll_overs(after, BERLIN), 3)]
    assert [2, 0, 23] == instants


def test_an_hour_that_a_clock_leaves_out_is_left_out() -> None:
    after = datetime(2026, 3, 29, 2, 30, tzinfo=UTC)
    assert ["2026_03_29_04_00", "2026_03_29_03_00", "2026_03_29_01_00"] == digits("hourly", after, BERLIN, count=3)


def test_a_day_whose_midnight_a_clock_leaves_out_begins_where_the_clock_goes_on() -> None:
    zone = ZoneInfo("America/Sao_Paulo")
    (found,) = islice(Period.parse("daily").roll_overs(datetime(2018, 11, 4, 12, tzinfo=UTC), zone), 1)
    assert (datetime(2018, 11, 4, 3, tzinfo=UTC), "2018_11_04_00_00") == (found.instant, found.digits)


def test_the_calendar_has_a_beginning() -> None:
    first = datetime(2, 1, 1, 1, tzinfo=UTC)
    assert ["0002_01_01_00_00", "0001_01_01_00_00"] == digits("yearly", first, count=5)


@given(period=PERIODS, zone=ZONES, minutes=st.integers(0, 60 * 24 * 365 * 40))
def test_roll_overs_go_back_in_time_and_no_two_share_a_name(period: str, zone: str, minutes: int) -> None:
    upto = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    found = list(islice(Period.parse(period).roll_overs(upto, ZoneInfo(zone)), 40))
    instants = [each.instant for each in found]
    assert sorted(set(instants), reverse=True) == instants
    assert instants[0] <= upto
    assert len({each.digits for each in found}) == len(found)


@given(period=PERIODS, zone=ZONES, minutes=st.integers(0, 60 * 24 * 365 * 40))
def test_whatever_the_time_the_same_roll_overs_are_seen(period: str, zone: str, minutes: int) -> None:
    """A run a little later sees what the earlier one saw, and perhaps one more."""
    upto = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    parsed, where = Period.parse(period), ZoneInfo(zone)
    before = list(islice(parsed.roll_overs(upto, where), 30))
    after = [each for each in islice(parsed.roll_overs(upto + timedelta(minutes=7), where), 40) if each.instant <= upto]
    assert before == after[:30]


@pytest.mark.parametrize("period", ["", "fortnightly", "7", "PT7H", "PT90S", "P2D", "PT0S", "-PT1H", "P1M"])
def test_what_is_no_period_is_refused_by_name(period: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Period.parse(period)
    assert repr(period) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("zone", "night"), [("Europe/Berlin", (2026, 10, 25)), ("Australia/Lord_Howe", (2026, 4, 4))])
def test_no_period_that_had_begun_is_taken_back_while_a_clock_shows_an_hour_again(
    zone: str, night: tuple[int, int, int]
) -> None:
    begin = datetime(*night, tzinfo=UTC) + timedelta(hours=-3 if zone == "Europe/Berlin" else 12)
    before: list[datetime] = []
    for minutes in range(0, 360, 5):
        upto = begin + timedelta(minutes=minutes)
        now = [each.instant for each in islice(Period.parse("PT15M").roll_overs(upto, ZoneInfo(zone)), 8)]
        assert sorted(now, reverse=True) == now
        assert all(instant in now for instant in before if instant > now[-1]), upto
        assert max(before, default=now[0]) <= now[0]
        before = now
