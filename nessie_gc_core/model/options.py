"""Typed options of connectors, and the specification of a connector that can travel to executors."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Self, TypeVar, dataclass_transform

from nessie_gc_core.errors import ConfigurationError

OptionValue = str | int | float | bool | None | Sequence[str] | Mapping[str, str]
"""What an option may hold in a :class:`ConnectorSpec`: plain values that survive JSON and pickling."""

_T = TypeVar("_T")


def option(default: _T, *, help: str) -> _T:
    """Declares an option with its default and the line that the reference shows for it."""
    return typing.cast(_T, _field(default, help=help, secret=False))


def secret(default: str | None = None, *, help: str) -> str | None:
    """Declares an option that never appears in a repr, a report, a log line or a store."""
    return typing.cast("str | None", _field(default, help=help, secret=True))


def secret_mapping(*, help: str) -> Mapping[str, str]:
    """Declares a ``k=v`` option, empty by default, whose values may hold credentials."""
    return typing.cast("Mapping[str, str]", _field({}, help=help, secret=True))


def check_identity(name: str) -> None:
    """Refuses a configured name of a repository that would not be told apart, or not be shown as it is.

    Raises:
        ConfigurationError: it is empty, or has spaces at its ends or characters that cannot be shown.
    """
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigurationError("option 'identity' must be a name of printable characters without spaces around it")


def _field(default: object, *, help: str, secret: bool) -> object:
    metadata = {"help": help, "secret": secret}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, repr=not secret, metadata=metadata)
    return dataclasses.field(default=default, repr=not secret, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, secret, secret_mapping))
def options(cls: type[_T]) -> type[_T]:
    """Makes a class the options of a connector: frozen, slotted, keyword-only."""
    return dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)


@options
class ConnectorOptions:
    """Base of every connector's ``Options``; unknown keys are refused."""

    @classmethod
    def from_mapping(cls, values: Mapping[str, OptionValue]) -> Self:
        """Builds typed options from text or plain values.

        Raises:
            ConfigurationError: a key is unknown, or a value does not fit its type.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - set(fields))
        if unknown:
            known = ", ".join(sorted(fields)) or "none"
            raise ConfigurationError(f"unknown option {unknown[0]!r}; known options are: {known}")
        hints = typing.get_type_hints(cls)
        secret_names = cls.secret_names()
        return cls(
            **{
                name: _convert(name, hints[name], value, shown=name not in secret_names)
                for name, value in values.items()
            }
        )

    @classmethod
    def secret_names(cls) -> frozenset[str]:
        """Names of the options that may hold credentials."""
        return frozenset(f.name for f in dataclasses.fields(cls) if f.metadata.get("secret"))


def _convert(name: str, hint: object, value: OptionValue, *, shown: bool) -> object:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if value is None:
            return None
        hint = next(arg for arg in typing.get_args(hint) if arg is not type(None))
    if not isinstance(value, str) or hint is str:
        return value
    try:
        return _from_text(hint, value)
    except ValueError as error:
        found = repr(value) if shown else "what was given"
        raise ConfigurationError(f"option {name!r} cannot be {found}: {error}") from None


def _from_text(hint: object, text: str) -> object:
    if hint is bool:
        lowered = text.strip().lower()
        if lowered not in {"true", "false", "yes", "no", "1", "0"}:
            raise ValueError("expected true or false")
        return lowered in {"true", "yes", "1"}
    if hint is int or hint is float:
        return typing.cast(type[Any], hint)(text)
    if hint is timedelta:
        return timedelta(seconds=float(text))
    if typing.get_origin(hint) is Mapping:
        return _pairs(text)
    return text


def _pairs(text: str) -> dict[str, str]:
    """``k=v`` pairs with commas between; a comma that no ``k=`` follows belongs to the value."""
    pairs: dict[str, str] = {}
    for part in re.split(r",(?=[^,=]+=)", text) if text.strip() else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError("expected pairs of the form KEY=VALUE")
        pairs[key.strip()] = value
    return pairs


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSpec:
    """Names a connector and its options without opening it; this is what travels to executors."""

    kind: str
    """Which contract: one of the kinds of :mod:`nessie_gc_core.hookspecs`."""
    name: str
    """The connector's ``name``, as its plugin registered it."""
    options: Mapping[str, OptionValue] = dataclasses.field(default_factory=dict, repr=False)
    """Plain option values; kept out of the repr because some are secret."""
