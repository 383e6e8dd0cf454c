"""Converts the value of an option to its declared type, or raises an error that says what is expected.

pydantic reads: text in its mode for text, every other value in its strict mode, in which a bool is not a number. Ours
are the words of the errors, which never show a secret, and what pydantic reads in another way than a careful reader
would: a duration (it takes a month for 30 days) and an instant (it takes numbers, and times without an offset).
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

from pydantic import AwareDatetime, Field, FiniteFloat, TypeAdapter

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.key_values import KEY, parse_key_values
from nessie_gc_core.model.policies import parse_duration, parse_instant
from nessie_gc_core.model.text import iso_duration, json_time

OptionValue = str | int | float | bool | None | Sequence[str] | Mapping[str, str]
"""Values of options in a :class:`ConnectorSpec`: plain values that survive JSON and pickling."""

Bound = int | float | timedelta | datetime
"""The least or the greatest value of an option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionType:
    """A declared type with its bounds: what it takes, and how a value is read."""

    words: str
    """What it takes, for errors: "a whole number, at least 1"."""
    is_optional: bool
    read: Callable[[object], object]
    """Returns the typed value, or raises a ValueError or OverflowError."""

    def convert(self, name: str, value: object, *, shown: bool) -> object:
        """The value of the option ``name`` as the declared type has it.

        Raises:
            ConfigurationError: it is invalid; the message names the option, and shows the value only if
                ``shown``. It has neither cause nor context, which would hold the value.
        """
        if value is None and self.is_optional:
            return None
        try:
            return self.read(value)
        except ValueError:
            problem = f"expected {self.words}"
        except OverflowError:
            problem = "the number is too large"
        raise ConfigurationError(f"option {name!r} cannot be {_text_of(value, shown=shown)}: {problem}")


def option_type(
    hint: object,
    *,
    minimum: Bound | None = None,
    maximum: Bound | None = None,
    key: str | None = None,
    whole: bool = False,
) -> OptionType:
    """The type that a declaration asks for.

    Args:
        hint: the declared type.
        minimum: the least value.
        maximum: the greatest value.
        key: what a key of pairs looks like, as a regular expression.
        whole: whether a string is one item of a list, including its commas.

    Raises:
        ConfigurationError: no option can have this type, or these bounds.
    """
    declared, is_optional = _without_none(hint)
    form = _form(declared, key or KEY, whole=whole)
    if form is None:
        raise ConfigurationError(f"no option can have the type {hint!r}")
    words, read = form.words, _reader(form.type, form.prepare)
    if minimum is not None or maximum is not None:
        least, most = (_bound(declared, read, bound) for bound in (minimum, maximum))
        words += "" if least is None else f", at least {_shown(least)}"
        words += "" if most is None else f", at most {_shown(most)}"
        read = _reader(typing.Annotated[form.type, Field(ge=least, le=most)], form.prepare)
    return OptionType(words=words, is_optional=is_optional, read=read)


@dataclass(frozen=True, slots=True)
class _Form:
    words: str
    type: typing.Any
    """What pydantic reads."""
    prepare: Callable[[object], object] = lambda value: value
    """Brings what pydantic does not know into a form that it does."""


def _form(declared: object, key: str, *, whole: bool) -> _Form | None:
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin in (Mapping, dict) and arguments == (str, str):
        return _Form("pairs of the form KEY=VALUE", dict[str, str], functools.partial(_pairs, key))
    if origin in (Sequence, tuple, list) and arguments in ((str,), (str, ...)):
        return _Form("a list of strings", tuple[str, ...], functools.partial(_texts, whole=whole))
    if isinstance(declared, type) and issubclass(declared, Enum):
        words = ", ".join(str(member.value) for member in declared)
        members = {str(member.value).casefold(): member for member in declared}
        return _Form(f"one of {words}", declared, lambda value: _member(members, value))
    return _SCALARS.get(declared) if isinstance(declared, type) else None


def _reader(type_: typing.Any, prepare: Callable[[object], object]) -> Callable[[object], object]:
    @functools.cache
    def adapter() -> TypeAdapter[object]:
        return TypeAdapter(type_)  # hundreds of options are declared, of which a process reads a few

    def read(value: object) -> object:
        prepared = prepare(value)
        if isinstance(prepared, str):
            return adapter().validate_strings(prepared)
        return adapter().validate_python(prepared, strict=True)

    return read


def _bound(declared: object, read: Callable[[object], object], bound: Bound | None) -> typing.Any:
    if bound is None:
        return None
    try:
        if declared in (int, float, timedelta, datetime):
            return read(bound)
    except (ValueError, OverflowError):
        pass
    raise ConfigurationError(f"{bound!r} is not a bound for the type {declared!r}")


def _without_none(hint: object) -> tuple[object, bool]:
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint, False
    arms = [arm for arm in typing.get_args(hint) if arm is not type(None)]
    return (arms[0], True) if len(arms) == 1 else (hint, False)


# ---- what pydantic reads otherwise --------------------------------------------------------------------
def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _duration(value: object) -> object:
    if isinstance(value, str) and value.strip().lstrip("+-")[:1] in ("P", "p"):
        return parse_duration(value)
    return value if isinstance(value, timedelta) else timedelta(seconds=typing.cast(float, _seconds(value)))


def _instant(value: object) -> object:
    instant = parse_instant(value) if isinstance(value, str) else value
    is_aware = isinstance(instant, datetime) and instant.tzinfo is not None
    return typing.cast(datetime, instant).astimezone(UTC) if is_aware else instant


def _member(members: Mapping[str, Enum], value: object) -> object:
    return value if isinstance(value, bool) else members.get(str(value).casefold(), value)


def _texts(value: object, *, whole: bool) -> object:
    if isinstance(value, str):
        parts = [value] if whole else value.split(",")
        return tuple(part.strip() for part in parts if part.strip())
    return tuple(value) if isinstance(value, list) else value


def _pairs(key: str, value: object) -> object:
    if isinstance(value, str):
        return parse_key_values(value, key=key) if value.strip() else {}
    return dict(value) if isinstance(value, Mapping) else value


_seconds = _reader(FiniteFloat, _stripped)

_SCALARS: Mapping[type, _Form] = {
    str: _Form("a text", str),
    bool: _Form("true or false", bool, _stripped),
    int: _Form("a whole number", typing.Annotated[int, Field(ge=-(2**63), lt=2**63)]),
    float: _Form("a number", FiniteFloat),
    timedelta: _Form("a number of seconds, or an ISO duration such as P30D or PT36H", timedelta, _duration),
    datetime: _Form("an instant with an offset, such as 2026-01-31T00:00:00Z", AwareDatetime, _instant),
}


# ---- words --------------------------------------------------------------------------------------------
def _shown(bound: object) -> str:
    if isinstance(bound, timedelta):
        return iso_duration(bound)
    return json_time(bound) if isinstance(bound, datetime) else str(bound)


def _text_of(value: object, *, shown: bool) -> str:
    try:
        return repr(value) if shown else "the given value"
    except ValueError:  # a number of more digits than Python writes
        return "the given value"
