"""Which connectors a command uses, and with which options: the settings of all sources put together."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
from platformdirs import user_data_path

from nessie_gc_core.cli.command import Given, option_name
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.config.environment import connector_options
from nessie_gc_core.connectors import (
    Connector,
    LiveSetStore,
    RepositoryConnector,
    SupportsSqlSchema,
)
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.locations import SCHEME_ALIASES
from nessie_gc_core.model.options import ConnectorSpec, OptionValue
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry, installed

log = logging.getLogger(__name__)

Options = dict[str, OptionValue]

WELL_KNOWN: Mapping[str, str] = {
    "uri": "uri",
    "nessie_option": "nessie_options",
    "token": "token",
    "tls_ca": "tls_ca_file",
    "tls_verify": "tls_verify",
    "connect_timeout": "connect_timeout_seconds",
    "read_timeout": "read_timeout_seconds",
}
"""Our option to the name that a repository connector gives the option with this meaning."""
DATABASE: Mapping[str, str] = {
    "jdbc_url": "url",
    "jdbc_user": "user",
    "jdbc_password": "password",
    "jdbc_properties": "properties",
    "jdbc_fetch_size": "fetch_size",
    "jdbc_pool_max_size": "pool_max_size",
    "jdbc_schema": "schema",
}
"""Our option to the name of the option of the store in a database."""


# ---- repository ---------------------------------------------------------------------------------------
def repository_spec(given: Given) -> ConnectorSpec:
    """The repository with its options.

    Raises:
        ConfigurationError: there is no such connector, or it has no such option.
    """
    table = given.session.config.repository
    named = given.text("repository")
    name = named or str(table.get("name", "nessie"))
    connector = registry_of(given).connector_class(RepositoryConnector, name)
    known = _option_names(connector)
    options: Options = {}
    in_file = _table(given, RepositoryConnector, table, "nessie")
    if named is None or named == table.get("name", "nessie"):
        options.update(in_file)
    options.update(connector_options("repository", known, os.environ))
    for ours, theirs in WELL_KNOWN.items():
        value = _plain(given.raw(ours))
        if value in (None, {}) or not given.rank(ours):
            continue
        if theirs not in known:
            raise ConfigurationError(f"the repository {name!r} has no option {theirs!r}; leave out {option_name(ours)}")
        options[theirs] = value
    options.update(given.pairs("repository_option"))
    if given.rank("token") and "authentication" in known:
        options.setdefault("authentication", "bearer")
    return _checked(ConnectorSpec(kind="repository", name=name, options=options), connector)


def open_repository(given: Given) -> RepositoryConnector:
    """The repository, made and not yet asked."""
    return registry_of(given).open(RepositoryConnector, repository_spec(given))


def _plain(value: object) -> OptionValue:
    """An option's value as a connector takes it: durations in seconds, pairs in one mapping."""
    total_seconds = getattr(value, "total_seconds", None)
    if total_seconds is not None:
        return float(total_seconds())
    if isinstance(value, tuple):
        return {key: text for part in value for key, text in part.items()}
    assert value is None or isinstance(value, (str, int, float, bool))
    return value


# ---- store --------------------------------------------------------------------------------------------
def store_spec(given: Given, *, in_memory_allowed: bool = False) -> ConnectorSpec:
    """The live-set store with its options; SQLite in the user's data folder where nothing is said.

    Raises:
        click.UsageError: ``--inmemory`` where it makes no sense.
        ConfigurationError: there is no such connector, or it has no such option.
    """
    table = given.session.config.store
    given.one_of("inmemory", "jdbc")
    chosen = given.one_of("inmemory", "jdbc_url")
    if chosen == "inmemory":
        if not in_memory_allowed:
            raise click.UsageError("--inmemory keeps a live set for one process only: it serves 'gc' and nothing else")
        if given.flag("defer_deletes"):
            raise click.UsageError("--inmemory and --defer-deletes exclude each other: nothing would be left to delete")
        name = "memory"
    else:
        name = "jdbc" if chosen else str(table.get("name", "jdbc"))
    connector = registry_of(given).connector_class(LiveSetStore, name)
    options: Options = connector_options("store", _option_names(connector), os.environ)  # type: ignore[assignment]
    in_file = _table(given, LiveSetStore, table, "jdbc")
    if name == table.get("name", "jdbc"):
        options = {**in_file, **options}
    if name == "jdbc":
        options.update({theirs: value for ours, theirs in DATABASE.items() if (value := _plain(given.raw(ours)))})
        if "url" not in options:
            options["url"] = f"sqlite:///{_default_database()}"  # its tables are made on first use
    return _checked(ConnectorSpec(kind="live-set-store", name=name, options=options), connector)


def open_store(given: Given, *, in_memory_allowed: bool = False) -> LiveSetStore:
    """The live-set store."""
    return registry_of(given).open(LiveSetStore, store_spec(given, in_memory_allowed=in_memory_allowed))


@contextmanager
def open_schema_store(given: Given) -> Iterator[tuple[LiveSetStore, SupportsSqlSchema]]:
    """The live-set store as something that makes its tables; opening it makes none.

    Raises:
        ConfigurationError: it has no tables.
    """
    spec = store_spec(given)
    options = {key: value for key, value in spec.options.items() if key != "schema"}
    with registry_of(given).open(LiveSetStore, dataclasses.replace(spec, options=options)) as store:
        if not isinstance(store, SupportsSqlSchema):
            raise ConfigurationError(f"the live-set store {spec.name!r} has no tables to make")
        yield store, store


