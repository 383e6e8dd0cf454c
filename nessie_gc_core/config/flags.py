"""Messages of the core in the words of the command line, which are those of a configuration file as well."""

from __future__ import annotations

import dataclasses
import functools
import re
import shlex
from collections.abc import Iterator
from typing import Any

from nessie_gc_core.config.settings import COMMAND_LINE_ONLY, SETTINGS
from nessie_gc_core.plugins import installed

_SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")
_ARGUMENT = r"([a-z_]+)=('[^'`]*'|[A-Za-z0-9-]+)"
_CALL = re.compile(rf"`([a-z][a-z_]*)\(((?:{_ARGUMENT}(?:, )?)*)\)`")
_OTHERWISE = {"source": "from", "target": "to"}
"""Arguments that the command line calls otherwise."""


def with_flags(text: str) -> str:
    """The text in the words of the command line.

    The core writes a setting as `` `min_age` ``, and what to do next as `` `sweep(resume=True, live_set_id=...)` ``:
    here these are ``--min-age`` and ``'nessie-gc sweep --resume ...'``, an id without the name of its option.
    """
    return _CALL.sub(_command, _SETTING.sub(_flag, text)) if "`" in text else text


def _command(found: re.Match[str]) -> str:
    words = ["nessie-gc", found[1].replace("_", "-")]
    for name, value in re.findall(_ARGUMENT, found[2]):
        if name not in _settings() and name not in _OTHERWISE:
            return found[0]
        words += [value.strip("'")] if name in _ids() else _words(_long(_OTHERWISE.get(name, name)), value)
    return f"'{' '.join(words)}'"


def _words(flag: str, value: str) -> list[str]:
    """An argument as a command has it; what is not so is left out."""
    if value in ("True", "False"):
        return [flag] if value == "True" else []
    return [flag, shlex.quote(value.strip("'"))]


def _long(name: str) -> str:
    return "--" + name.replace("_", "-")


def _flag(found: re.Match[str]) -> str:
    return _long(found[1]) if found[1] in _settings() else found[0]


@functools.cache
def _settings() -> frozenset[str]:
    """The names of all settings and parameters; whatever else stands between such marks came from data."""
    return frozenset(field.name for field in _fields()) | COMMAND_LINE_ONLY


@functools.cache
def _ids() -> frozenset[str]:
    """The names of those that commands take without the name of the option, too."""
    return frozenset(field.name for field in _fields() if field.metadata.get("also_argument"))


def _fields() -> Iterator[dataclasses.Field[Any]]:
    groups = (*SETTINGS, *(service.Parameters for service in installed().services.by_name().values()))
    yield from (field for group in groups for field in dataclasses.fields(group))
