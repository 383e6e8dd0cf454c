"""Misspelt names in options of pairs, such as properties of stores: errors, or warnings if they may be meant (S27)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.known_names import KnownNames, doubtful_names
from nessie_gc_core.model.options import ConnectorSpec, OptionValue
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry

FILE_PROPERTIES = "iceberg"
"""The setting whose pairs every connector gets that has an option ``properties``."""


def check_names(values: Mapping[str, str], registry: PluginRegistry) -> None:
    """Refuses names that are close to one that a plugin knows.

    Raises:
        ConfigurationError: the message shows the name, and never a value.
    """
    for doubt in doubtful_names(values, known_names(registry)):
        if doubt.is_error:
            raise ConfigurationError(str(doubt))


def check_options(connector: type[Connector], options: Mapping[str, OptionValue], registry: PluginRegistry) -> None:
    """The same for the options of a connector that declare which names they know; their types must be right.

    Raises:
        ConfigurationError: the message names the option, too.
    """
    for option, values in _pairs_of(connector, options):
        try:
            check_names(values, registry)
        except ConfigurationError as error:
            raise ConfigurationError(f"option {option!r}: {error}") from None


def warnings_of_names(choice: ConnectorChoice, repositories: Mapping[str, ConnectorSpec]) -> list[str]:
    """One line for each name that no plugin knows and that may be meant.

    Args:
        choice: readers, listers and deleters.
        repositories: by what messages call them.
    """
    registry, contracts = choice.registry(), {kind: contract for contract, (kind, _) in KINDS.items()}
    found = [(f"`{FILE_PROPERTIES}`", choice.properties)]
    specs = dict(repositories)
    for (kind, name), options in choice.options.items():
        specs[f"{kind} {name!r}"] = ConnectorSpec(kind=kind, name=name, options=options)
    for said, spec in specs.items():
        connector = registry.connector_class(contracts[spec.kind], spec.name)
        found.extend((f"{said}: option {option!r}", values) for option, values in _pairs_of(connector, spec.options))
    known = known_names(registry)
    return [f"{said}: {doubt}" for said, values in found for doubt in doubtful_names(values, known)]


def known_names(registry: PluginRegistry) -> list[KnownNames]:
    """What the options of all connectors declare."""
    connectors: list[type[Connector]] = [each for contract in KINDS for each in registry.connectors(contract).values()]
    found = (f.metadata.get("known") for each in connectors for f in dataclasses.fields(each.Options))
    return list({id(known): known for known in found if isinstance(known, KnownNames)}.values())


def _pairs_of(
    connector: type[Connector], options: Mapping[str, OptionValue]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The given options that declare which names they know, typed."""
    for option in dataclasses.fields(connector.Options):
        if option.metadata.get("known") is not None and option.name in options:
            yield option.name, connector.Options.typed({option.name: options[option.name]})[option.name]
