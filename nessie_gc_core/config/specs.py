"""From settings to connectors: which ones a run uses, and with which options."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import timedelta

from platformdirs import user_data_path

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.config.environment import connector_options, connector_variable
from nessie_gc_core.config.file import DEFAULT_REPOSITORY, RepositoryEntry
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.property_names import FILE_PROPERTIES, check_names, check_options
from nessie_gc_core.config.settings import FileSettings, PluginSettings, RepositorySettings, StoreSettings
from nessie_gc_core.connectors import Connector, LiveSetStore, RepositoryConnector
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.locations import SCHEME_ALIASES
from nessie_gc_core.model.options import ConnectorSpec, OptionValue
from nessie_gc_core.model.urls import without_secrets
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry

Options = dict[str, OptionValue]

JDBC = "jdbc"
"""The default store, in a database."""
MEMORY = "memory"
"""The store of ``inmemory``, which ends with its process."""
WELL_KNOWN: Mapping[str, str] = {
    "uri": "uri",
    "nessie_option": "nessie_options",
    "token": "token",
    "tls_ca": "tls_ca_file",
    "tls_verify": "tls_verify",
    "connect_timeout": "connect_timeout_seconds",
    "read_timeout": "read_timeout_seconds",
}
"""Our setting to the name that a repository connector gives the option with this meaning."""
DATABASE: Mapping[str, str] = {
    "jdbc_url": "url",
    "jdbc_user": "user",
    "jdbc_password": "password",
    "jdbc_properties": "properties",
    "jdbc_fetch_size": "fetch_size",
    "jdbc_pool_max_size": "pool_max_size",
    "jdbc_schema": "schema",
}
"""Our setting to the name of the option of the store in a database."""


# ---- repository ---------------------------------------------------------------------------------------
def repository_specs(given: Given, registry: PluginRegistry) -> list[ConnectorSpec]:
    """The repository with its options; of several ``[[repositories]]`` all, the one that is chosen first.

    Raises:
        ConfigurationError: there is no such connector, or it has no such option, or a setting is not that of one of
            several repositories.
    """
    if not given.file.repositories:
        return [_repository_spec(given, registry)]
    _refuse_for_several(given, registry)
    return [_entry_spec(entry, given, registry) for entry in repositories_in_order(given)]


def repositories_in_order(given: Given) -> list[RepositoryEntry]:
    """The ``[[repositories]]``, the one that is chosen first."""
    chosen = chosen_repository(given)
    return sorted(given.file.repositories, key=lambda entry: entry.label != chosen)


def chosen_repository(given: Given) -> str | None:
    """The label of the one of several ``[[repositories]]`` that is worked on; ``None``: all alike, or there is one.

    Raises:
        ConfigurationError: none has this label.
    """
    labels = [entry.label for entry in given.file.repositories]
    chosen = given.settings(RepositorySettings).repository if labels else None
    if chosen is not None and chosen not in labels:
        raise ConfigurationError(
            f"`repository` {chosen!r} is not the label of one of the [[repositories]]: {', '.join(labels)}"
        )
    return chosen


def _refuse_for_several(given: Given, registry: PluginRegistry) -> None:
    """Refuses settings of a repository that do not say which of several they belong to (S27)."""
    for setting in (*WELL_KNOWN, "repository_option"):
        if given.rank(setting):
            raise ConfigurationError(
                f"`{setting}` is ambiguous: there are several [[repositories]]; set it in the right one"
            )
    for connector in registry.connectors(RepositoryConnector).values():
        for name in connector_options("repository", _option_names(connector), given.environment):
            variable = connector_variable("repository", name)
            raise ConfigurationError(
                f"the environment variable {variable} is ambiguous: there are several [[repositories]]; put the label "
                f"of the right one into it: {connector_variable('repositories_LABEL', name)}"
            )


def _entry_spec(entry: RepositoryEntry, given: Given, registry: PluginRegistry) -> ConnectorSpec:
    """One of several repositories, with the options of its entry and of the environment."""
    connector = registry.connector_class(RepositoryConnector, entry.name)
    known = _option_names(connector)
    options: Options = dict(entry.options)
    options.update(connector_options(entry.section, known, given.environment))
    if "token" in options and "authentication" in known:
        options.setdefault("authentication", "bearer")
    try:
        return _checked(ConnectorSpec(kind="repository", name=entry.name, options=options), connector, registry)
    except ConfigurationError as error:
        raise ConfigurationError(f"[[repositories]] {entry.label!r}: {error}") from error


def _repository_spec(given: Given, registry: PluginRegistry) -> ConnectorSpec:
    settings, table = given.settings(RepositorySettings), given.file.repository
    name = settings.repository or str(table.get("name", DEFAULT_REPOSITORY))
    connector = registry.connector_class(RepositoryConnector, name)
    known = _option_names(connector)
    options: Options = {}
    in_file = _table(registry, RepositoryConnector, table, DEFAULT_REPOSITORY)
    if settings.repository is None or name == table.get("name", DEFAULT_REPOSITORY):
        options.update(in_file)
    options.update(connector_options("repository", known, given.environment))
    for ours, theirs in WELL_KNOWN.items():
        value = _plain(getattr(settings, ours))
        if value in (None, {}) or not given.rank(ours):
            continue
        if theirs not in known:
            raise ConfigurationError(f"the repository {name!r} has no option {theirs!r}; remove `{ours}`")
        options[theirs] = value
    options.update(settings.repository_option)
    if given.rank("token") and "authentication" in known:
        options.setdefault("authentication", "bearer")
    return _checked(ConnectorSpec(kind="repository", name=name, options=options), connector, registry)


def _plain(value: object) -> OptionValue:
    """A setting's value as a connector takes it: durations in seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    assert value is None or isinstance(value, (str, int, float, bool, Mapping))
    return value


