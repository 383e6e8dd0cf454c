"""Which connectors a run uses and with which options, and the set of them that is open in one task."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from nessie_gc_core.config.kept_connectors import KEPT, Credentials
from nessie_gc_core.config.meter import METER
from nessie_gc_core.config.vending import Vending
from nessie_gc_core.connectors import Connector, ContentToFiles, FileDeleter, FileLister, SupportsTraffic
from nessie_gc_core.errors import ConfigurationError, PluginError, UnknownLocationError
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.credentials import CredentialUse
from nessie_gc_core.model.locations import SCHEME_ALIASES, LocationRules, scheme_of
from nessie_gc_core.model.options import ConnectorSpec, OptionValue
from nessie_gc_core.plugins import PluginSet
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry, described, installed

C = TypeVar("C", bound=Connector)

READ_AHEAD = 64
"""How many files a process reads at once from a store that answers over a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorChoice:
    """How readers, listers and deleters are found and configured.

    Travels to executors, and takes along which plugins the process has that sends it: they decide nothing without
    the same ones (S26).
    """

    options: Mapping[tuple[str, str], Mapping[str, OptionValue]] = field(default_factory=dict, repr=False)
    """Kind and connector name to its options."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """File-system properties (``-I``), given to every connector that has an option ``properties``."""
    lister: str | None = None
    """Name of the lister to prefer if several claim a scheme."""
    deleter: str | None = None
    """Name of the deleter to prefer if several claim a scheme."""
    scheme_aliases: Mapping[str, str] = field(default_factory=dict)
    """More URI schemes and what they are the same as."""
    authority_aliases: Mapping[str, str] = field(default_factory=dict)
    """Authorities and what they are the same as, such as an access point and its bucket."""
    path_aliases: Mapping[str, str] = field(default_factory=dict)
    """Locations and what they are the same as, such as a gateway's mount and the bucket behind it."""
    read_ahead: int | None = None
    """How many files a process reads at once; ``None``: as many as fits the store."""
    disabled_plugins: tuple[str, ...] = ()
    """Plugins (entry points or distributions) to ignore: no hook is called, no connector is found."""
    required_plugins: tuple[str, ...] = ()
    """Plugins (entry points or distributions) that are required for a run."""
    vending: Vending | None = field(default=None, repr=False, compare=False)
    """The repositories whose credentials readers, listers and deleters use."""
    plugins: PluginRegistry = field(default_factory=installed, repr=False, compare=False)
    """All plugins of this process, the disabled ones included. They stay behind: a worker has its own."""
    sent_with: PluginSet | None = field(default=None, repr=False, compare=False)
    """The plugins of the process that sent this one; ``None`` where it never travelled."""

    def __reduce__(self) -> tuple[Callable[[dict[str, Any]], ConnectorChoice], tuple[dict[str, Any]]]:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "plugins"}
        values["sent_with"] = self.sent_with or self.registry().plugin_set()
        return (_arrived, (values,))

    @property
    def is_of_installed(self) -> bool:
        """Whether a worker process finds the same connectors: no program registered one, and none asks a repository."""
        return self.plugins is installed() and self.vending is None

    def reads_at_once(self, raw: str) -> int:
        """How many files such as this one a process reads at once: many over a network, one from a disk."""
        if self.read_ahead is not None:
            return self.read_ahead
        return 1 if scheme_of(raw) == "file" else READ_AHEAD

    def registry(self) -> PluginRegistry:
        """The registry of this process without the disabled plugins."""
        return self.plugins.without(self.disabled_plugins)

    def lacking_plugin(self) -> str | None:
        """Why this process must not decide about a file: it lacks a plugin of the one that sent this (S26)."""
        return self.sent_with.lacking_in(self.registry().plugin_set()) if self.sent_with is not None else None

    def check_plugins(self, *, deletes: bool = False) -> None:
        """Refuses names of plugins and connectors that are not installed, and to delete with a plugin that is broken.

        Raises:
            PluginError: the message names the plugin or connector, and says what to do.
            ConfigurationError: there is no such kind of connector.
        """
        self.plugins.check_named(self.disabled_plugins, setting="disable_plugin")
        registry = self.registry()
        registry.check_named(self.required_plugins, setting="required_plugins", working=True)
        self._check_connectors(registry)
        if deletes and registry.broken:
            plugin = registry.broken[0]
            raise PluginError(
                f"the plugin {plugin.name!r} ({plugin.origin}) is broken ({plugin.error}), and nothing is deleted "
                f"while it may have a veto: repair it, uninstall it, or add `disable_plugin` {plugin.name!r}"
            )

    def _check_connectors(self, registry: PluginRegistry) -> None:
        """A misspelt one would be passed over, and another one take its place (S27)."""
        kinds = {kind: contract for contract, (kind, _) in KINDS.items()}
        for kind, name in self.options:
            if kind not in kinds:
                raise ConfigurationError(f"unknown kind of connector {kind!r}; the kinds are {', '.join(kinds)}")
            registry.connector_class(kinds[kind], name)
        for contract, preferred in ((FileLister, self.lister), (FileDeleter, self.deleter)):
            if preferred is not None:
                registry.connector_class(contract, preferred)

    def with_aliases(self, *, schemes: Mapping[str, str], authorities: Mapping[str, str]) -> ConnectorChoice:
        """The same, and more schemes and authorities that mean the same as others; commas part several in a key."""
        return replace(
            self,
            scheme_aliases={**self.scheme_aliases, **_one_by_one(schemes)},
            authority_aliases={**self.authority_aliases, **_one_by_one(authorities)},
        )

    def rules(self) -> LocationRules:
        """How raw locations become canonical: known aliases, schemes of installed listers, configuration."""
        registry = self.registry()
        own = {scheme: SCHEME_ALIASES.get(scheme, scheme) for scheme in registry.schemes()}
        claimed = registry.schemes(fallback=False)  # what the configuration declares comes before a fallback
        configured = {key.lower(): value.lower() for key, value in self.scheme_aliases.items()}
        aliases = {**own, **configured, **SCHEME_ALIASES}
        scheme_aliases = {alias: _end(alias, aliases) for alias in aliases}
        rules = LocationRules(
            scheme_aliases=scheme_aliases,
            declared_schemes={alias: scheme_aliases[alias] for alias in configured if alias not in claimed},
            authority_aliases={alias: _end(alias, self.authority_aliases) for alias in self.authority_aliases},
        )
        return replace(rules, path_aliases=_path_aliases(self.path_aliases, rules))

    def spec(self, connector: type[Connector]) -> ConnectorSpec:
        """The spec of a connector class with its options of this run."""
        kind = next(kind for contract, (kind, _) in KINDS.items() if issubclass(connector, contract))
        options: dict[str, OptionValue] = {}
        if self.properties and any(f.name == "properties" for f in dataclasses.fields(connector.Options)):
            options["properties"] = self.properties
        options.update(self.options.get((kind, connector.name), {}))
        return ConnectorSpec(kind=kind, name=connector.name, options=options)

    def open(self, contract: type[C], name: str) -> C:
        """Makes a connector by its name, with its options of this run.

        Raises:
            PluginError: there is no such connector, or two plugins claim its name.
            ConfigurationError: its options are wrong.
        """
        connector = self.registry().connector_class(contract, name)
        return connector.from_options(self.spec(connector).options)


