"""The registry: which connectors are installed, who claims what, and how one is opened.

Plugins are modules behind entry points of the group ``nessie_gc``. A plugin that cannot be loaded breaks only
those who ask for what it would have brought: it is kept with its error, and the error is shown to them.
"""

from __future__ import annotations

import copy
import difflib
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TypeVar, cast

import pluggy

from nessie_gc_core import hookspecs
from nessie_gc_core.connectors import (
    Connector,
    ContentToFiles,
    FileDeleter,
    FileLister,
    LiveSetStore,
    RepositoryConnector,
    ScheduleStore,
    TableCatalog,
    VisitedDeduplicator,
)
from nessie_gc_core.errors import PluginError
from nessie_gc_core.model.files import FileReference, StoredNames
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.schemes import unlisted_scheme
from nessie_gc_core.model.text import one_line
from nessie_gc_core.plugins.checks import check_connector, check_hooks, check_service
from nessie_gc_core.plugins.known import KNOWN_CONNECTORS, KNOWN_SCHEMES
from nessie_gc_core.plugins.services import InstalledServices
from nessie_gc_core.plugins.sets import PluginInfo, PluginSet, connector_text

C = TypeVar("C", bound=Connector)

KINDS: Mapping[type[Connector], tuple[str, str]] = {
    RepositoryConnector: ("repository", "nessie_gc_register_repository_connector"),
    ContentToFiles: ("content-to-files", "nessie_gc_register_content_to_files"),
    FileLister: ("file-lister", "nessie_gc_register_file_lister"),
    FileDeleter: ("file-deleter", "nessie_gc_register_file_deleter"),
    LiveSetStore: ("live-set-store", "nessie_gc_register_live_set_store"),
    VisitedDeduplicator: ("visited-deduplicator", "nessie_gc_register_visited_deduplicator"),
    TableCatalog: ("table-catalog", "nessie_gc_register_table_catalog"),
    ScheduleStore: ("schedule-store", "nessie_gc_register_schedule_store"),
}
"""Each contract with the name of its kind and the hook that registers it."""


_SERVICES = "nessie_gc_register_service"


@dataclass(frozen=True, slots=True)
class _Claim:
    connector: type[Connector]
    plugin: str