def _default_database() -> Path:
    folder = user_data_path("nessie-gc")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NessieGcError(f"cannot make {folder} ({error.strerror}); give a database with --jdbc-url") from error
    return folder / "live-sets.db"


# ---- files --------------------------------------------------------------------------------------------
def connector_choice(given: Given) -> ConnectorChoice:
    """Readers, listers and deleters with their options.

    Raises:
        ConfigurationError: one of them is not installed, or has no such option, or an alias makes no sense.
    """
    options: dict[tuple[str, str], Options] = {
        connector: dict(values) for connector, values in given.session.config.connectors.items()
    }
    for text in given.texts("connector_option"):
        kind, name, key, value = _connector_option(text)
        options.setdefault((kind, name), {})[key] = value
    for (kind, name), values in options.items():
        _checked(ConnectorSpec(kind=kind, name=name, options=values), _connector(given, kind, name))
    choice = ConnectorChoice(
        options=options,
        properties=given.pairs("iceberg"),
        lister=given.text("lister"),
        deleter=given.text("deleter"),
        scheme_aliases=_scheme_aliases(given.pairs("scheme_alias")),
        authority_aliases=given.pairs("authority_alias"),
        path_aliases=given.pairs("path_alias"),
        disabled_plugins=given.texts("disable_plugin"),
        required_plugins=given.texts("required_plugins"),
    )
    choice.check_plugins()
    return choice


def registry_of(given: Given) -> PluginRegistry:
    """The installed plugins without those that ``--disable-plugin`` names."""
    return installed().without(given.texts("disable_plugin"))


def _connector_option(text: str) -> tuple[str, str, str, str]:
    target, equals, value = text.partition("=")
    parts = target.split(":")
    if not equals or len(parts) != 3 or not all(parts):
        raise ConfigurationError(
            "--connector-option is not of the form KIND:NAME:KEY=VALUE (its text is not shown); "
            f"the kinds are {', '.join(_kinds())}"
        )
    return parts[0], parts[1], parts[2], value


def _kinds() -> Iterable[str]:
    own = {"repository", "live-set-store"}  # these have options of their own
    return [kind for kind, _ in KINDS.values() if kind not in own]


def _connector(given: Given, kind: str, name: str) -> type[Connector]:
    contract = next((contract for contract, (known, _) in KINDS.items() if known == kind), None)
    if contract is None or kind not in _kinds():
        raise ConfigurationError(f"unknown kind of connector {kind!r}; the kinds are {', '.join(_kinds())}")
    return registry_of(given).connector_class(contract, name)


def _scheme_aliases(aliases: Mapping[str, str]) -> Mapping[str, str]:
    """Refuses to take apart what is the same: paths of one place would no longer compare as equal (S3)."""
    for alias, scheme in aliases.items():
        known = SCHEME_ALIASES.get(alias.lower())
        if known is not None and known != SCHEME_ALIASES.get(scheme.lower(), scheme.lower()):
            raise ConfigurationError(f"--scheme-alias {alias}={scheme}: {alias} is always the same as {known}")
    return aliases


# ---- engine -------------------------------------------------------------------------------------------
def open_engine(given: Given) -> Engine:
    """The engine that was asked for; what it runs on is imported only now.

    Raises:
        ConfigurationError: what it runs on is not installed, or an option of the other engine was given.
    """
    if given.text("engine") == "local":
        from nessie_gc_core.engines.local import LocalEngine

        _refuse_on_command_line(given, "local", "spark_master", "spark_conf")
        limit = given.text("memory_limit")
        more = {"memory_limit": limit} if limit is not None else {}
        return LocalEngine(workers=given.number("expiry_parallelism") or 1, **more)
    from nessie_gc_core.engines.spark import SparkEngine

    _refuse_on_command_line(given, "spark", "memory_limit")
    if given.rank("expiry_parallelism"):
        log.warning("--expiry-parallelism is ignored: Spark's master says how many workers there are")
    return SparkEngine(master=given.text("spark_master"), conf=given.pairs("spark_conf"))


def _refuse_on_command_line(given: Given, engine: str, *names: str) -> None:
    for name in names:
        if given.rank(name) == 3:
            raise click.UsageError(f"{option_name(name)} does nothing with --engine {engine}")


# ---- shared -------------------------------------------------------------------------------------------
def _option_names(connector: type[Connector]) -> dict[str, object]:
    return {field.name: field for field in dataclasses.fields(connector.Options)}


def _table(given: Given, contract: type[Connector], table: Mapping[str, OptionValue], default: str) -> Options:
    """The options of a table of the file, which are right for the connector that it names, used or not (S27).

    Raises:
        ConfigurationError: the connector is installed, and has no such option.
    """
    options = {key: value for key, value in table.items() if key != "name"}
    name = str(table.get("name", default))
    connector = registry_of(given).connectors(contract).get(name)
    if connector is not None:
        try:
            connector.Options.typed(options)
        except ConfigurationError as error:
            raise ConfigurationError(f"{KINDS[contract][0]} {name!r}: {error}") from error
    return options


def _checked(spec: ConnectorSpec, connector: type[Connector]) -> ConnectorSpec:
    """The spec, once its options are known to be right; the error names the connector."""
    try:
        connector.Options.from_mapping(spec.options)
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.kind} {spec.name!r}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{spec.kind} {spec.name!r}: its options do not fit: {error}") from error
    return spec