# ---- store --------------------------------------------------------------------------------------------
def chosen_store(given: Given) -> tuple[str | None, str | None]:
    """The strongest setting that names a live-set store, and the name of that store; ``None``: no setting does.

    Raises:
        ConfigurationError: two settings of one source name different stores.
    """
    settings = given.settings(StoreSettings)
    names = {
        "inmemory": MEMORY if settings.inmemory else None,
        "store": settings.store,
        "jdbc": JDBC if settings.jdbc else None,
        "jdbc_url": JDBC if settings.jdbc_url else None,
    }
    named = [setting for setting, name in names.items() if name is not None]
    strongest = max(map(given.rank, named), default=Rank.DEFAULT)
    said = [setting for setting in named if given.rank(setting) is strongest]
    for other in said[1:]:
        if names[other] != names[said[0]]:
            raise ConfigurationError(f"`{said[0]}` and `{other}` are mutually exclusive")
    return (said[0], names[said[0]]) if said else (None, None)


def store_spec(given: Given, registry: PluginRegistry) -> ConnectorSpec:
    """The live-set store with its options; by default an SQLite file in the user's data folder.

    Raises:
        ConfigurationError: there is no such connector, it has no such option, or two settings are mutually exclusive.
    """
    settings, table = given.settings(StoreSettings), given.file.store
    setting, chosen = chosen_store(given)
    in_table = str(table.get("name", JDBC))
    name = chosen or in_table
    connector = registry.connector_class(LiveSetStore, name)
    options: Options = dict(connector_options("store", _option_names(connector), given.environment))
    in_file = _table(registry, LiveSetStore, table, JDBC)
    if name == in_table:
        options = {**in_file, **options}
    if name == JDBC:
        ours = {theirs: _plain(getattr(settings, name)) for name, theirs in DATABASE.items()}
        options.update({theirs: value for theirs, value in ours.items() if value})
    else:
        _refuse_of_database(given, name, given.rank(setting) if setting is not None else Rank.FILE)
    options.update(settings.store_option)
    if name == JDBC and "url" not in options:
        options["url"] = f"sqlite:///{_default_database()}"  # its tables are made on first use
    return _checked(ConnectorSpec(kind="live-set-store", name=name, options=options), connector, registry)


def shown_store(spec: ConnectorSpec) -> str:
    """A store as messages name it: a database by its address, without anything that may be secret."""
    url = spec.options.get("url")
    if spec.name != JDBC or not isinstance(url, str):
        return f"the store {spec.name!r}"
    try:
        return f"the database {without_secrets(url.strip())}"
    except ValueError:
        return "the database of `jdbc-url`"


def _refuse_of_database(given: Given, name: str, rank: Rank) -> None:
    """Refuses options of a database that are as strong as the choice of another store; weaker ones do not count."""
    for setting in DATABASE:
        if setting != "jdbc_url" and given.rank(setting) >= rank:
            raise ConfigurationError(f"`{setting}` has no effect with the live-set store {name!r}; remove it")


def _default_database() -> str:
    folder = user_data_path("nessie-gc")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NessieGcError(f"cannot create {folder} ({error.strerror}); name a database with `jdbc_url`") from error
    return str(folder / "live-sets.db")


