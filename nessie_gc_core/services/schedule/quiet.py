"""Quiet hours: times of the week in which no run starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from nessie_gc_core.errors import ConfigurationError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(r"(?:(?P<first>[A-Za-z]{3})(?:-(?P<last>[A-Za-z]{3}))? )?(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)")
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_ALWAYS = timedelta(days=22)
"""If it is quiet for so long, it always is: in a week in which clocks change, a free time may not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """One window, by the clock of a time zone; it ends on the next day if its end is not later than its begin."""

    text: str
    """As it was written."""
    days: frozenset[int]
    """The days on which it begins; Monday is 0."""
    begin: time
    end: time
    zone: tzinfo

    @classmethod
    def read(cls, text: str, zone: tzinfo) -> QuietHours:
        """Reads ``Mon-Fri 08:00-18:00``, ``Sun 22:00-06:00`` or, for every day, ``08:00-18:00``.

        Raises:
            ConfigurationError: it is none of these.
        """
        found = _WINDOW.fullmatch(text.strip())
        try:
            if found is None:
                raise ValueError(text)
            begin, end = (time.fromisoformat(found[name]) for name in ("begin", "end"))
            days = _days(found["first"], found["last"])
        except ValueError as error:
            raise ConfigurationError(
                f"`quiet` {text!r} is not a time of the week, such as 'Mon-Fri 08:00-18:00' or '22:00-06:00'"
            ) from error
        return cls(text=text.strip(), days=days, begin=begin, end=end, zone=zone)

    def end_of(self, instant: datetime) -> datetime | None:
        """When the window ends in which an instant lies, in UTC; ``None``: in none."""
        local = instant.astimezone(self.zone)
        for day in (local.date() - _DAY, local.date()):
            if day.weekday() not in self.days:
                continue
            last_day = day if self.end > self.begin else day + _DAY
            ends = self._instant(last_day, self.end, fold=1)
            if self._instant(day, self.begin, fold=0) <= instant < ends:
                return ends
        return None

    def _instant(self, day: date, time: time, *, fold: int) -> datetime:
        """When the clock shows a time; if it never does, because clocks go forward, when they have.

        Of a time that comes twice, a window begins at the first and ends at the second, so that it is quiet for longer.
        """
        local = datetime.combine(day, time.replace(fold=fold), self.zone)
        while local != local.astimezone(UTC).astimezone(self.zone):
            local += _MINUTE
        return local.astimezone(UTC)


def quiet_until(windows: Sequence[QuietHours], instant: datetime) -> datetime | None:
    """When it is no longer quiet; ``None``: it is not.

    Raises:
        ConfigurationError: it is quiet forever.
    """
    until, ends = instant, [instant]
    while ends:
        until = max(ends)
        if until - instant > _ALWAYS:
            raise ConfigurationError("`quiet` covers the whole week, so no run ever starts; leave a time free")
        ends = [end for window in windows if (end := window.end_of(until)) is not None]
    return until if until > instant else None


def _days(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(len(_DAYS)))
    begin = _DAYS.index(first.lower())
    count = (_DAYS.index((last or first).lower()) - begin) % len(_DAYS) + 1
    return frozenset((begin + number) % len(_DAYS) for number in range(count))
