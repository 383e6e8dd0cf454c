"""Checks an installation and its configuration: reaches everything, and touches nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from nessie_gc_core.algorithms.expand import one_line
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import NessieGcError, PluginError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.locations import with_slash
from nessie_gc_core.model.repository import ICEBERG_TABLE, ICEBERG_VIEW
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.plugins.registry import installed
from nessie_gc_core.services.sweep import check_executors

T = TypeVar("T")

_TASKS = 64
"""Over how many tasks the question for the plugins is dealt, to meet every executor."""
_NUMBERS = pa.schema([pa.field("number", pa.int64(), nullable=False)])
_PLUGINS = pa.schema([pa.field("plugins", pa.string(), nullable=False)])


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found."""

    name: str
    passed: bool
    detail: str
    """What was found; where the check failed, what to do."""


def checked(name: str, check: Callable[[], str]) -> CheckResult:
    """Runs one check; what it raises is its failure."""
    try:
        return CheckResult(name=name, passed=True, detail=check())
    except Exception as error:  # noqa: BLE001 - a check that fails never stops the others
        said = str(error) if isinstance(error, NessieGcError) else f"{type(error).__name__}: {one_line(error)}"
        return CheckResult(name=name, passed=False, detail=" ".join(said.split()))


def check_plugins(registry: PluginRegistry) -> str:
    """Whether all plugins could be loaded, and somebody reads Iceberg."""
    broken = [f"{plugin.name} ({plugin.error})" for plugin in registry.plugins if plugin.error]
    if broken:
        raise PluginError(f"broken: {', '.join(broken)}; repair or uninstall")
    unread = [type_ for type_ in (ICEBERG_TABLE, ICEBERG_VIEW) if registry.reader_of(type_) is None]
    if unread:
        raise PluginError(f"no plugin reads {' and '.join(unread)}: pip install nessie-gc-iceberg-files")
    return ", ".join(f"{plugin.distribution} {plugin.version}" for plugin in registry.plugins)


def _first(stream: Iterator[T]) -> T | None:
    """The first of a stream, which is closed."""
    try:
        return next(stream, None)
    finally:
        if isinstance(stream, Generator):
            stream.close()


def check_repository(open_repository: Callable[[], RepositoryConnector]) -> str:
    """Whether the repository lists its references."""
    with open_repository() as repository:
        return f"{repository.address()} has {sum(1 for _ in repository.references())} references"


def check_store(open_store: Callable[[], LiveSetStore]) -> str:
    """Whether the store answers."""
    with open_store() as store:
        newest = _first(store.live_sets())
        return "it has no live set yet" if newest is None else f"its newest live set is {newest.id}, {newest.status}"


def check_location(choice: ConnectorChoice, location: str) -> str:
    """Whether a location can be listed, and its scheme deleted from; only the first file is asked for."""
    with OpenConnectors(choice) as connectors:
        connectors.deleter(location)
        first = _first(connectors.lister(location).list_files(with_slash(location)))
    return "it is empty" if first is None else f"it has files, such as {first.path}"


def check_engine(engine: Engine, registry: PluginRegistry) -> str:
    """Whether the engine's workers have the plugins that this process has."""
    numbers = engine.dataset(to_batches(((number,) for number in range(_TASKS)), _NUMBERS), _NUMBERS)
    found = numbers.spread(["number"]).flat_map(_PluginsHere()).distinct(["plugins"]).summary()
    mine = _shown(registry)
    others = [text for text in found.column("plugins").to_pylist() if text != mine]
    if others:
        raise PluginError(f"workers have other plugins ({others[0]}) than this process ({mine}); install the same ones")
    return f"{engine.name} runs, and its workers have the same plugins"


def check_connectors(engine: Engine, choice: ConnectorChoice, locations: Iterable[str]) -> None:
    """Refuses listers and deleters that do not work on the engine's workers."""
    with OpenConnectors(choice) as connectors:
        for location in locations:
            check_executors(engine, type(connectors.lister(location)), type(connectors.deleter(location)))


class _PluginsHere:
    """Says which plugins the process has that runs it."""

    schema = _PLUGINS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: Iterator[Row] = ((_shown(installed()),) for batch in batches if batch.num_rows)
        yield from to_batches(itertools.islice(rows, 1), self.schema)


def _shown(registry: PluginRegistry) -> str:
    return ", ".join(
        f"{plugin.distribution} {plugin.version}" + (" (broken)" if plugin.error else "") for plugin in registry.plugins
    )
