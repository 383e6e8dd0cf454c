"""Types of option values: text from outside becomes typed values, or a one-line error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.key_values import KEY, parse_key_values
from nessie_gc_core.model.option_values import option_type
from nessie_gc_core.model.policies import parse_instant

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType


class _Whole(ParamType):
    """A type whose value in the environment is one text, even if it contains spaces."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """The whole text as the only value."""
        return [rv]


_DURATION = option_type(timedelta)


class Duration(_Whole):
    """An ISO duration, or a number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Reads it."""
        try:
            return cast(timedelta, _DURATION.read(value))
        except (ValueError, OverflowError):
            self.fail(f"{str(value)!r} is not a duration; give {_DURATION.words}", param, ctx)


class Instant(_Whole):
    """An ISO instant with an offset."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Reads it, as UTC."""
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC)
        try:
            return parse_instant(str(value))
        except ConfigurationError as error:
            self.fail(str(error), param, ctx)


class KeyValues(_Whole):
    """``k=v`` pairs separated by commas, or a table from the configuration file."""

    name = "key=value"

    def __init__(self, key: str = KEY) -> None:
        self._key = key

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Mapping[str, str]:
        """Reads the pairs."""
        if isinstance(value, Mapping):
            return {str(key): str(inner) for key, inner in value.items()}
        try:
            return parse_key_values(str(value), key=self._key)
        except ConfigurationError as error:
            self.fail(str(error), param, ctx)


class Text(_Whole):
    """Any text, such as cut-off policies."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)


class Texts(Text):
    """Texts, separated by commas in the environment."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """The parts."""
        return [part.strip() for part in rv.split(",") if part.strip()]


class TimeZone(_Whole):
    """A time zone by its name."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tzinfo:
        """Looks it up."""
        if isinstance(value, tzinfo):
            return value
        try:
            return ZoneInfo(str(value))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(f"{value!r} is not a time zone; give a name such as UTC or Europe/Berlin", param, ctx)
