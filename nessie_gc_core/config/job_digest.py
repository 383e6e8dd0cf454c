"""What of a configuration file decides what the runs of a job do, as a digest that schedulers compare (S27).

Everything counts that an option, a table of a connector or the job itself says, except for secrets, for what belongs to
one machine (``per_machine``), and for what only changes how things are shown. No secret goes into the digest; of an
address that may have one in it, the rest does.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nessie_gc_core.config.file import DEFAULT_REPOSITORY, ConfigFile, digest_of
from nessie_gc_core.config.plain_properties import is_known_property
from nessie_gc_core.config.settings import SETTINGS, PruneSettings, StoreSettings
from nessie_gc_core.config.specs import JDBC
from nessie_gc_core.connectors import Connector, LiveSetStore, RepositoryConnector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.key_values import KEY, merge, parse_key_values
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.urls import TWO_READINGS, comparable, split_credentials
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.plugins.registry import KINDS

SHOWN = frozenset({"config", "json", "log-format", "output-file", "quiet", "time-zone", "verbose"})
"""Options that only change how things are shown."""
_URI = "uri"
"""The address of a repository, also where it may have a password in it; what counts is the rest."""
_NESSIE_OPTIONS = frozenset({"nessie_option", "nessie_options"})
"""Options of Nessie's client; what counts is its address."""
_NESSIE_URI = "nessie.uri"
_DATABASE_PAIRS = frozenset({"jdbc_properties", "nessie_jdbc_properties"})
"""Parameters of databases; what counts is those that choose the database."""
_PLACES = frozenset(
    {
        "host", "hostaddr", "port", "service", "unix_socket", "dbname", "database", "databasename", "options",
        "schema", "currentschema", "search_path", "catalog", "warehouse", "ref", "branch",
    }
)  # fmt: skip
"""Parameters that choose the place itself; any other may be a secret."""
_AT_TOP = frozenset({"jdbc_schema"})
"""Options of the store that count at the top of a file: schedulers that meet share a store, however they reach it."""
_UNCLEAR = "?"
"""Instead of a text in which it is unclear what is secret."""
_NEXT = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9+.-]*://)")
"""Parts the addresses in a text."""


@dataclass(frozen=True)
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
            "options": dict(sorted(self._options(file, options, of_job=table.get("options", {})))),
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
        return sorted(name for name, fields in self._declared.items() if _is_of_machine(fields))

    # ---- options --------------------------------------------------------------------------------------
    def _options(self, file: ConfigFile, options: Mapping[str, Any], *, of_job: object) -> Iterator[tuple[str, object]]:
        declared, store = self._declared, {field.name for field in dataclasses.fields(StoreSettings)}
        repository = str(options.get("repository", _name(file.repository)))
        own = of_job if isinstance(of_job, Mapping) else {}
        for key, value in options.items():
            name = key.replace("-", "_")
            if key in SHOWN or (name in store and key not in own and name not in _AT_TOP):
                continue
            if name == "connector_option":
                yield key, [self._connector_option(text) for text in _listed(value)]
            elif name == "repository_option":
                yield key, self._connector(RepositoryConnector, repository, _pairs(value))
            elif name == "store_option":
                yield key, self._connector(LiveSetStore, str(options.get("store", _store(file))), _pairs(value))
            elif name == _URI:
                yield key, _address(value)
            else:
                yield from ((key, part) for part in _counting(name, declared.get(name, ()), value))

    @cached_property
    def _declared(self) -> Mapping[str, Sequence[dataclasses.Field[Any]]]:
        """All declarations of each option, which are the same for all jobs."""
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
            else:
                found.update((key, part) for part in _counting(key, [fields[key]], value))
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


def _store(file: ConfigFile) -> str:
    return str(file.store.get("name", JDBC))


def _is_of_machine(fields: Sequence[dataclasses.Field[Any]]) -> bool:
    return bool(fields) and all(field.metadata.get("per_machine") for field in fields)


# ---- values -------------------------------------------------------------------------------------------
def _counting(name: str, fields: Sequence[dataclasses.Field[Any]], value: object) -> Iterator[object]:
    """What counts of the value of an option, whichever way it is written; nothing if all of it is secret."""
    if _is_of_machine(fields):
        return
    if any(field.metadata.get("address") for field in fields):
        yield _address(value)
        return
    is_pairs = any(field.default_factory is not dataclasses.MISSING for field in fields)
    key = next((field.metadata["key"] for field in fields if field.metadata.get("key")), KEY)
    if any(field.metadata.get("secret") for field in fields):
        found = _open_pairs(name, _pairs(value, key)) if is_pairs else None
        yield from [found] if found else []
    else:
        yield _bare(_pairs(value, key) if is_pairs else value)


def _open_pairs(name: str, pairs: Mapping[str, str]) -> object:
    """What counts of pairs of which some are secret."""
    if name in _NESSIE_OPTIONS:
        return {key: _address(value) for key, value in pairs.items() if key == _NESSIE_URI}
    return _places(pairs.items()) if name in _DATABASE_PAIRS else _properties(name, pairs)


def _listed(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]


def _pairs(value: object, key: str = KEY) -> Mapping[str, str]:
    """Pairs from a table, from text, or from several of these; none from a text that is refused anyway."""
    if isinstance(value, list):
        return merge(_pairs(part, key) for part in value)
    if isinstance(value, Mapping):
        return {str(name): str(part) for name, part in value.items()}
    try:
        return parse_key_values(str(value), key=key)
    except ConfigurationError:
        return {}


def _properties(setting: str, pairs: Mapping[str, str]) -> dict[str, object]:
    """The properties of Iceberg or Spark that are not secret."""
    known = {key: value for key, value in pairs.items() if is_known_property(setting, key)}
    return {key: _address(value) if _is_server(key, value) else _bare(value) for key, value in sorted(known.items())}


def _is_server(key: str, value: str) -> bool:
    """Whether a property is the address of a server; if not, it may be a location, in which names of users count."""
    return key.rpartition(".")[2] == _URI or value.lower().startswith(("http://", "https://"))


def _address(value: object) -> object:
    """The addresses of servers without what may be secret in them."""
    if not isinstance(value, str):
        return value
    try:
        return ",".join(_server(part.strip()) for part in _NEXT.split(value))
    except ValueError:
        return _UNCLEAR


def _server(address: str) -> str:
    """The address of a server with those of its parameters that choose a database in it.

    Raises:
        ValueError: it is unclear what is secret.
    """
    scheme, _, rest = split_credentials(address)
    place, *parameters = re.split(r"[?;&#]", rest)
    if not scheme and "@" in place:
        raise ValueError(TWO_READINGS)
    server = comparable(scheme + place) if scheme else place
    return "?".join([server, *_places(part.partition("=")[::2] for part in parameters)])


def _places(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return sorted(f"{name}={value}" for name, value in pairs if name.lower() in _PLACES)


def _bare(value: object) -> object:
    """A value in which no address has a user with a password; a name alone is a container of Azure, and counts."""
    if isinstance(value, list):
        return [_bare(part) for part in value]
    if isinstance(value, Mapping):
        return {_bare(key): _bare(part) for key, part in value.items()}
    if not isinstance(value, str) or "://" not in value:
        return value
    return ",".join(_without_password(part) for part in _NEXT.split(value))


def _without_password(text: str) -> str:
    try:
        scheme, user_info, rest = split_credentials(text)
    except ValueError:
        return _UNCLEAR
    return text if user_info is None or ":" not in user_info else scheme + rest
