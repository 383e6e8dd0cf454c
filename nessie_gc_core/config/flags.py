"""Messages of the core in the words of the command line, which are those of a configuration file as well."""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nessie_gc_core.config.settings import COMMAND_LINE_ONLY, SETTINGS
from nessie_gc_core.model.next_steps import PROGRAM, command_line, quoted
from nessie_gc_core.plugins import installed

_SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")
_ARGUMENT = r"([a-z_]+)=('(?:[^'\\`]|\\[^`])*'|[A-Za-z0-9-]+)"
_CALL = re.compile(rf"`([a-z][a-z0-9_]*)\(((?:{_ARGUMENT}(?:, )?)*)\)`")
_COMMAND = re.compile(rf"`{PROGRAM} ([^`]+)`")
_OTHERWISE = {"source": "from", "target": "to"}
"""Arguments that the command line calls otherwise."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """What a command needs besides, to find what the run found that proposes it."""

    words: Sequence[str] = ()
    """More options."""
    variables: Sequence[str] = ()
    """The variables of the environment that take those that may be secret, and are not among them."""


Completing = Callable[[Sequence[str]], More]
"""Takes the words of a command, without the program."""
_completing: ContextVar[Completing | None] = ContextVar("completing", default=None)


@contextmanager
def completing(complete: Completing) -> Iterator[None]:
    """Lets :func:`with_flags` complete the commands in a text."""
    token = _completing.set(complete)
    try:
        yield
    finally:
        _completing.reset(token)


def is_complete() -> bool:
    """Whether commands are completed; else they need the options of the run that proposes them."""
    return _completing.get() is not None


def with_flags(text: str) -> str:
    """The text in the words of the command line.

    The core writes a setting as `` `min_age` ``, and what to do next as `` `sweep(resume=True, live_set_id=...)` ``:
    here these are ``--min-age`` and ``'nessie-gc sweep --resume ...'``, an id without the name of its option. A command
    with quotes in it stays between backticks. See :mod:`nessie_gc_core.model.next_steps`.
    """
    if "`" not in text:
        return text
    return _COMMAND.sub(_shown_command, _CALL.sub(_shown_call, _SETTING.sub(_flag, text)))


def as_command(proposed: str) -> str:
    """A call or command of :mod:`nessie_gc_core.model.next_steps` as the command line that a shell runs."""
    found = _CALL.fullmatch(proposed)
    return _completed(proposed[1:-1] if found is None else command_line(*_words_of_call(found)))[0]


def _shown_call(found: re.Match[str]) -> str:
    names = (name for name, _ in re.findall(_ARGUMENT, found[2]))
    if not all(name in _settings() or name in _OTHERWISE for name in names):
        return found[0]
    return _marked(command_line(*_words_of_call(found)))


def _shown_command(found: re.Match[str]) -> str:
    return _marked(found[0][1:-1])


def _marked(command: str) -> str:
    """A command, completed, between quotes that are not in it, and what to set before it is run."""
    command, variables = _completed(command)
    mark = "`" if "'" in command else "'"
    return f"{mark}{command}{mark}" + (f" (with {' and '.join(variables)} set)" if variables else "")


def _completed(command: str) -> tuple[str, Sequence[str]]:
    complete = _completing.get()
    try:
        more = More() if complete is None else complete(shlex.split(command)[1:])
    except ValueError:  # its quotes do not match, as in data that looks like a command
        more = More()
    return " ".join([command, *map(quoted, more.words)]), more.variables


def _words_of_call(found: re.Match[str]) -> list[str]:
    words = [found[1].replace("_", "-")]
    for name, value in re.findall(_ARGUMENT, found[2]):
        given = _words(_long(_OTHERWISE.get(name, name)), value)
        words += given[1:] if name in _ids() else given
    return words


def _words(flag: str, value: str) -> list[str]:
    """An argument as a command has it; what is not so is left out."""
    if value in ("True", "False"):
        return [flag] if value == "True" else []
    return [flag, str(ast.literal_eval(value)) if value.startswith("'") else value]


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
