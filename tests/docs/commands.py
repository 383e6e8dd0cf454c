"""Commands and configurations that users copy: every command and option in them exists, and no file is made up."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from nessie_gc_core.cli.command import known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.connectors import Connector, RepositoryConnector
from nessie_gc_core.plugins import installed
from nessie_gc_core.plugins.registry import KINDS

_ENDS = ("&&", "||", "|", ";", ">", ">>", "2>&1")
"""Words at which a command's arguments end."""
_PROGRAM = re.compile(r"(?:(?:ExecStart=)?/\S+/)?nessie-gc")


def of_line(line: str) -> list[str] | None:
    """The arguments of ``nessie-gc`` in a line of a shell, without the file of the reader's that it may name."""
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    at = next((number for number, word in enumerate(words) if _PROGRAM.fullmatch(word)), None)
    if at is None:
        return None
    arguments = without_configuration(words[at + 1 :])
    ends = [number for number, word in enumerate(arguments) if word in _ENDS]
    return arguments[: ends[0]] if ends else arguments


def without_configuration(arguments: Sequence[str]) -> list[str]:
    """Arguments without ``--config FILE``."""
    kept = list(arguments)
    if "--config" in kept:
        del kept[kept.index("--config") : kept.index("--config") + 2]
    return kept


def of_text(text: str) -> Iterator[list[str]]:
    """The arguments of each command of ``nessie-gc`` in a file that is not only a script."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    yield from filter(None, (of_line(line) for line in lines if re.search(r"\bnessie-gc [a-z]", line)))


def parse(arguments: Sequence[str], where: str) -> None:
    """Fails where a command or an option does not exist; runs nothing."""
    if not arguments or arguments[0].startswith("-"):
        return
    with click.Context(cli) as parent:
        command = cli.get_command(parent, arguments[0])
        assert command is not None, f"{where}: no command {arguments[0]!r}"
        if "--help" in arguments:
            return
        if isinstance(command, click.Group) and len(arguments) > 1:
            arguments = arguments[1:]
            command = command.get_command(parent, arguments[0])
            assert command is not None, f"{where}: no command {arguments[0]!r}"
        try:
            command.make_context(arguments[0], list(arguments[1:]), parent=parent)
        except click.UsageError as error:
            pytest.fail(f"{where}: {error.format_message()}")


def read_configuration(path: Path) -> None:
    """Fails where an option of a configuration file does not exist, or does not fit."""
    config = ConfigFile.read(path, known_options(cli))
    installed().connector_class(RepositoryConnector, "nessie").Options.from_mapping(config.repository)
    for (kind, name), options in config.connectors.items():
        contract: type[Connector] = next(contract for contract, (known, _) in KINDS.items() if known == kind)
        installed().connector_class(contract, name).Options.from_mapping(options)
