"""The names that options have in the environment."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "NESSIE_GC_"


def variable_of(option: str) -> str:
    """The variable of a long option: ``--default-cutoff`` is ``NESSIE_GC_DEFAULT_CUTOFF``."""
    return PREFIX + option.lstrip("-").replace("-", "_").upper()


def connector_options(section: str, names: Mapping[str, object], environment: Mapping[str, str]) -> dict[str, str]:
    """The options of a connector that the environment gives: ``NESSIE_GC_REPOSITORY_TOKEN`` is its ``token``.

    Args:
        section: ``repository`` or ``store``.
        names: the options that the connector has.
        environment: for instance ``os.environ``.
    """
    variables = {name: f"{PREFIX}{section.upper()}_{name.upper()}" for name in names}
    return {name: environment[variable] for name, variable in variables.items() if variable in environment}
