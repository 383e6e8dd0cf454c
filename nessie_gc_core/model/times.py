"""The clocks of this machine, passed in wherever time decides something."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

LATEST = datetime(9999, 1, 1, tzinfo=UTC)
"""Stands for a time that no calendar has: what it dates is younger than anything."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Clock = Callable[[], datetime]
"""Returns the time now, UTC."""
Elapsed = Callable[[], float]
"""Returns seconds since some moment in the past, by a monotonic clock."""


def utc_now() -> datetime:
    """The local clock, UTC."""
    return datetime.now(UTC)


def from_millis(milliseconds: int) -> datetime:
    """A time that metadata has in milliseconds since the epoch; :data:`LATEST` at most, and where no calendar has it.

    Some writers count in microseconds: their times are tens of thousands of years ahead, and what they date stays.
    """
    try:
        return min(_EPOCH + timedelta(milliseconds=milliseconds), LATEST)
    except OverflowError:
        return LATEST


def in_zone(time: datetime, zone: tzinfo | None = UTC) -> datetime:
    """The same instant in a time zone (``None``: the machine's); in the first and last hours of the calendar, nearly.

    Some writers give commits the first instant of the year 1, which is in no calendar of a zone to the west.
    """
    try:
        return time.astimezone(zone)
    except (OverflowError, ValueError):
        return time.replace(tzinfo=zone)


def never_ahead(clock: Clock) -> Clock:
    """A clock that says what another one says, unless that is ahead of this machine's.

    By a clock that is ahead, files look older than they are, and would be deleted too early (S8).
    """
    return lambda: min(clock(), utc_now())


def elapsed_seconds() -> float:
    """Seconds that passed, those in which the machine was suspended as well, where the system can tell."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)
