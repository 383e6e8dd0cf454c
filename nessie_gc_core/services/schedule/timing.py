"""When a job is due: by a cron expression, or at a fixed interval."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from cronsim import CronSim, CronSimError

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import iso_duration

SHORTEST = timedelta(seconds=1)
"""The shortest interval."""
WRONG_CLOCK = timedelta(days=1)
"""What happened so much later than now had its time from a clock that was wrong."""
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Those of cron."""
_FIELDS = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Timing(Protocol):
    """Says for which instants a job is due."""

    @property
    def key(self) -> str:
        """Tells it from other timings, in every release."""

    @property
    def text(self) -> str:
        """The same for people."""

    def after(self, instant: datetime) -> datetime:
        """The first instant later than this one, in UTC."""


class Cron:
    """A cron expression with five fields, or one of cron's nicknames, read as Debian's cron does.

    The clock is that of a time zone. A time that does not exist, because clocks go forward, is due when they have; one
    that comes twice is due once, unless its hour or minute is a wildcard.
    """

    def __init__(self, expression: str, zone: tzinfo) -> None:
        """Reads it.

        Raises:
            ConfigurationError: it is none, or names no date that ever comes.
        """
        self._expression = " ".join(_NICKNAMES.get(expression.strip().lower(), expression).split())
        self._zone = zone
        if len(self._expression.split()) != _FIELDS:
            known = ", ".join(_NICKNAMES)
            raise ConfigurationError(f"`cron` {expression!r} does not have five fields, and is none of {known}")
        try:
            self.after(_EPOCH)
            said = CronSim(self._expression, _EPOCH).explain()
        except CronSimError as error:
            raise ConfigurationError(f"`cron` {expression!r} is not a cron expression: {_reason(error)}") from error
        except StopIteration as error:
            raise ConfigurationError(f"`cron` {expression!r} never comes; correct its day or month") from error
        self.key = f"cron {self._expression} {zone}"
        self.text = f"{self._expression} ({said[0].lower()}{said[1:]}, {zone})"

    def after(self, instant: datetime) -> datetime:
        """The next one; a time that comes twice is due at the first, also when the second is about to come."""
        found = CronSim(self._expression, instant.astimezone(self._zone))
        return next(due for local in found if (due := local.astimezone(UTC)) > instant)


class Interval:
    """Every so often, counted from the beginning of 1970, UTC, so that it is the same for all schedulers."""

    def __init__(self, every: timedelta) -> None:
        """Takes the interval.

        Raises:
            ConfigurationError: it is too short.
        """
        if every < SHORTEST:
            raise ConfigurationError(f"`every` must be {iso_duration(SHORTEST)} or longer")
        self._every = every
        self.key = f"every {every.total_seconds()}"
        self.text = f"every {iso_duration(every)}"

    def after(self, instant: datetime) -> datetime:
        """The next one."""
        return _EPOCH + ((instant - _EPOCH) // self._every + 1) * self._every


def jittered(job: str, due: datetime, jitter: timedelta) -> datetime:
    """When a job starts that is due at an instant: up to ``jitter`` later.

    The delay is a hash of the job's name and the instant, so that all schedulers agree on it.
    """
    digest = hashlib.blake2b(f"{job}\n{due.timestamp()}".encode(), digest_size=8).digest()
    return due + jitter * (int.from_bytes(digest) / 2**64)


def _reason(error: Exception) -> str:
    said = str(error)
    return f"{said[:1].lower()}{said[1:]}"
