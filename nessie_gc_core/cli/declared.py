"""Options of the command line, made from the declarations of settings and parameters."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import click

from nessie_gc_core.cli.arguments import GcArgument
from nessie_gc_core.cli.command import GcOption
from nessie_gc_core.cli.values import Duration, Instant, KeyValues, ParamType, Text, Texts
from nessie_gc_core.model.key_values import KEY
from nessie_gc_core.model.options import ConnectorOptions

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "defer_deletes": ("--defer-deletes/--no-defer-deletes",),
    "required_plugins": ("--required-plugins", "--require-plugin"),
    "prune_older_than": ("--older-than", "--prune-older-than"),
}
"""Options that the original, an earlier version or another command spells in another way as well."""


def options_of(group: type[ConnectorOptions]) -> list[GcOption]:
    """An option for each declared field, in their order."""
    hints = typing.get_type_hints(group)
    return [_option(field, hints[field.name]) for field in _in_order(group) if not field.metadata.get("positional")]


def arguments_of(group: type[ConnectorOptions]) -> list[GcArgument]:
    """An argument for each field that is positional."""
    fields = ((field, field.metadata) for field in dataclasses.fields(group) if field.metadata.get("positional"))
    return [
        GcArgument(field.name, type=Text(), metavar=shown["metavar"], help=shown["help"]) for field, shown in fields
    ]


def _in_order(group: type[ConnectorOptions]) -> Iterator[dataclasses.Field[Any]]:
    """Fields by section; those of a class stand before those of its bases."""
    own = {name: number for number, base in enumerate(group.__mro__) for name in vars(base).get("__annotations__", ())}
    yield from sorted(dataclasses.fields(group), key=lambda field: own.get(field.name, 0))


def _option(field: dataclasses.Field[Any], hint: object) -> GcOption:
    declared, default = _without_none(hint), _default(field)
    long = SPELLINGS.get(field.name, ("--" + field.name.replace("_", "-"),))
    flag = field.metadata.get("flag")
    names = [*long, *([flag] if flag else []), field.name]
    shown: dict[str, Any] = {"help": field.metadata["help"], "section": field.metadata.get("section", "")}
    shown["key"] = field.name.replace("_", "-")
    if field.metadata.get("metavar"):
        shown["metavar"] = field.metadata["metavar"]
    if field.metadata.get("also_argument"):
        shown["also_argument"] = True
    if declared is bool:
        return _switch(names, default, shown)
    if typing.get_origin(declared) in (Sequence, Mapping):
        type_ = _list_type(declared, field.metadata)
        return GcOption(*names, type=type_, multiple=True, **shown)
    return GcOption(*names, type=_type(declared, field.metadata), **shown, **_with_default(default))


def _switch(names: list[str], default: object, shown: Mapping[str, Any]) -> GcOption:
    if default is None:  # three answers: yes, no, and nobody said
        long = names[0]
        names = [f"{long}/--no-{long[2:]}", *names[1:]]
        return GcOption(*names, default=None, **shown)
    if default is True and "/" not in names[0]:
        names = [f"{names[0]}/--no-{names[0][2:]}", *names[1:]]
    if "/" in names[0]:
        return GcOption(*names, default=default, **shown)
    return GcOption(*names, is_flag=True, **shown)


def _list_type(declared: object, metadata: Mapping[str, Any]) -> ParamType:
    if typing.get_origin(declared) is Mapping:
        return KeyValues(metadata.get("key") or KEY)
    return Text() if metadata.get("whole") else Texts()


def _type(declared: object, metadata: Mapping[str, Any]) -> ParamType:
    least, most = metadata.get("minimum"), metadata.get("maximum")
    if declared is int:
        return click.INT if least is most is None else click.IntRange(min=least, max=most)
    if declared is float:
        return click.FLOAT if least is most is None else click.FloatRange(min=least, max=most)
    if isinstance(declared, type) and issubclass(declared, Enum):
        return click.Choice([str(member.value) for member in declared], case_sensitive=False)
    return _PLAIN.get(declared, Text)()


_PLAIN: Mapping[object, Callable[[], ParamType]] = {timedelta: Duration, datetime: Instant}


def _with_default(default: object) -> dict[str, Any]:
    if default is None:
        return {}
    return {"default": default.value if isinstance(default, Enum) else default, "show_default": True}


def _default(field: dataclasses.Field[Any]) -> object:
    return None if field.default is dataclasses.MISSING else field.default


def _without_none(hint: object) -> object:
    if typing.get_origin(hint) not in (types.UnionType, typing.Union):
        return hint
    return next(arm for arm in typing.get_args(hint) if arm is not type(None))
