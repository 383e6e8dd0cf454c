"""Which variables of the environment the program knows."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

import click

from nessie_gc_core.config.environment import check_environment, connector_variable
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.plugins import installed


def check_variables(root: click.Command) -> None:
    """Refuses variables of the environment that nothing reads, before anything is read.

    Raises:
        ConfigurationError: the message names the variable, and never its value.
    """
    check_environment(os.environ, options=set(_option_variables(root)), connector_variables=set(_connector_variables()))


def _option_variables(root: click.Command) -> Iterator[str]:
    commands = [root, *(root.commands.values() if isinstance(root, click.Group) else ())]
    for option in (option for command in commands for option in command.params):
        variables = option.envvar if option.envvar is not None else ()
        yield from [variables] if isinstance(variables, str) else variables


def _connector_variables() -> Iterator[str]:
    for section, connectors in (
        ("repository", installed().connectors(RepositoryConnector)),
        ("store", installed().connectors(LiveSetStore)),
    ):
        for connector in connectors.values():
            yield from (connector_variable(section, field.name) for field in dataclasses.fields(connector.Options))