def _one_by_one(aliases: Mapping[str, str]) -> dict[str, str]:
    return {alias.strip(): same for names, same in aliases.items() for alias in names.split(",") if alias.strip()}


def _path_aliases(aliases: Mapping[str, str], rules: LocationRules) -> dict[str, str]:
    """Aliases of locations by their canonical forms.

    Raises:
        ConfigurationError: one of them is not a location, or they form a circle.
    """
    try:
        canonical = {rules.canonical_prefix(alias): rules.canonical_prefix(name) for alias, name in aliases.items()}
    except UnknownLocationError as error:
        raise ConfigurationError(f"`path_alias`: {error}") from error
    for alias in canonical:
        _end(alias, canonical)  # a circle is an error
    return canonical


def _arrived(values: dict[str, Any]) -> ConnectorChoice:
    choice = ConnectorChoice(**values)
    if choice.vending is not None:
        choice.vending.registry = choice.registry()
    return choice


def _end(alias: str, aliases: Mapping[str, str]) -> str:
    """Where a chain of aliases ends, so that everything in it compares as equal (S3).

    Raises:
        ConfigurationError: the chain is a circle.
    """
    name, passed = alias, {alias}
    while (target := aliases.get(name, name)) != name:
        if target in passed:
            raise ConfigurationError(f"the aliases of {alias!r} form a cycle; remove one of them")
        passed.add(target)
        name = target
    return name


