"""What a command takes without the name of an option: files, names and ids."""

from __future__ import annotations

import string
from typing import Any

import click
from click.core import ParameterSource

ID_DIGITS = 32
"""So many digits a whole id has."""


class GcArgument(click.Argument):
    """Arguments of a command, at least one, with a line of help."""

    section = "Arguments"

    def __init__(self, name: str, *, type: click.ParamType[Any], metavar: str, help: str) -> None:
        super().__init__([name], nargs=-1, required=True, type=type, metavar=metavar)
        self._help = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """What the help shows."""
        return f"{self.metavar}...", self._help


class IdArgument(click.Argument):
    """An id without the name of its option."""

    section = "Arguments"

    def __init__(self, option: click.Option, *, shortest: int) -> None:
        """Takes the option, and the minimum number of digits: nothing that deletes takes the beginning of an id."""
        self._option, self._shortest = option, shortest
        super().__init__([f"{option.name}_argument"], required=False, metavar=f"[{option.metavar}]")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """What the help shows."""
        said = "" if self._shortest == ID_DIGITS else f", or its first characters ({self._shortest} or more)"
        return self.make_metavar(ctx), f"The id{said}; the same as {self._option.opts[0]}."

    def give(self, context: click.Context) -> None:
        """Gives the option the value.

        Raises:
            click.UsageError: the command line has another one, or the text is not an id.
        """
        text, name = context.params.pop(self.name or "", None), self._option.name or ""
        if text is None:
            return
        digits = _digits(text)
        if len(digits) < self._shortest or set(digits) - set(string.hexdigits):
            least = "a whole id" if self._shortest == ID_DIGITS else f"an id, or {self._shortest} or more digits of one"
            raise click.UsageError(f"{text!r} is not {least}", context)
        other = context.params.get(name)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and _digits(str(other)) != digits:
            raise click.UsageError(f"two ids are given: {text} and {self._option.opts[0]} {other}", context)
        context.params[name] = text
        context.set_parameter_source(name, ParameterSource.COMMANDLINE)


def _digits(id_: str) -> str:
    return id_.replace("-", "").lower()
