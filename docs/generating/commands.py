"""The command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from generating.text import cell, code, table
from nessie_gc_core.cli.command import GcCommand, GcOption, commands_of
from nessie_gc_core.cli.main import cli

Key = tuple[str, str, str]
_INTRO = """# Command line

`nessie-gc COMMAND [OPTIONS]`, or `python -m nessie_gc_core COMMAND [OPTIONS]`.

This page lists the commands, then [every option](#options), under the same headings as in the help. You can also set
options in environment variables and in a file; see [configuration](configuration.md). Durations are ISO 8601 (`P1D`,
`PT6H`), instants are ISO 8601 with an offset or `Z` (`2026-01-31T00:00:00Z`). For exit codes, see
[report](report.md#exit-codes).
"""


def page() -> str:
    """The page."""
    commands = commands_of(cli)
    described = (_command(words, command) for words, command in commands.items())
    parts = [_INTRO, "## Commands\n", *described, "## Options\n"]
    for section, options in _sections(commands).items():
        rows = (
            (_names(option), _default(option), option.help or "", _used(used, commands))
            for option, used in options.values()
        )
        parts.append(f"### {section}\n\n{table(('option', 'default', 'meaning', 'commands'), rows)}\n")
    return "\n".join(parts)


def _command(words: str, command: GcCommand) -> str:
    text = f"### nessie-gc {words}\n\n{inspect.cleandoc(command.help or '')}\n"
    arguments = [param.metavar or param.name.upper() for param in command.params if isinstance(param, click.Argument)]
    if arguments:
        text += f"\n`nessie-gc {words} {' '.join(arguments)} [OPTIONS]`\n"
    if command.aliases:
        text += f"\nAlso called {', '.join(f'`{alias}`' for alias in command.aliases)}.\n"
    sections: dict[str, list[str]] = {}
    for option in _options(command):
        sections.setdefault(_section(option), []).append(f"`{_long(option)}`")
    lines = (f"- {section}: {', '.join(names)}" for section, names in sections.items())
    return text + "\n" + "\n".join(lines) + "\n"


def _options(command: click.Command) -> Iterator[click.Option]:
    with click.Context(command, **command.context_settings) as context:
        params = command.get_params(context)
    yield from (param for param in params if isinstance(param, click.Option) and not param.hidden)


def _sections(commands: Mapping[str, GcCommand]) -> dict[str, dict[Key, tuple[click.Option, list[str]]]]:
    found: dict[str, dict[Key, tuple[click.Option, list[str]]]] = {}
    for words, command in commands.items():
        for option in _options(command):
            key = (" ".join(option.opts), option.help or "", _default(option))
            section = found.setdefault(_section(option), {})
            section.setdefault(key, (option, []))[1].append(words)
    return found


def _section(option: click.Option) -> str:
    default = "Common options" if "--help" in option.opts else "Options of one command"
    return str(getattr(option, "section", "")) or default


def _long(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--"))


def _names(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag or option.count else f" `{cell(_metavar(option))}`"
    return names + value + (" (repeatable)" if option.multiple else "")


def _metavar(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(str(choice) for choice in option.type.choices)
    return option.type.name.upper()


def _default(option: click.Option) -> str:
    if isinstance(option.show_default, str):
        return code(option.show_default)
    if isinstance(option, GcOption) and option.show_default and option.default is not None:
        return code(option.default)
    return "required" if option.required else ""


def _used(used: list[str], commands: Mapping[str, GcCommand]) -> str:
    others = [words for words in commands if words not in used]
    if len(others) < len(used):
        return f"all but {', '.join(others)}" if others else "all"
    return ", ".join(used)
