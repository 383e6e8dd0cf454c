"""The settings in effect, and where each of them comes from; secrets are left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from nessie_gc_core.config.environment import connector_variable, variable_of
from nessie_gc_core.config.file import DEFAULT_REPOSITORY, ConfigFile
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.plain_properties import PROPERTIES, is_plain_property
from nessie_gc_core.config.settings import RepositorySettings, StoreSettings
from nessie_gc_core.config.specs import (
    DATABASE,
    JDBC,
    WELL_KNOWN,
    chosen_store,
    repositories_in_order,
    repository_specs,
    store_spec,
)
from nessie_gc_core.connectors import Connector, LiveSetStore, RepositoryConnector
from nessie_gc_core.model.key_values import parse_key_values
from nessie_gc_core.model.options import ConnectorOptions, ConnectorSpec
from nessie_gc_core.model.text import iso_duration, json_time
from nessie_gc_core.model.urls import split_credentials
from nessie_gc_core.plugins import PluginRegistry

OTHER_COMMANDS = "Settings of other commands"
SOURCES = {
    Rank.CALLER: "command line",
    Rank.ENVIRONMENT: "environment",
    Rank.FILE: "file",
    Rank.DEFAULT: "default",
}
"""The name of each source in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The value of one setting, and where it comes from."""

    section: str
    """The heading under which the help shows it."""
    name: str
    """Its key in the configuration file; the option of a connector follows the table of that connector."""
    value: Any
    """A plain value, as JSON has it; ``None`` where there is none, or it is hidden."""
    hidden: bool
    """Whether the value may be secret, and is left out."""
    rank: Rank
    """Its source."""
    where: str
    """Its source in words: ``environment variable NESSIE_GC_URI``."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "section": self.section,
            "name": self.name,
            "value": self.value,
            "hidden": self.hidden,
            "source": SOURCES[self.rank],
            "where": self.where,
        }


def origins(given: Given, groups: Sequence[type[ConnectorOptions]], registry: PluginRegistry) -> Iterator[Origin]:
    """The settings of a command, section by section, with the options of its repository and its live-set store.

    Args:
        given: the settings that somebody gave.
        groups: the groups of settings and parameters that the command takes.
        registry: the plugins that are not disabled.

    Raises:
        ConfigurationError, PluginError: a setting is wrong, or a connector is not installed.
    """
    known = _Known(given)
    for group in groups:
        if group is RepositorySettings:
            yield from known.repositories(registry)
        elif group is StoreSettings:
            yield from known.store(registry)
        else:
            yield from known.settings(group)


def of_other_commands(names: Iterable[str], secrets: Iterable[str], given: Given) -> Iterator[Origin]:
    """Settings that the environment or the file gives, and that the command does not take.

    Args:
        names: the names of these settings.
        secrets: those of them that may be secret.
        given: holds the environment and the file.
    """
    known, hidden = _Known(given), set(secrets)
    for name in sorted(names):
        key, variable = name.replace("_", "-"), variable_of(name)
        rank = Rank.ENVIRONMENT if variable in given.environment else Rank.FILE
        value = given.environment.get(variable, given.file.options.get(key))
        if value is not None:
            yield _origin(OTHER_COMMANDS, key, value, hidden=name in hidden, rank=rank, where=known.where(name, rank))


