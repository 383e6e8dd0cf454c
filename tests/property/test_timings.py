"""Timings in the nights in which clocks change: none goes back, a night has one run, and it is quiet by the clock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from nessie_gc_core.services.schedule.quiet import QuietHours
from nessie_gc_core.services.schedule.timing import Cron

ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Havana",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/London",
    "UTC",
)
"""Clocks go back at midnight, before it and after it, by half an hour, an hour and two."""
HOUR = timedelta(hours=1)


@cache
def changes(zone: ZoneInfo) -> Sequence[datetime]:
    """The hours of a year after which clocks change, or its first one."""
    year = [datetime(2026, 1, 1, tzinfo=UTC) + number * HOUR for number in range(365 * 24)]
    offsets = [hour.astimezone(zone).utcoffset() for hour in year]
    return [hour for hour, one, next_ in zip(year, offsets, offsets[1:], strict=False) if one != next_] or year[:1]


@st.composite
def nights(draw: st.DrawFn) -> tuple[Cron, Cron, datetime]:
    """A daily timing at a time near the one at which clocks change, one that is due more often, and an instant."""
    zone = ZoneInfo(draw(st.sampled_from(ZONES)))
    change, near = draw(st.sampled_from(changes(zone))) + HOUR, st.timedeltas(-1.5 * HOUR, 1.5 * HOUR)
    time = (change + draw(near)).astimezone(zone)
    minute = draw(st.sampled_from([f"{time.minute}", "*", "*/15", "0,30", "10-20"]))
    hour = draw(st.sampled_from([f"{time.hour}", "*", "*/2", "1,2", "0-3"]))
    often = Cron(f"{minute} {hour} * * *", zone)
    return Cron(f"{time.minute} {time.hour} * * *", zone), often, change + draw(near)


@settings(max_examples=examples(200), deadline=None)
@given(nights())
def test_what_is_due_next_is_due_later(night: tuple[Cron, Cron, datetime]) -> None:
    daily, often, instant = night
    assert (True, True) == (daily.after(instant) > instant, often.after(instant) > instant)


@settings(max_examples=examples(200), deadline=None)
@given(nights())
def test_a_daily_job_is_due_once_in_a_night_whenever_it_is_asked(night: tuple[Cron, Cron, datetime]) -> None:
    timing, _, instant = night
    before = timing.after(instant - 30 * HOUR)
    while (due := timing.after(before)) <= instant:
        assert 22 * HOUR <= due - before <= 26 * HOUR
        before = due
    assert (due, True) == (timing.after(instant), 22 * HOUR <= due - before <= 26 * HOUR)


@st.composite
def windows(draw: st.DrawFn) -> tuple[QuietHours, datetime]:
    """Quiet hours whose ends are near the time at which clocks change, and an instant."""
    zone = ZoneInfo(draw(st.sampled_from(ZONES)))
    change, near = draw(st.sampled_from(changes(zone))) + HOUR, st.timedeltas(-1.5 * HOUR, 1.5 * HOUR)
    begin, end = ((change + draw(near)).astimezone(zone) for _ in range(2))
    return QuietHours.read(f"{begin:%H:%M}-{end:%H:%M}", zone), change + draw(near)


@settings(max_examples=examples(200), deadline=None)
@given(windows())
def test_it_is_quiet_whenever_the_clock_shows_a_time_of_quiet_hours(case: tuple[QuietHours, datetime]) -> None:
    window, instant = case
    shown, end = instant.astimezone(window.zone).time(), window.end_of(instant)
    goes_over_midnight = window.begin >= window.end
    after_begin, before_end = window.begin <= shown, shown < window.end
    if (after_begin or before_end) if goes_over_midnight else (after_begin and before_end):
        assert end is not None
    assert end is None or end > instant