class PluginRegistry:
    """The connectors of some plugins. :func:`installed` gives the one of this installation."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._found: dict[str, PluginInfo] = {}
        """What entry points name, by name; a program may register more."""
        self._disabled: frozenset[str] = frozenset()
        self._claims: dict[type[Connector], list[_Claim]] = {contract: [] for contract in KINDS}
        self.services = InstalledServices()
        """The services of the same plugins."""

    @classmethod
    def discover(cls, *, only: Collection[str] | None = None) -> PluginRegistry:
        """Loads the entry points of the group, all or only some; broken ones are kept with their error."""
        registry = cls()
        for entry_point in sorted(metadata.entry_points(group=hookspecs.PROJECT), key=_order):
            if only is None or entry_point.name in only:
                registry._load(entry_point)
        return registry

    def _load(self, entry_point: metadata.EntryPoint) -> None:
        dist = entry_point.dist
        distribution, version = (dist.name, dist.version) if dist is not None else ("unknown", "unknown")
        name = entry_point.name if entry_point.name not in self._found else f"{entry_point.name} of {distribution}"
        error: str | None = None
        try:
            self.register(entry_point.load(), name=name)
        except Exception as failure:  # noqa: BLE001 - whatever a foreign plugin raises must not break the others
            error = _one_line(failure)
        self._found[name] = PluginInfo(name=name, distribution=distribution, version=version, error=error)

    def register(self, module: object, *, name: str) -> None:
        """Registers a loaded plugin: a module, or any object with hook implementations.

        One whose registration fails brings no connector, and is still asked for its veto.

        Raises:
            PluginError: a hook is misspelt, or gave something that is not a complete connector class.
        """
        try:
            self._manager.register(module, name=name)
            check_hooks(self._manager, module, name)
            for contract in KINDS:
                self._claims[contract].extend(self._claims_of(contract, module, name))
            self.services.add((check_service(found, name) for found in self._found_by(_SERVICES, module)), name)
        except Exception as failure:
            for contract in KINDS:
                self._claims[contract] = [claim for claim in self._claims[contract] if claim.plugin != name]
            self.services = self.services.without([name])
            self._found[name] = PluginInfo(name=name, distribution="", version="", error=_one_line(failure))
            raise

    def unregister(self, name: str) -> None:
        """Forgets a plugin and what it brought."""
        self._manager.unregister(name=name)
        self._found.pop(name, None)
        for contract in KINDS:
            self._claims[contract] = [claim for claim in self._claims[contract] if claim.plugin != name]
        self.services = self.services.without([name])

    def _claims_of(self, contract: type[Connector], module: object, plugin: str) -> Iterable[_Claim]:
        for connector in self._found_by(KINDS[contract][1], module):
            yield _Claim(check_connector(contract, connector, plugin), plugin)

    def _found_by(self, hook: str, module: object) -> Iterable[object]:
        """What a plugin's implementation of a hook registers."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            if implementation.plugin is module:
                found = implementation.function()
                yield from found if isinstance(found, Sequence) else (found,)

    @property
    def plugins(self) -> Sequence[PluginInfo]:
        """All plugins that are not disabled, by name: of the entry points, loaded and broken, and of programs."""
        names = {name for name, plugin in self._manager.list_name_plugin() if plugin is not None}
        vetoes = {implementation.plugin_name for implementation in self._vetoes()}
        infos = []
        for name in sorted((names | set(self._found)) - self._disabled):
            info = self._found.get(name, PluginInfo(name=name, distribution="", version=""))
            infos.append(replace(info, has_veto=name in vetoes, connectors=self._connectors_of(name)))
        return tuple(infos)

    def _connectors_of(self, plugin: str) -> tuple[str, ...]:
        claims = (claim for claims in self._claims.values() for claim in claims if claim.plugin == plugin)
        return tuple(sorted(described(claim.connector) for claim in claims))

    def bringing(self, *contracts: type[Connector]) -> PluginSet:
        """Those of the plugins that bring connectors of some contracts."""
        kinds = tuple(f"{KINDS[contract][0]} " for contract in contracts)
        found = (plugin for plugin in self.plugins if any(text.startswith(kinds) for text in plugin.connectors))
        return PluginSet(plugins=tuple(found))

    def plugin_set(self) -> PluginSet:
        """The plugins in a form that travels."""
        return PluginSet(plugins=tuple(self.plugins))

    @property
    def broken(self) -> Sequence[PluginInfo]:
        """The plugins that could not be loaded, and are not disabled."""
        return [plugin for plugin in self.plugins if plugin.error is not None]

    def without(self, names: Collection[str]) -> PluginRegistry:
        """The same registry without some plugins: their hooks are not called, and their connectors are not found.

        Args:
            names: entry points or distributions; those that are not installed make no difference.
        """
        disabled = frozenset(plugin.name for plugin in self.plugins if plugin.is_one_of(names))
        if not disabled:
            return self
        view = copy.copy(self)
        view._disabled = self._disabled | disabled
        view._claims = {
            contract: [claim for claim in claims if claim.plugin not in disabled]
            for contract, claims in self._claims.items()
        }
        view.services = self.services.without(disabled)
        return view

    def check_named(self, names: Iterable[str], *, setting: str, working: bool = False) -> None:
        """Refuses names of plugins that are not here.

        Args:
            names: entry points or distributions.
            setting: where they come from.
            working: whether they must work, too.

        Raises:
            PluginError: one is not installed, or is broken; the message says what to do.
        """
        for name in names:
            found = [plugin for plugin in self.plugins if plugin.is_one_of([name])]
            if not found:
                known = sorted({word for plugin in self.plugins for word in (plugin.name, plugin.distribution) if word})
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"{next_command('plugins')} lists the installed ones"
                raise PluginError(f"`{setting}` {name}: no plugin of this name is installed; {hint}")
            broken = next((plugin for plugin in found if plugin.error is not None), None)
            if working and broken is not None:
                raise PluginError(f"`{setting}` {name}: it is broken ({broken.error}); repair or reinstall it")

    def connectors(self, contract: type[C]) -> dict[str, type[C]]:
        """The connectors of a contract by name."""
        return {claim.connector.name: cast("type[C]", claim.connector) for claim in self._claims[contract]}

    def connector_class(self, contract: type[C], name: str) -> type[C]:
        """The connector class of a name.

        Raises:
            PluginError: no connector has that name (the message says what to install), or two plugins claim it.
        """
        claims = [claim for claim in self._claims[contract] if claim.connector.name == name]
        if not claims:
            raise PluginError(self._missing(contract, name))
        return cast("type[C]", self._only(claims, f"the {KINDS[contract][0]} {name!r}").connector)

    def open(self, contract: type[C], spec: ConnectorSpec) -> C:
        """Creates the connector that a spec names.

        Raises:
            PluginError: there is no such connector, or two plugins claim its name.
            ConfigurationError: its options are wrong.
        """
        return self.connector_class(contract, spec.name).from_options(spec.options)

    def reader_of(self, content_type: str) -> type[ContentToFiles] | None:
        """The reader that claims a content type; ``None``: no installed plugin reads it (S23).

        Raises:
            PluginError: two plugins claim it.
        """
        claims = [
            claim
            for claim in self._claims[ContentToFiles]
            if content_type in cast("type[ContentToFiles]", claim.connector).content_types
        ]
        if not claims:
            return None
        return cast("type[ContentToFiles]", self._only(claims, f"content type {content_type!r}").connector)

    def readers_of(self, content_types: Iterable[str]) -> list[type[ContentToFiles]]:
        """The distinct readers of some content types; types that no plugin reads are left out.

        Raises:
            PluginError: two plugins claim one of them.
        """
        found = (self.reader_of(content_type) for content_type in sorted(set(content_types)))
        return list(dict.fromkeys(reader for reader in found if reader is not None))

    def stored_names(self) -> dict[str, StoredNames]:
        """Content type to how its files are named, of all types whose contents a listing can find.

        Raises:
            PluginError: two plugins claim one of the types.
        """
        readers = (cast("type[ContentToFiles]", claim.connector) for claim in self._claims[ContentToFiles])
        found = {type_: names for reader in readers for type_, names in reader.stored_names.items()}
        return {type_: names for type_, names in found.items() if self.reader_of(type_) is not None}

    def for_scheme(self, contract: type[C], scheme: str, *, preferred: str | None = None) -> type[C] | None:
        """The lister or deleter that claims a URI scheme, or the preferred one of those that do.

        One that names the scheme in ``schemes`` comes before all that have it in ``fallback_schemes``; preferred by
        name, either comes first.

        Raises:
            PluginError: two plugins claim it in the same way and none is preferred.
        """
        strong, weak = (
            [claim for claim in self._claims[contract] if scheme in getattr(claim.connector, kind, ())]
            for kind in ("schemes", "fallback_schemes")
        )
        claims = strong or weak
        if preferred is not None:
            claims = [claim for claim in (*strong, *weak) if claim.connector.name == preferred] or claims
        if not claims:
            return None
        return cast("type[C]", self._only(claims, f"{KINDS[contract][0]} for scheme {scheme!r}").connector)

    def schemes(self, *, fallback: bool = True) -> frozenset[str]:
        """All URI schemes that some installed lister claims; with ``fallback`` also those it takes if need be."""
        listers = self.connectors(FileLister).values()
        more = (lister.fallback_schemes for lister in listers if fallback)
        return frozenset[str]().union(*(lister.schemes for lister in listers), *more)

    def missing_scheme(self, scheme: str) -> str:
        """One line that says what to install for a URI scheme that no plugin claims."""
        if scheme in KNOWN_SCHEMES:
            return f"no plugin lists {scheme!r} locations: pip install {KNOWN_SCHEMES[scheme]}{self._broken()}"
        return f"no installed plugin lists {scheme!r} locations; {unlisted_scheme(scheme)}{self._broken()}"

    def veto(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        """Asks every plugin which of the files must stay: path to reason. An error spares the whole batch."""
        vetoed: dict[str, str] = {}
        for implementation in self._vetoes():
            plugin = implementation.plugin_name
            try:
                answer = implementation.function(location=location, files=files) or {}
                if not isinstance(answer, Mapping):
                    raise TypeError(f"it returned a {type(answer).__name__} instead of a mapping of paths to reasons")
                said = {path: str(reason or f"vetoed by plugin {plugin!r}") for path, reason in answer.items()}
            except Exception as error:  # noqa: BLE001 - a veto that fails keeps the files
                said = {file.path: f"veto of plugin {plugin!r} failed: {one_line(error)}" for file in files}
            vetoed.update(said)
        return vetoed

    @property
    def has_vetoes(self) -> bool:
        """Whether any plugin implements the veto hook."""
        return bool(self._vetoes())

    def _vetoes(self) -> list[pluggy.HookImpl]:
        implementations = self._manager.hook.nessie_gc_veto_deletion.get_hookimpls()
        return [found for found in implementations if found.plugin_name not in self._disabled]

    def _only(self, claims: Sequence[_Claim], what: str) -> _Claim:
        if len(claims) > 1:
            names = " and ".join(repr(claim.plugin) for claim in claims)
            raise PluginError(f"{what} is claimed by the plugins {names}; uninstall one, or choose one by name")
        return claims[0]

    def _missing(self, contract: type[Connector], name: str) -> str:
        kind = KINDS[contract][0]
        distribution = KNOWN_CONNECTORS.get((kind, name))
        if distribution is not None:
            return f"the {kind} {name!r} is not installed: pip install {distribution}{self._broken()}"
        names = sorted(self.connectors(contract))
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"unknown {kind} {name!r}; installed are: {', '.join(names) or 'none'}{hint}{self._broken()}"

    def _broken(self) -> str:
        broken = [f"{plugin.name} ({plugin.error})" for plugin in self.broken]
        return f"; broken plugins: {', '.join(broken)}" if broken else ""


def described(connector: type[Connector]) -> str:
    """A connector class as one text: its kind, its name, and what it claims."""
    kind = next(kind for contract, (kind, _) in KINDS.items() if issubclass(connector, contract))
    return connector_text(kind, connector.name, claims_of(connector), fallback_claims_of(connector))


def claims_of(connector: type[Connector]) -> Sequence[str]:
    """The URI schemes or content types that a connector class claims, sorted."""
    return sorted(getattr(connector, "schemes", None) or getattr(connector, "content_types", None) or ())


def fallback_claims_of(connector: type[Connector]) -> Sequence[str]:
    """The URI schemes that a connector class claims unless another one does, sorted."""
    return sorted(getattr(connector, "fallback_schemes", ()))


def _order(entry_point: metadata.EntryPoint) -> tuple[str, str, str]:
    """The same order in every process, so that two plugins of one name are told apart in the same way."""
    return (entry_point.name, entry_point.dist.name if entry_point.dist is not None else "", entry_point.value)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


class _Installation:
    """What this process loads of the installed plugins."""

    only: Collection[str] | None = None

    @functools.cached_property
    def registry(self) -> PluginRegistry:
        return PluginRegistry.discover(only=self.only)


_INSTALLATION = _Installation()


def installed() -> PluginRegistry:
    """The registry of this installation, discovered on first use, once per process."""
    return _INSTALLATION.registry


def load_only(names: Collection[str]) -> None:
    """Lets :func:`installed` load no other entry points; for a worker process, before it is first called."""
    _INSTALLATION.only = names