@dataclass(frozen=True, slots=True)
class _Known:
    """Knows where settings come from."""

    given: Given

    def where(self, name: str, rank: Rank) -> str:
        """The source of a setting in words."""
        words = {
            Rank.ENVIRONMENT: f"environment variable {variable_of(name)}",
            Rank.FILE: f"{self.given.file.name}: {name.replace('_', '-')}",
        }
        return words.get(rank, SOURCES[rank])

    def settings(self, group: type[ConnectorOptions]) -> Iterator[Origin]:
        """One group; of pairs, each."""
        values, secrets = self.given.settings(group), group.secret_names()
        for field in dataclasses.fields(group):
            name, value = field.name, getattr(values, field.name)
            section, key = str(field.metadata.get("section", "")), name.replace("_", "-")
            if isinstance(value, Mapping) and value:
                for pair, inner in value.items():
                    rank, where = self.pair(name, pair, inner)
                    hidden = name in secrets and not is_plain_property(name, pair, inner)
                    yield _origin(section, f"{key}.{pair}", inner, hidden=hidden, rank=rank, where=where)
                continue
            rank = self.given.rank(name)
            yield _origin(section, key, value, hidden=name in secrets, rank=rank, where=self.where(name, rank))

    def pair(self, name: str, pair: str, value: str) -> tuple[Rank, str]:
        """The strongest source that gives this value to a pair."""
        text = self.given.environment.get(variable_of(name), "")
        in_file = self.given.file.options.get(name.replace("_", "-"))
        layers = {
            Rank.ENVIRONMENT: parse_key_values(text, key=r"[^,=]+") if text else {},
            Rank.FILE: in_file if isinstance(in_file, Mapping) else {},
        }
        rank = next((rank for rank, pairs in layers.items() if str(pairs.get(pair)) == value), Rank.CALLER)
        return rank, self.where(name, rank)

    # ---- connectors -----------------------------------------------------------------------------------
    def repositories(self, registry: PluginRegistry) -> Iterator[Origin]:
        """The repository, or several, with their options."""
        section, rank = "Repository", self.given.rank("repository")
        specs, entries = repository_specs(self.given, registry), repositories_in_order(self.given)
        if entries:
            yield _origin(
                section,
                "repository",
                self.given.values.get("repository"),
                rank=rank,
                where=self.where("repository", rank),
            )
            for entry, spec in zip(entries, specs, strict=True):
                source = _Source(table=entry.options, section=entry.section, shown=f"repositories.{entry.label}")
                yield from self._options(
                    section, spec, registry.connector_class(RepositoryConnector, spec.name), source
                )
            return
        table = self.given.file.repository
        source = _Source(
            table=table if table.get("name", DEFAULT_REPOSITORY) == specs[0].name else {},
            section="repository",
            shown="repository",
            pairs="repository_option",
            settings=WELL_KNOWN,
        )
        yield self._name(section, specs[0].name, "repository" if rank else None, source, table)
        yield from self._options(
            section, specs[0], registry.connector_class(RepositoryConnector, specs[0].name), source
        )

    def store(self, registry: PluginRegistry) -> Iterator[Origin]:
        """The live-set store with its options."""
        section, spec, table = "Live-set store", store_spec(self.given, registry), self.given.file.store
        source = _Source(
            table=table if table.get("name", JDBC) == spec.name else {},
            section="store",
            shown="store",
            pairs="store_option",
            settings=DATABASE if spec.name == JDBC else {},
        )
        yield self._name(section, spec.name, chosen_store(self.given)[0], source, table)
        yield from self._options(section, spec, registry.connector_class(LiveSetStore, spec.name), source)

    def _name(
        self, section: str, name: str, setting: str | None, source: _Source, table: Mapping[str, object]
    ) -> Origin:
        if setting is not None:
            rank = self.given.rank(setting)
            where = self.where(setting, rank)
        else:
            rank = Rank.FILE if "name" in table else Rank.DEFAULT
            where = _in_table(self.given.file, source.shown, "name") if rank else SOURCES[rank]
        return _origin(section, source.shown, name, rank=rank, where=where)

    def _options(
        self, section: str, spec: ConnectorSpec, connector: type[Connector], source: _Source
    ) -> Iterator[Origin]:
        values, secrets = connector.Options.from_mapping(spec.options), connector.Options.secret_names()
        for field in dataclasses.fields(connector.Options):
            rank, where = Rank.DEFAULT, SOURCES[Rank.DEFAULT]
            if field.name in spec.options:
                rank, where = self._of_option(field.name, source)
            name, value = f"{source.shown}.{field.name}", getattr(values, field.name)
            if field.name in PROPERTIES and isinstance(value, Mapping) and value:
                for pair, inner in value.items():
                    hidden = field.name in secrets and not is_plain_property(field.name, pair, inner)
                    yield _origin(section, f"{name}.{pair}", inner, hidden=hidden, rank=rank, where=where)
                continue
            yield _origin(section, name, value, hidden=field.name in secrets, rank=rank, where=where)

    def _of_option(self, option: str, source: _Source) -> tuple[Rank, str]:
        """Where the option of a connector comes from; the order is that in which options overrule each other."""
        pairs = self.given.values.get(source.pairs or "") or {}
        if option in pairs:
            return self.pair(source.pairs or "", option, pairs[option])
        for setting, theirs in source.settings.items():
            if theirs == option and self.given.rank(setting):
                return self.given.rank(setting), self.where(setting, self.given.rank(setting))
        variable = connector_variable(source.section, option)
        if variable in self.given.environment:
            return Rank.ENVIRONMENT, f"environment variable {variable}"
        if option in source.table:
            return Rank.FILE, _in_table(self.given.file, source.shown, option)
        return Rank.DEFAULT, SOURCES[Rank.DEFAULT]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What gives options to one connector."""

    table: Mapping[str, object]
    """Its table of the file."""
    section: str
    """What stands for it in the names of variables."""
    shown: str
    """What its options are shown below."""
    pairs: str | None = None
    """The setting that takes any of its options."""
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Settings of their own, and the options that they mean."""


def _in_table(file: ConfigFile, table: str, key: str) -> str:
    return f"{file.name}: [{table}] {key}"


def _origin(section: str, name: str, value: object, *, rank: Rank, where: str, hidden: bool = False) -> Origin:
    plain = plain_value(value)
    hidden = (hidden and bool(rank) and plain not in (None, [], {})) or holds_credentials(plain)
    return Origin(section=section, name=name, value=None if hidden else plain, hidden=hidden, rank=rank, where=where)


def plain_value(value: object) -> Any:
    """A value as JSON and TOML have it: durations and instants as texts."""
    if isinstance(value, timedelta):
        return iso_duration(value)
    if isinstance(value, datetime):
        return json_time(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, (list, tuple)) else value


def holds_credentials(value: object) -> bool:
    """Whether a text, or one of several, is a URL with a user, a password or a query in it; a query may sign it."""
    if isinstance(value, list):
        return any(map(holds_credentials, value))
    if not isinstance(value, str) or "://" not in value:
        return False
    try:
        return "?" in value or split_credentials(value)[1] is not None
    except ValueError:  # what is the password can be read in two ways
        return True
