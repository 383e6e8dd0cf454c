"""Typed options of connectors, and the connector specification that is sent to executors."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import typing
from collections.abc import Callable, Mapping
from typing import Self, TypeVar, dataclass_transform

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.known_names import KnownNames
from nessie_gc_core.model.option_values import Bound, OptionType, OptionValue, option_type

__all__ = [
    "ConnectorOptions",
    "ConnectorSpec",
    "OptionValue",
    "option",
    "options",
    "secret",
    "secret_mapping",
]

_T = TypeVar("_T")


def option(
    default: _T,
    *,
    help: str,
    flag: str | None = None,
    metavar: str | None = None,
    section: str = "",
    minimum: Bound | None = None,
    maximum: Bound | None = None,
    key: str | None = None,
    whole: bool = False,
    shown: bool = True,
    positional: bool = False,
    also_argument: bool = False,
    per_machine: bool = False,
) -> _T:
    """Declares an option with its default and its help text.

    Args:
        default: its value where none is given.
        help: what it does, in one line.
        flag: its short form on a command line, such as ``-c``.
        metavar: what a command line's help calls its value, such as ``POLICY``.
        section: the heading under which a command line's help lists it.
        minimum: the lowest value; for a ``timedelta``, a number of seconds.
        maximum: the greatest value.
        key: what a key of pairs looks like, as a regular expression, where it is not a plain name.
        whole: whether a string is one item of a list, including its commas.
        shown: whether its value may be shown; set to false for secrets.
        positional: whether its values are arguments of the command; at least one is required.
        also_argument: whether the command takes its value without the name of the option, too; for ids.
        per_machine: whether schedulers on two machines may have different values of it, because it decides only where
            and how fast a run works, such as a path of that machine: it never decides what is deleted.
    """
    metadata = {"help": help, "secret": not shown, "flag": flag, "metavar": metavar, "section": section}
    more = {"minimum": minimum, "maximum": maximum, "key": key, "whole": whole, "positional": positional}
    told = {"per_machine": per_machine, "also_argument": also_argument}
    return typing.cast(_T, _field(default, {**metadata, **more, **told}))


def secret(
    default: str | None = None,
    *,
    help: str,
    flag: str | None = None,
    metavar: str | None = None,
    section: str = "",
    address: bool = False,
) -> str | None:
    """Declares an option that never appears in a repr, a report, a log line or a store.

    Args:
        default: its value where none is given.
        help: what it does, in one line.
        flag: its short form on a command line.
        metavar: what a command line's help calls its value, such as ``URL``.
        section: the heading under which a command line's help lists it.
        address: whether it is secret only because an address may have a password in it; schedulers on two machines must
            have the same address in it, apart from its user, password and unknown parameters.
    """
    metadata = {"help": help, "secret": True, "flag": flag, "metavar": metavar, "section": section}
    return typing.cast("str | None", _field(default, {**metadata, "address": address}))


def secret_mapping(
    *,
    help: str,
    flag: str | None = None,
    metavar: str | None = None,
    section: str = "",
    known: KnownNames | None = None,
) -> Mapping[str, str]:
    """Declares a ``k=v`` option, empty by default, whose values may hold credentials.

    Args:
        help: what it does, in one line.
        flag: its short form on a command line.
        metavar: what a command line's help calls its value.
        section: the heading under which a command line's help lists it.
        known: the names that the connector knows, so that a misspelt one is refused.
    """
    metadata = {"help": help, "secret": True, "flag": flag, "metavar": metavar, "section": section, "known": known}
    return typing.cast("Mapping[str, str]", _field({}, metadata))


def check_identity(name: str) -> None:
    """Rejects a configured repository name that is ambiguous or cannot be shown.

    Raises:
        ConfigurationError: it is empty, or has spaces at its ends or characters that cannot be shown.
    """
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigurationError(
            "option 'identity' must be a name of printable characters, without spaces at either end"
        )


def hyphened(name: str) -> str:
    """The name of an option as files and command lines have it: ``time_limit`` is ``time-limit``."""
    return name.replace("_", "-")


def _field(default: object, metadata: Mapping[str, object]) -> object:
    shown = not metadata["secret"]
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, repr=shown, metadata=metadata)
    return dataclasses.field(default=default, repr=shown, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True)  # every option has a default: none is a field specifier
def options(cls: type[_T]) -> type[_T]:
    """Makes a class the options of a connector: frozen, slotted, keyword-only."""
    return dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)


@options
class ConnectorOptions:
    """Base class of every connector's ``Options``; unknown keys are rejected.

    An option is a ``str``, ``bool``, ``int``, ``float``, ``timedelta`` (given in seconds or as an ISO duration),
    ``datetime`` (given as an ISO instant with an offset), an ``Enum`` (given by value), a ``Sequence[str]`` or a
    ``Mapping[str, str]``, or one of these ``| None``. Text that stands for such a value is read; anything else is
    refused.
    """

    @classmethod
    def from_mapping(cls, values: Mapping[str, OptionValue], *, spelled: Callable[[str], str] = str) -> Self:
        """Builds typed options from text or plain values.

        Args:
            values: by the names of the options.
            spelled: the name of an option as the user writes it, for messages.

        Raises:
            ConfigurationError: a key is unknown, or a value does not have the declared type.
        """
        return cls(**cls.typed(values, spelled=spelled))

    @classmethod
    def typed(cls, values: Mapping[str, OptionValue], *, spelled: Callable[[str], str] = str) -> dict[str, typing.Any]:
        """Some of the options by name, each converted to its type; combinations are not checked.

        Args:
            values: by the names of the options.
            spelled: the name of an option as the user writes it, for messages.

        Raises:
            ConfigurationError: a key is unknown, or a value does not have the declared type.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - set(fields))
        if unknown:
            known = ", ".join(map(spelled, sorted(fields))) or "none"
            near = difflib.get_close_matches(unknown[0], fields, n=1)
            hint = f"; did you mean {spelled(near[0])!r}?" if near else ""
            raise ConfigurationError(f"unknown option {spelled(unknown[0])!r}; known options are: {known}{hint}")
        secret_names = cls.secret_names()
        return {
            # mypy takes the hash of an instance for that of its class.
            name: _type_named(cls, name).convert(  # type: ignore[arg-type]
                spelled(name), value, shown=name not in secret_names
            )
            for name, value in values.items()
        }

    @classmethod
    def check_types(cls) -> None:
        """Rejects invalid declarations.

        Raises:
            ConfigurationError: an option has a type or bounds that options cannot have; the message names it.
        """
        try:
            hints = typing.get_type_hints(cls)
        except (NameError, TypeError) as error:
            raise ConfigurationError(f"a declared type cannot be found: {error}") from error
        for field in dataclasses.fields(cls):
            try:
                _type_of(field, hints[field.name])
            except ConfigurationError as error:
                raise ConfigurationError(f"option {field.name!r}: {error}") from None

    @classmethod
    def secret_names(cls) -> frozenset[str]:
        """Names of the options that may hold credentials."""
        return frozenset(f.name for f in dataclasses.fields(cls) if f.metadata.get("secret"))


@functools.lru_cache(4096)
def _type_named(cls: type[ConnectorOptions], name: str) -> OptionType:
    """The type of an option; found once, because a schedule may have thousands of jobs with the same options."""
    (field,) = (field for field in dataclasses.fields(cls) if field.name == name)
    return _type_of(field, typing.get_type_hints(cls)[name])


def _type_of(field: dataclasses.Field[typing.Any], hint: object) -> OptionType:
    said = {name: field.metadata[name] for name in ("minimum", "maximum", "key", "whole") if name in field.metadata}
    return option_type(hint, **said)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSpec:
    """A connector's name and options, without opening it; this is sent to executors."""

    kind: str
    """The contract: one of the kinds of :mod:`nessie_gc_core.hookspecs`."""
    name: str
    """The connector's ``name``, as its plugin registered it."""
    options: Mapping[str, OptionValue] = dataclasses.field(default_factory=dict, repr=False)
    """Plain option values; not in the repr, because some are secret."""
