"""How the value of an option becomes what its declared type says, or an error that says what is expected."""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum

from nessie_gc_core.errors import ConfigurationError

OptionValue = str | int | float | bool | None | Sequence[str] | Mapping[str, str]
"""What an option may hold in a :class:`ConnectorSpec`: plain values that survive JSON and pickling."""

_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})


def convert(name: str, hint: object, value: object, *, shown: bool) -> object:
    """The value as the declared type has it.

    Raises:
        ConfigurationError: it does not fit; the message names the option, and shows no secret.
    """
    try:
        return _read(hint, value)
    except (ValueError, OverflowError) as error:
        found = repr(value) if shown else "what was given"
        said = "the number is too large" if isinstance(error, OverflowError) else error
        raise ConfigurationError(f"option {name!r} cannot be {found}: {said}") from None


def expected(hint: object) -> str:
    """What a declared type takes, in words.

    Raises:
        ConfigurationError: no option can have this type.
    """
    arms = _arms(hint)
    if len(arms) > 1:
        return " or ".join(expected(arm) for arm in arms)
    return _reader(arms[0])[0]


def _read(hint: object, value: object) -> object:
    arms = _arms(hint)
    if value is None and type(None) in arms:
        return None
    # A text fits a text always, so the other types are tried before it.
    readers = [_reader(arm) for arm in sorted(arms, key=lambda arm: arm is str) if arm is not type(None)]
    for _said, read in readers:
        try:
            return read(value)
        except ValueError:
            if len(readers) == 1:
                raise
    raise ValueError(f"expected {' or '.join(said for said, _ in readers)}")


def _arms(hint: object) -> tuple[object, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _reader(hint: object) -> tuple[str, Callable[[object], object]]:
    """What a type takes, in words, and the function that reads it."""
    if hint in _PLAIN:
        said, read = _PLAIN[hint]
    elif isinstance(hint, type) and issubclass(hint, Enum):
        said, read = f"one of {', '.join(str(member.value) for member in hint)}", _enum_reader(hint)
    elif typing.get_origin(hint) in (Mapping, dict) and typing.get_args(hint) == (str, str):
        said, read = "pairs of the form KEY=VALUE", _pairs
    elif typing.get_origin(hint) in (Sequence, tuple, list) and typing.get_args(hint) in ((str,), (str, ...)):
        said, read = "a list of texts", _texts
    else:
        raise ConfigurationError(f"no option can have the type {hint!r}")

    def reading(value: object) -> object:
        try:
            return read(value)
        except ValueError:
            raise ValueError(f"expected {said}") from None

    return said, reading


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return str(value)


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = _text(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def _whole(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError
    return value if isinstance(value, int) else int(_text(value))


def _number(value: object) -> float:
    if isinstance(value, bool):
        raise ValueError
    number = float(value) if isinstance(value, (int, float)) else float(_text(value))
    if not math.isfinite(number):
        raise ValueError
    return number


def _duration(value: object) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(seconds=_number(value))


def _enum_reader(enum: type[Enum]) -> Callable[[object], Enum]:
    def read(value: object) -> Enum:
        if isinstance(value, enum):
            return value
        found = [member for member in enum if value in (member.value, str(member.value))]
        if not found or isinstance(value, bool):
            raise ValueError
        return found[0]

    return read


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, (list, tuple)):
        raise ValueError
    return tuple(_text(part) for part in value)


def _pairs(value: object) -> Mapping[str, str]:
    """``k=v`` pairs with commas between; a comma that no ``k=`` follows belongs to the value."""
    if isinstance(value, Mapping):
        return {_text(key): _text(inner) for key, inner in value.items()}
    text = _text(value)
    pairs: dict[str, str] = {}
    for part in re.split(r",(?=[^,=]+=)", text) if text.strip() else ():
        key, equals, inner = part.partition("=")
        if not equals or not key.strip():
            raise ValueError
        pairs[key.strip()] = inner
    return pairs


_PLAIN: Mapping[object, tuple[str, Callable[[object], object]]] = {
    str: ("a text", _text),
    bool: ("true or false", _switch),
    int: ("a whole number", _whole),
    float: ("a number", _number),
    timedelta: ("a number of seconds", _duration),
    type(None): ("nothing", _text),
}