class OpenConnectors(Closing):
    """The readers, listers and deleters that one task uses, in one thread or in several.

    Each is taken on first use from those that the process keeps, and given back when this is closed; of readers that
    are not shareable there is one for every thread that reads at the same time.
    """

    def __init__(self, choice: ConnectorChoice, registry: PluginRegistry | None = None) -> None:
        self._choice = choice
        self._registry = registry if registry is not None else choice.registry()
        self._open: dict[type[Connector], Connector] = {}
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def close(self) -> None:
        """Closes all that are open."""
        self._stack.close()

    @contextmanager
    def reader(self, content_type: str) -> Iterator[ContentToFiles]:
        """A reader of a content type, for this thread alone unless it is shareable.

        Raises:
            PluginError: no installed plugin reads it, or two claim it.
        """
        connector = self._registry.reader_of(content_type)
        if connector is None:
            raise PluginError(f"no installed plugin reads contents of type {content_type}")
        with self._alone(connector) as reader, _counted(reader):
            yield reader

    @contextmanager
    def _alone(self, connector: type[C]) -> Iterator[C]:
        """A connector for this thread alone, unless it is shareable."""
        if connector.shareable:
            yield self._get(connector)
            return
        self._check_sameness(connector)
        with KEPT.used(connector, self._choice.spec(connector).options, self._credentials(connector)) as taken:
            yield taken

    def reader_named(self, name: str) -> ContentToFiles:
        """The reader with this name.

        Raises:
            PluginError: it is not installed.
        """
        return self._get(self._registry.connector_class(ContentToFiles, name))

    def lister(self, location: str) -> FileLister:
        """The lister of a raw location, for the thread that runs the task.

        Raises:
            PluginError: no installed plugin lists its scheme, or two claim it.
        """
        return self._get(self._lister(location))

    @contextmanager
    def lister_alone(self, location: str) -> Iterator[FileLister]:
        """The lister of a raw location, for this thread alone unless it is shareable.

        Raises:
            PluginError: as for :meth:`lister`.
        """
        with self._alone(self._lister(location)) as lister, _counted(lister):
            yield lister

    def _lister(self, location: str) -> type[FileLister]:
        scheme = scheme_of(location)
        connector = self._registry.for_scheme(FileLister, scheme, preferred=self._choice.lister)
        if connector is None:
            raise PluginError(self._registry.missing_scheme(scheme))
        return connector

    def deleter(self, location: str) -> FileDeleter:
        """The deleter of a raw location.

        Raises:
            PluginError: no installed plugin deletes from its scheme, or two claim it.
        """
        scheme = scheme_of(location)
        connector = self._registry.for_scheme(FileDeleter, scheme, preferred=self._choice.deleter)
        if connector is None:
            raise PluginError(self._registry.missing_scheme(scheme))
        return self._get(connector)

    def _get(self, connector: type[C]) -> C:
        with self._lock:
            if connector not in self._open:
                self._check_sameness(connector)
                used = KEPT.used(connector, self._choice.spec(connector).options, self._credentials(connector))
                self._open[connector] = self._stack.enter_context(used)
                self._stack.enter_context(_counted(self._open[connector]))
            return cast("C", self._open[connector])

    def _credentials(self, connector: type[Connector]) -> Credentials | None:
        """What a connector asks for credentials; ``None``: nothing, it has those of its options."""
        vending = self._choice.vending
        use = CredentialUse.READ if issubclass(connector, ContentToFiles) else CredentialUse.COLLECT
        source = vending.source(use) if vending is not None else None
        if vending is None or source is None:
            return None
        for repository in vending.connectors():
            self._check_sameness(repository)
        return Credentials(f"{vending.key}:{use}", source)

    def _check_sameness(self, connector: type[Connector]) -> None:
        """Refuses a connector that is not the one of the process that sent the choice (S26), or has its state there."""
        sent = self._choice.sent_with
        if sent is not None:
            if not connector.executor_safe:
                raise PluginError(f"{connector.name!r} works in one process only")
            problem = sent.lacking_for(described(connector), self._registry.plugin_set())
            if problem is not None:
                raise PluginError(problem)


@contextmanager
def _counted(connector: Connector) -> Iterator[None]:
    """Counts what a connector asked of stores in this thread, when the block is left."""
    try:
        yield
    finally:
        if hasattr(connector, "take_traffic"):  # a protocol's isinstance takes longer than some reads
            METER.asked(cast("SupportsTraffic", connector).take_traffic())
