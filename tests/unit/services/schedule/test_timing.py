"""When jobs are due, and when it is quiet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.schedule.quiet import QuietHours, quiet_until
from nessie_gc_core.services.schedule.timing import Cron, Interval, jittered

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "after", "due"),
    [
        ("30 2 * * *", "2026-03-02 00:00", "2026-03-02 01:30"),
        ("30 2 * * *", "2026-03-02 01:30", "2026-03-03 01:30"),
        ("30 2 * * *", "2026-03-02 01:29:59", "2026-03-02 01:30"),
        ("@daily", "2026-03-02 00:00", "2026-03-02 23:00"),
        ("0 0 * * 7", "2026-03-02 00:00", "2026-03-07 23:00"),
        ("0 0 * * SUN", "2026-03-02 00:00", "2026-03-07 23:00"),
        ("0 0 29 2 *", "2026-03-02 00:00", "2028-02-28 23:00"),
        ("0 12 L * *", "2026-03-02 00:00", "2026-03-31 10:00"),
    ],
)
def test_a_cron_expression_is_read_by_the_clock_of_its_zone(expression: str, after: str, due: str) -> None:
    assert utc(due) == Cron(expression, BERLIN).after(utc(after))


def test_a_time_that_does_not_exist_is_due_when_clocks_went_forward() -> None:
    timing = Cron("30 2 * * *", BERLIN)
    assert [utc("2026-03-29 01:00"), utc("2026-03-30 00:30")] == [
        timing.after(utc("2026-03-28 12:00")),
        timing.after(utc("2026-03-29 01:00")),
    ]


def test_a_time_that_comes_twice_is_due_once() -> None:
    timing = Cron("30 2 * * *", BERLIN)
    first = timing.after(utc("2026-10-24 12:00"))
    assert (utc("2026-10-25 00:30"), utc("2026-10-26 01:30")) == (first, timing.after(first))
    assert utc("2026-10-26 01:30") == timing.after(utc("2026-10-25 01:05"))  # before its time comes the second time


@pytest.mark.parametrize(("expression", "due"), [("*/30 2 * * *", "01:00"), ("15 * * * *", "00:15")])
def test_a_time_that_comes_twice_is_due_twice_if_its_hour_or_minute_is_a_wildcard(expression: str, due: str) -> None:
    timing = Cron(expression, BERLIN)
    assert utc(f"2026-10-25 {due}") == timing.after(utc(f"2026-10-25 {due}") - timedelta(minutes=30))
    assert utc("2026-10-25 01:30" if "/" in expression else "2026-10-25 01:15") == timing.after(utc("2026-10-25 01:05"))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 0 30 2 *", "bad day-of-month"),
        ("0 0 31 4,6 *", "bad day-of-month"),
        ("61 * * * *", "bad minute"),
        ("* * * *", "does not have five fields"),
        ("0 0 0 * * *", "does not have five fields"),
        ("@reboot", "none of @hourly, @daily"),
        ("", "does not have five fields"),
        ("soon and very soon now", "is not a cron expression"),
    ],
)
def test_an_expression_that_never_fires_is_refused_with_its_fault(expression: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Cron(expression, BERLIN)
    assert repr(expression) in str(caught.value)


def test_the_text_of_an_expression_tells_it_from_others_and_explains_it() -> None:
    assert "30 2 * * * (at 02:30 every day, Europe/Berlin)" == Cron("30 2 * * *", BERLIN).text
    assert "every PT1H30M" == Interval(timedelta(minutes=90)).text


def test_an_interval_is_the_same_for_all_schedulers() -> None:
    timing = Interval(timedelta(hours=6))
    assert utc("2026-03-02 06:00") == timing.after(utc("2026-03-02 00:00"))
    assert utc("2026-03-02 06:00") == timing.after(utc("2026-03-02 05:59:59"))


def test_an_interval_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be PT1S or longer"):
        Interval(timedelta(0))


def test_jitter_spreads_jobs_and_is_the_same_for_all_schedulers() -> None:
    due, most = utc("2026-03-02 00:00"), timedelta(hours=1)
    starts = {jittered(f"job {number}", due, most) for number in range(50)}
    assert 50 == len(starts)
    assert starts == {jittered(f"job {number}", due, most) for number in range(50)}
    assert due <= min(starts) < due + most / 4
    assert due + most * 3 / 4 < max(starts) < due + most
    assert due == jittered("job", due, timedelta(0))


# ---- quiet hours --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("window", "at", "ends"),
    [
        ("Mon-Fri 08:00-18:00", "2026-03-02 07:00", "2026-03-02 17:00"),
        ("Mon-Fri 08:00-18:00", "2026-03-02 06:59", None),
        ("Mon-Fri 08:00-18:00", "2026-03-02 17:00", None),
        ("Mon-Fri 08:00-18:00", "2026-03-07 12:00", None),
        ("22:00-06:00", "2026-03-02 23:00", "2026-03-03 05:00"),
        ("22:00-06:00", "2026-03-02 04:59", "2026-03-02 05:00"),
        ("sun 22:00-06:00", "2026-03-02 04:00", "2026-03-02 05:00"),
        ("Sat-Mon 00:00-00:00", "2026-03-02 22:59", "2026-03-02 23:00"),
    ],
)
def test_quiet_hours_end_by_the_clock_of_their_zone(window: str, at: str, ends: str | None) -> None:
    assert (None if ends is None else utc(ends)) == QuietHours.read(window, BERLIN).end_of(utc(at))


@pytest.mark.parametrize(
    ("window", "at", "ends"),
    [
        ("22:00-02:30", "2026-10-25 00:20", "2026-10-25 01:30"),
        ("22:00-02:30", "2026-10-25 00:40", "2026-10-25 01:30"),
        ("22:00-02:30", "2026-10-25 01:30", None),
        ("02:30-02:45", "2026-10-25 00:29", None),
        ("02:30-02:45", "2026-10-25 00:35", "2026-10-25 01:45"),
        ("02:30-02:45", "2026-10-25 01:35", "2026-10-25 01:45"),
        ("02:30-02:45", "2026-10-25 01:45", None),
    ],
)
def test_quiet_hours_with_a_time_that_comes_twice_end_at_the_second(window: str, at: str, ends: str | None) -> None:
    assert (None if ends is None else utc(ends)) == QuietHours.read(window, BERLIN).end_of(utc(at))


@pytest.mark.parametrize(
    ("window", "at", "ends"),
    [
        ("22:00-02:30", "2026-03-29 00:59", "2026-03-29 01:00"),
        ("22:00-02:30", "2026-03-29 01:00", None),
        ("02:30-04:00", "2026-03-29 00:59", None),
        ("02:30-04:00", "2026-03-29 01:00", "2026-03-29 02:00"),
        ("02:15-02:45", "2026-03-29 01:00", None),
    ],
)
def test_a_time_of_quiet_hours_that_does_not_exist_is_when_clocks_went_forward(
    window: str, at: str, ends: str | None
) -> None:
    assert (None if ends is None else utc(ends)) == QuietHours.read(window, BERLIN).end_of(utc(at))


def test_windows_that_follow_each_other_are_one() -> None:
    windows = [QuietHours.read(text, BERLIN) for text in ("08:00-12:00", "12:00-18:00")]
    assert utc("2026-03-02 17:00") == quiet_until(windows, utc("2026-03-02 08:00"))
    assert quiet_until(windows, utc("2026-03-02 20:00")) is None


@pytest.mark.parametrize("text", ["", "8-18", "Mon-Fri", "Mon-Foo 08:00-18:00", "08:00-24:00", "25:00-26:00"])
def test_a_window_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a time of the week"):
        QuietHours.read(text, BERLIN)


def test_a_week_without_a_free_time_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="covers the whole week"):
        quiet_until([QuietHours.read("00:00-00:00", BERLIN)], utc("2026-03-02 08:00"))


def test_a_free_time_that_does_not_exist_in_one_week_is_waited_for() -> None:
    texts = ("Mon-Sat 00:00-00:00", "Sun 00:00-02:00", "Sun 03:00-00:00")
    windows = [QuietHours.read(text, BERLIN) for text in texts]
    assert utc("2026-04-05 00:00") == quiet_until(windows, utc("2026-03-23 00:00"))
