"""What of a configuration file decides what the runs of a job do, as a digest that schedulers compare (S27).

Everything counts that an option, a table of a connector or the job itself says, except for secrets, for what belongs to
one machine (``per_machine``), and for what only changes how things are shown. No secret goes into the digest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nessie_gc_core.config.file import DEFAULT_REPOSITORY, ConfigFile, digest_of
from nessie_gc_core.config.plain_properties import PROPERTIES, is_known_property
from nessie_gc_core.config.settings import SETTINGS, PruneSettings, StoreSettings
from nessie_gc_core.connectors import Connector, RepositoryConnector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.urls import comparable, split_credentials
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.plugins.registry import KINDS

SHOWN = frozenset({"config", "json", "log-format", "output-file", "quiet", "time-zone", "verbose"})
"""Options that only change how things are shown."""
_URI = "uri"
"""The address of a repository, also where it may have a password in it; what counts is the rest."""
_UNCLEAR = "?"
"""Instead of a text in which it is unclear what is secret."""


@dataclass(frozen=True, slots=True)
class JobDigests:
    """Digests of the jobs of configuration files."""

    registry: PluginRegistry
    """Knows the options of services and connectors; all plugins, also those that the file disables."""

    def digest(self, file: ConfigFile, job: str) -> str | None:
        """The digest of a job; ``None`` if the file has no such job."""
        table, schedule = file.job(job), file.schedule
        if table is None:
            return None
        own = {key.replace("_", "-"): value for key, value in table.items() if key != "options"}
        zone = schedule.get("time-zone", schedule.get("time_zone", "UTC"))
        options = file.of_job(job).options
        counting = {
            "job": {"quiet": schedule.get("quiet", []), **own},
            "time-zone": zone,
            "options": dict(sorted(self._options(file, options))),
            "repository": self._connector(RepositoryConnector, _name(file.repository), file.repository),
            "repositories": [
                {"label": entry.label, **self._connector(RepositoryConnector, entry.name, entry.options)}
                for entry in file.repositories
            ],
            "connectors": {
                f"{kind}:{name}": self._connector(_contract(kind), name, values)
                for (kind, name), values in file.connectors.items()
            },
        }
        return digest_of(counting)

    def check(self, file: ConfigFile, job: str, digest: str) -> None:
        """Makes sure that a job is still what its scheduler has read: with other options, a run could delete (S27).

        Raises:
            ConfigurationError: it is not.
        """
        if self.digest(file, job) != digest:
            raise ConfigurationError(
                f"the job {job!r} in {file.name} is not what its scheduler has read; the scheduler reads the file "
                "again, or says in its log why it cannot"
            )

    def not_compared(self) -> list[str]:
        """The names of the options that do not count because they belong to one machine."""
        return sorted(name for name, fields in self._declared().items() if _is_of_machine(fields))

    # ---- options --------------------------------------------------------------------------------------
    def _options(self, file: ConfigFile, options: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
        declared, store = self._declared(), {field.name for field in dataclasses.fields(StoreSettings)}
        repository = str(options.get("repository", _name(file.repository)))
        for key, value in options.items():
            name = key.replace("-", "_")
            if key in SHOWN or name in store:  # schedulers that meet share a database, however they reach it
                continue
            if name == "connector_option":
                yield key, [self._connector_option(text) for text in _listed(value)]
            elif name == "repository_option":
                yield key, self._connector(RepositoryConnector, repository, _pairs(value))
            elif name in PROPERTIES:
                yield key, _properties(name, _pairs(value))
            elif not _is_secret(declared.get(name, ())) and not _is_of_machine(declared.get(name, ())):
                yield key, _address(value) if name == _URI else _bare(value)

    def _declared(self) -> dict[str, list[dataclasses.Field[Any]]]:
        """All declarations of each option."""
        services = (service.Parameters for service in self.registry.services.by_name().values())
        found: dict[str, list[dataclasses.Field[Any]]] = {}
        for group in (*SETTINGS, PruneSettings, *services):
            for field in dataclasses.fields(group):
                found.setdefault(field.name, []).append(field)
        return found

    # ---- connectors -----------------------------------------------------------------------------------
    def _connector(self, contract: type[Connector] | None, name: str, values: Mapping[str, object]) -> dict[str, Any]:
        """What counts of the options of a connector."""
        fields = {field.name: field for field in dataclasses.fields(self._options_of(contract, name))}
        found: dict[str, Any] = {"name": name}
        for key, value in values.items():
            if key not in fields:
                continue
            if key == _URI and contract is RepositoryConnector:
                found[key] = _address(value)
            elif key in PROPERTIES:
                found[key] = _properties(key, _pairs(value))
            elif not _is_secret([fields[key]]) and not _is_of_machine([fields[key]]):
                found[key] = _bare(value)
        return found

    def _options_of(self, contract: type[Connector] | None, name: str) -> type[ConnectorOptions]:
        connector = None if contract is None else self.registry.connectors(contract).get(name)
        return ConnectorOptions if connector is None else connector.Options

    def _connector_option(self, text: str) -> list[object]:
        """``KIND:NAME:KEY=VALUE``; the value only if it counts."""
        target, _, value = text.partition("=")
        kind, _, rest = target.partition(":")
        name, _, key = rest.partition(":")
        return [kind, name, key, self._connector(_contract(kind), name, {key: value}).get(key)]


def _contract(kind: str) -> type[Connector] | None:
    return next((contract for contract, (known, _) in KINDS.items() if known == kind), None)


def _name(table: Mapping[str, object]) -> str:
    return str(table.get("name", DEFAULT_REPOSITORY))


def _is_secret(fields: Iterable[dataclasses.Field[Any]]) -> bool:
    return any(field.metadata.get("secret") for field in fields)


def _is_of_machine(fields: Sequence[dataclasses.Field[Any]]) -> bool:
    return bool(fields) and all(field.metadata.get("per_machine") for field in fields)


# ---- values -------------------------------------------------------------------------------------------
def _listed(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def _pairs(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _properties(setting: str, pairs: Mapping[str, object]) -> dict[str, object]:
    """The properties of Iceberg or Spark that are not secret."""
    known = {key: value for key, value in pairs.items() if is_known_property(setting, key)}
    return {key: _address(value) if "://" in str(value) else value for key, value in sorted(known.items())}


def _address(value: object) -> object:
    """The address of a server without what may be secret in it."""
    if not isinstance(value, str) or "://" not in value:
        return value
    try:
        return comparable(value)
    except ValueError:
        return _UNCLEAR


def _bare(value: object) -> object:
    """A value in which no address has a user and a password."""
    if isinstance(value, list):
        return [_bare(part) for part in value]
    if isinstance(value, Mapping):
        return {_bare(key): _bare(part) for key, part in value.items()}
    if not isinstance(value, str) or "://" not in value:
        return value
    try:
        scheme, _, rest = split_credentials(value)
    except ValueError:
        return _UNCLEAR
    return scheme + rest