# ---- files --------------------------------------------------------------------------------------------
def connector_choice(given: Given, plugins: PluginRegistry) -> ConnectorChoice:
    """Readers, listers and deleters with their options.

    Args:
        given: the settings.
        plugins: all plugins, also those that the settings disable.

    Raises:
        ConfigurationError: one of them is not installed, or has no such option, or an alias makes no sense.
    """
    settings, disabled = given.settings(FileSettings), given.settings(PluginSettings)
    registry = plugins.without(disabled.disable_plugin)
    options: dict[tuple[str, str], Options] = {
        connector: dict(values) for connector, values in given.file.connectors.items()
    }
    for text in settings.connector_option:
        kind, name, key, value = _connector_option(text)
        options.setdefault((kind, name), {})[key] = value
    for (kind, name), values in options.items():
        spec = ConnectorSpec(kind=kind, name=name, options=values)
        _checked(spec, _connector(registry, kind, name), registry)
    check_file_properties(settings.iceberg, registry)
    choice = ConnectorChoice(
        plugins=plugins,
        options=options,
        properties=settings.iceberg,
        lister=settings.lister,
        deleter=settings.deleter,
        scheme_aliases=_scheme_aliases(settings.scheme_alias),
        read_ahead=settings.read_ahead,
        authority_aliases=settings.authority_alias,
        path_aliases=settings.path_alias,
        disabled_plugins=tuple(disabled.disable_plugin),
        required_plugins=tuple(disabled.required_plugins),
    )
    choice.check_plugins()
    return choice


def check_file_properties(properties: Mapping[str, str], registry: PluginRegistry) -> None:
    """Refuses properties of stores whose names are misspelt.

    Raises:
        ConfigurationError: the message shows the name, and never a value.
    """
    try:
        check_names(properties, registry)
    except ConfigurationError as error:
        raise ConfigurationError(f"`{FILE_PROPERTIES}`: {error}") from None


def _connector_option(text: str) -> tuple[str, str, str, str]:
    target, equals, value = text.partition("=")
    parts = target.split(":")
    if not equals or len(parts) != 3 or not all(parts):
        raise ConfigurationError(
            "`connector_option` does not have the form KIND:NAME:KEY=VALUE (its text is not shown); "
            f"the kinds are {', '.join(_kinds())}"
        )
    return parts[0], parts[1], parts[2], value


def _kinds() -> Iterable[str]:
    own = {"repository", "live-set-store"}  # these have options of their own
    return [kind for kind, _ in KINDS.values() if kind not in own]


def _connector(registry: PluginRegistry, kind: str, name: str) -> type[Connector]:
    contract = next((contract for contract, (known, _) in KINDS.items() if known == kind), None)
    if contract is None or kind not in _kinds():
        raise ConfigurationError(f"unknown kind of connector {kind!r}; the kinds are {', '.join(_kinds())}")
    return registry.connector_class(contract, name)


def _scheme_aliases(aliases: Mapping[str, str]) -> Mapping[str, str]:
    """Refuses to take apart what is the same: paths of one place would no longer compare as equal (S3)."""
    for alias, scheme in aliases.items():
        known = SCHEME_ALIASES.get(alias.lower())
        if known is not None and known != SCHEME_ALIASES.get(scheme.lower(), scheme.lower()):
            raise ConfigurationError(f"`scheme_alias` {alias}={scheme}: {alias} always means {known}")
    return aliases


# ---- shared -------------------------------------------------------------------------------------------
def _option_names(connector: type[Connector]) -> dict[str, object]:
    return {field.name: field for field in dataclasses.fields(connector.Options)}


def _table(
    registry: PluginRegistry, contract: type[Connector], table: Mapping[str, OptionValue], default: str
) -> Options:
    """The options of a table of the file, which are right for the connector that it names, used or not (S27).

    Raises:
        ConfigurationError: the connector is installed, and has no such option.
    """
    options = {key: value for key, value in table.items() if key != "name"}
    name = str(table.get("name", default))
    connector = registry.connectors(contract).get(name)
    if connector is not None:
        try:
            connector.Options.typed(options)
            check_options(connector, options, registry)
        except ConfigurationError as error:
            raise ConfigurationError(f"{KINDS[contract][0]} {name!r}: {error}") from error
    return options


def _checked(spec: ConnectorSpec, connector: type[Connector], registry: PluginRegistry) -> ConnectorSpec:
    """The spec, once its options are known to be right; the error names the connector."""
    try:
        connector.Options.from_mapping(spec.options)
        check_options(connector, spec.options, registry)
    except ConfigurationError as error:
        raise ConfigurationError(f"{spec.kind} {spec.name!r}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{spec.kind} {spec.name!r}: its options do not fit: {error}") from error
    return spec
