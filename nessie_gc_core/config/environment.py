"""The names that options have in the environment, and what is refused there (S27)."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping

from nessie_gc_core.config.file import RepositoryEntry
from nessie_gc_core.connectors import Connector, LiveSetStore, RepositoryConnector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import PluginRegistry

PREFIX = "NESSIE_GC_"
JOB_VARIABLE = "NESSIE_GC_SCHEDULED_JOB"
"""Set for the process of a scheduled run: names the job, whose options count. The process ends with its scheduler."""
DIGEST_VARIABLE = "NESSIE_GC_SCHEDULED_DIGEST"
"""Set with it: what the scheduler has read of the job, as a digest."""
LEASE_VARIABLE = "NESSIE_GC_SCHEDULED_LEASE"
"""Set with it: how many seconds a lease of the run has, and since when it has one, in elapsed seconds."""
RUN_VARIABLE = "NESSIE_GC_SCHEDULED_RUN"
"""Set with it: the id of the run, which its log lines carry."""
ATTEMPT_VARIABLE = "NESSIE_GC_SCHEDULED_ATTEMPT"
"""Set with it: which attempt it is."""
INTERNAL = frozenset(
    {
        JOB_VARIABLE, DIGEST_VARIABLE, LEASE_VARIABLE, RUN_VARIABLE, ATTEMPT_VARIABLE,
        "NESSIE_GC_NESSIE_JAR", "NESSIE_GC_REQUIRE_SERVERS",
    }
)  # fmt: skip
"""Variables that do not set options: those of a scheduler, and of the server of the demo and of tests."""


def variable_of(option: str) -> str:
    """The variable of a long option: ``--default-cutoff`` is ``NESSIE_GC_DEFAULT_CUTOFF``."""
    return PREFIX + option.lstrip("-").replace("-", "_").upper()


def connector_variable(section: str, name: str) -> str:
    """The variable of a connector's option: ``token`` of the ``repository`` is ``NESSIE_GC_REPOSITORY_TOKEN``."""
    return f"{PREFIX}{section.upper()}_{name.upper()}"


def connector_options(section: str, names: Collection[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The options of a connector that the environment gives: ``NESSIE_GC_REPOSITORY_TOKEN`` is its ``token``.

    Args:
        section: ``repository`` or ``store``, or that of one of several repositories.
        names: the options that the connector has.
        environment: for instance ``os.environ``.
    """
    variables = {name: connector_variable(section, name) for name in names}
    return {name: environment[variable] for name, variable in variables.items() if variable in environment}


def check_settings_in(
    environment: Mapping[str, str],
    names: Iterable[str],
    plugins: PluginRegistry,
    *,
    repositories: Iterable[RepositoryEntry] = (),
) -> None:
    """Refuses variables that belong to no setting and to no installed repository or store.

    Args:
        environment: for instance ``os.environ``.
        names: the names of all settings.
        plugins: all plugins.
        repositories: several ``[[repositories]]``.

    Raises:
        ConfigurationError: the message names the variable, and never its value.
    """
    check_environment(
        environment,
        options={variable_of(name) for name in names},
        connector_variables=set(_connector_variables(plugins, repositories)),
    )


def _connector_variables(plugins: PluginRegistry, entries: Iterable[RepositoryEntry]) -> Iterator[str]:
    repositories, stores = plugins.connectors(RepositoryConnector), plugins.connectors(LiveSetStore)
    readers: list[tuple[str, type[Connector]]] = [
        *(("repository", connector) for connector in repositories.values()),
        *(("store", connector) for connector in stores.values()),
        *((entry.section, repositories[entry.name]) for entry in entries if entry.name in repositories),
    ]
    for section, connector in readers:
        yield from (connector_variable(section, field.name) for field in dataclasses.fields(connector.Options))


def check_environment(
    environment: Mapping[str, str], *, options: Collection[str], connector_variables: Collection[str]
) -> None:
    """Refuses unknown variables, such as misspelt ones, and options with empty values (S27).

    Args:
        environment: for instance ``os.environ``.
        options: the variables of all options.
        connector_variables: those of the options of all installed repositories and stores.

    Raises:
        ConfigurationError: the message names the variable, and never its value.
    """
    known = {*options, *connector_variables, *INTERNAL}
    for variable in sorted(environment):
        if not variable.upper().startswith(PREFIX):
            continue
        if variable not in known:
            raise ConfigurationError(f"unknown environment variable {variable}; {_hint(variable, known)}")
        if variable in options and not environment[variable].strip(" \t\n,"):
            raise ConfigurationError(
                f"the environment variable {variable} is set but empty; unset it, or give it a value"
            )


def _hint(variable: str, known: Collection[str]) -> str:
    names = {name.removeprefix(PREFIX).replace("_", ""): name for name in sorted(known)}
    asked = variable.upper().removeprefix(PREFIX).replace("_", "")
    near = difflib.get_close_matches(asked, names, n=1)
    return f"did you mean {names[near[0]]}?" if near else "unset it: no option or connector reads it"
