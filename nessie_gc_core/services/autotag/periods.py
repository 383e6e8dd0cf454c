"""When periods roll over, by the wall clock of a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.policies import parse_duration

DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_CALENDAR = ("daily", "weekly", "monthly", "yearly")
_DIGITS = "%Y_%m_%d_%H_%M"


@dataclass(frozen=True, slots=True, kw_only=True)
class RollOver:
    """The beginning of a period."""

    instant: datetime
    """When it is, UTC."""
    digits: str
    """The wall clock's year, month, day, hour and minute, zero-padded and joined by underscores."""


def _latest_wall(now: datetime) -> datetime:
    """The latest time that a wall clock may have shown by now: it was set back while it shows times again."""
    wall = now.replace(tzinfo=None, fold=0)
    first, again = (now.replace(fold=fold).utcoffset() for fold in (0, 1))
    return wall if not now.fold or first is None or again is None else wall + (first - again)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """How often something rolls over: hourly, daily, weekly (Mondays), monthly, yearly, or a part of a day."""

    text: str
    """Its word, or an ISO duration in capitals."""
    step: timedelta | None
    """The length of a part of a day; ``None`` for periods of the calendar."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a word, or an ISO duration of whole minutes into which a day can be divided, such as ``PT15M``.

        Raises:
            ConfigurationError: it is neither.
        """
        word = text.strip().lower()
        if word in _CALENDAR:
            return cls(text=word, step=None)
        if word == "hourly":
            return cls(text=word, step=_HOUR)
        problem = (
            f"the period {text!r} is not valid; use hourly, {', '.join(_CALENDAR)}, or a part of a day such as PT15M"
        )
        if re.match("P", word, re.IGNORECASE) is None:
            raise ConfigurationError(problem)
        step = parse_duration(text)
        if step <= timedelta(0) or step > DAY or step % _MINUTE or DAY % step:
            raise ConfigurationError(problem)
        return cls(text=text.strip().upper(), step=step)

    def roll_overs(self, upto: datetime, zone: ZoneInfo) -> Iterator[RollOver]:
        """All roll-overs up to an instant, that one included, the latest first.

        A wall clock that is set back shows some times twice: of these, the first counts. One that is set forward
        leaves some out: parts of a day that begin there do not exist, and days begin where the clock goes on.
        """
        wall: datetime | None = self._floor(_latest_wall(upto.astimezone(zone)))
        while wall is not None:
            instant = wall.replace(tzinfo=zone).astimezone(UTC)
            is_there = self.step is None or instant.astimezone(zone).replace(tzinfo=None) == wall
            if is_there and instant <= upto:
                yield RollOver(instant=instant, digits=wall.strftime(_DIGITS).rjust(16, "0"))
            wall = self._before(wall)

    def _floor(self, wall: datetime) -> datetime:
        midnight = wall.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.step is not None:
            return midnight + (wall - midnight) // self.step * self.step
        if self.text == "weekly":
            return midnight - wall.weekday() * DAY
        if self.text == "monthly":
            return midnight.replace(day=1)
        return midnight.replace(month=1, day=1) if self.text == "yearly" else midnight

    def _before(self, wall: datetime) -> datetime | None:
        """The roll-over before; ``None`` if the calendar ends."""
        try:
            return self._floor(wall - timedelta(microseconds=1))
        except OverflowError:
            return None
