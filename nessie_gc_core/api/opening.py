"""Opens what the settings name: repository, store, engine, plugins."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.property_names import warnings_of_names
from nessie_gc_core.config.settings import COMMAND_LINE_ONLY, SETTINGS, EngineName, EngineSettings
from nessie_gc_core.config.specs import (
    chosen_repository,
    connector_choice,
    repositories_in_order,
    repository_specs,
    store_spec,
)
from nessie_gc_core.config.vending import Vending, Vendor
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector, SupportsStorageCredentials, TableCatalog
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


def setting_groups(plugins: PluginRegistry) -> list[type[ConnectorOptions]]:
    """All settings, and the parameters of all installed services."""
    return [*SETTINGS, *(service.Parameters for service in plugins.services.by_name().values())]


def known_settings(groups: Iterable[type[ConnectorOptions]]) -> frozenset[str]:
    """The names of settings, and those that only the command line has."""
    return frozenset(field.name for group in groups for field in fields(group)) | COMMAND_LINE_ONLY


def open_choice(given: Given, plugins: PluginRegistry) -> ConnectorChoice:
    """The connectors that the settings choose.

    Raises:
        ConfigurationError: one of them is not installed, or has no such option, or an alias is invalid.
    """
    return connector_choice(given, plugins)


def doubts_of(choice: ConnectorChoice, given: Given) -> tuple[str, ...]:
    """What is probably not meant in the settings of connectors; logged, since not every report has warnings.

    Settings that are wrong are left to whoever opens the connector.
    """
    try:
        specs = repository_specs(given, choice.registry())
        labels = [f"[[repositories]] {entry.label!r}" for entry in repositories_in_order(given)]
        said = labels or [f"{spec.kind} {spec.name!r}" for spec in specs]
        found = tuple(warnings_of_names(choice, dict(zip(said, specs, strict=True))))
    except NessieGcError as error:
        log.debug("the names of properties are not looked at: %s", error)
        return ()
    for doubt in found:
        log.warning("%s", doubt)
    return found


def with_vending(choice: ConnectorChoice, given: Given) -> ConnectorChoice:
    """The same for one run, with the repositories whose credentials are to be used.

    Settings that are wrong for a repository are left to whoever opens it.
    """
    registry = choice.registry()
    vendors = [*_vendors(given, registry)]
    if not vendors:
        return choice
    vending = Vending(vendors)
    vending.registry = registry
    return replace(choice, vending=vending)


def _vendors(given: Given, registry: PluginRegistry) -> Iterator[Vendor]:
    try:
        specs = [*repository_specs(given, registry)]
    except NessieGcError as error:
        log.debug("no repository gives credentials: %s", error)
        return
    for spec in specs:
        try:
            if not issubclass(registry.connector_class(RepositoryConnector, spec.name), SupportsStorageCredentials):
                continue
            with registry.open(RepositoryConnector, spec) as repository:  # opens no connection
                uses = frozenset(cast("SupportsStorageCredentials", repository).credential_uses())
        except NessieGcError as error:
            log.debug("the repository %r gives no credentials: %s", spec.name, error)
            continue
        if uses:
            yield Vendor(spec=spec, uses=uses)


def open_resources(given: Given, registry: PluginRegistry, spark: SparkSession | None = None) -> Resources:
    """The repositories, the store and the engine that the settings name; each is opened on first use.

    Args:
        given: the settings.
        registry: the plugins that are not disabled.
        spark: a session to run on, which stays open.
    """
    count = len(given.file.repositories) or 1
    first, *others = (partial(_open_repository, given, registry, number) for number in range(count))
    return Resources(
        repository=first,
        others=others,
        chosen=count == 1 or chosen_repository(given) is not None,
        store=lambda: registry.open(LiveSetStore, store_spec(given, registry)),
        engine=lambda: open_engine(given, spark),
        tables=partial(open_tables, given, registry),
    )


def _open_repository(given: Given, registry: PluginRegistry, number: int) -> RepositoryConnector:
    return registry.open(RepositoryConnector, repository_specs(given, registry)[number])


def engine_name(given: Given, spark: SparkSession | None = None) -> EngineName:
    """The engine that was asked for; if none was and only DuckDB is installed, the local one."""
    asked = spark is not None or any(given.rank(name) for name in ("engine", "spark_master", "spark_conf"))
    if asked or find_spec("pyspark") is not None or find_spec("duckdb") is None:
        return given.settings(EngineSettings).engine
    return EngineName.LOCAL


def starts_slowly(given: Given, spark: SparkSession | None = None) -> bool:
    """Whether the engine is one that takes seconds to start; false if what was asked for makes no sense."""
    try:
        return engine_name(given, spark) is EngineName.SPARK
    except ConfigurationError:  # said by whoever opens it
        return False


def open_engine(given: Given, spark: SparkSession | None = None) -> Engine:
    """The requested engine; its libraries are imported only now.

    Raises:
        ConfigurationError: a library is not installed, or a setting of the other engine was given.
    """
    settings = given.settings(EngineSettings)
    chosen = engine_name(given, spark)
    if chosen is not settings.engine:
        log.warning("PySpark is not installed, so this process does the work (`engine` %s)", chosen.value)
    if chosen is EngineName.LOCAL:
        from nessie_gc_core.engines.local import LocalEngine

        if spark is not None:
            raise ConfigurationError("a Spark session cannot be used with `engine` local; leave one of them out")
        _refuse(given, "local", "spark_master", "spark_conf")
        more = {"memory_limit": settings.memory_limit} if settings.memory_limit is not None else {}
        return LocalEngine(workers=settings.expiry_parallelism, **more)
    from nessie_gc_core.engines.spark import SparkEngine

    _refuse(given, "spark", "memory_limit")
    if given.rank("expiry_parallelism"):
        log.warning("`expiry_parallelism` is ignored: Spark's master sets the number of workers")
    if spark is not None:
        _refuse(given, "spark and your own session", "spark_master", "spark_conf")
    return SparkEngine(spark, master=settings.spark_master, conf=settings.spark_conf)


@contextmanager
def open_tables(
    given: Given, registry: PluginRegistry, engine: Engine, catalog: str, branch: str | None
) -> Iterator[Tables]:
    """The tables of a catalog, from the Spark session or from a plugin.

    Raises:
        ConfigurationError: there is no catalog with this name, or no such plugin.
    """
    if engine.name == EngineName.SPARK.value:
        from nessie_gc_core.engines.spark.engine import SparkEngine
        from nessie_gc_core.engines.spark.tables import SparkTables

        assert isinstance(engine, SparkEngine)
        yield SparkTables(engine, catalog, branch=branch)
        return
    from nessie_gc_core.engines.local.tables import LocalTables

    opener = connector_choice(given, registry).open(TableCatalog, given.settings(EngineSettings).table_catalog)
    with opener, opener.open(catalog, branch=branch) as opened:
        yield LocalTables(engine, opened)


def _refuse(given: Given, engine: str, *names: str) -> None:
    for name in names:
        if given.rank(name) is Rank.CALLER:
            raise ConfigurationError(f"`{name}` has no effect with `engine` {engine}; leave it out")
