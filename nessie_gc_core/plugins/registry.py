"""The registry: which connectors are installed, who claims what, and how one is opened.

Plugins are modules behind entry points of the group ``nessie_gc``. A plugin that cannot be loaded breaks only
those who ask for what it would have brought: it is kept with its error, and the error is shown to them.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    VisitedDeduplicator,
)
from nessie_gc_core.errors import PluginError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins.known import KNOWN_CONNECTORS, KNOWN_SCHEMES

C = TypeVar("C", bound=Connector)

KINDS: Mapping[type[Connector], tuple[str, str]] = {
    RepositoryConnector: ("repository", "nessie_gc_register_repository_connector"),
    ContentToFiles: ("content-to-files", "nessie_gc_register_content_to_files"),
    FileLister: ("file-lister", "nessie_gc_register_file_lister"),
    FileDeleter: ("file-deleter", "nessie_gc_register_file_deleter"),
    LiveSetStore: ("live-set-store", "nessie_gc_register_live_set_store"),
    VisitedDeduplicator: ("visited-deduplicator", "nessie_gc_register_visited_deduplicator"),
}
"""Each contract with the name of its kind and the hook that registers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One entry point of the group, loaded or broken."""

    name: str
    distribution: str
    version: str
    error: str | None = None
    """Why it could not be loaded; ``None`` where it works."""


@dataclass(frozen=True, slots=True)
class _Claim:
    connector: type[Connector]
    plugin: str


class PluginRegistry:
    """The connectors of some plugins. :func:`installed` gives the one of this installation."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._plugins: list[PluginInfo] = []
        self._claims: dict[type[Connector], list[_Claim]] = {contract: [] for contract in KINDS}

    @classmethod
    def discover(cls) -> PluginRegistry:
        """Loads every entry point of the group; broken ones are kept with their error."""
        registry = cls()
        for entry_point in sorted(metadata.entry_points(group=hookspecs.PROJECT), key=lambda e: e.name):
            registry._load(entry_point)
        return registry

    def _load(self, entry_point: metadata.EntryPoint) -> None:
        dist = entry_point.dist
        distribution, version = (dist.name, dist.version) if dist is not None else ("unknown", "unknown")
        error: str | None = None
        try:
            self.register(entry_point.load(), name=entry_point.name)
        except Exception as failure:  # noqa: BLE001 - whatever a foreign plugin raises must not break the others
            error = f"{type(failure).__name__}: {failure}".splitlines()[0]
        self._plugins.append(PluginInfo(name=entry_point.name, distribution=distribution, version=version, error=error))

    def register(self, module: object, *, name: str) -> None:
        """Registers a loaded plugin: a module, or any object with hook implementations.

        One whose registration fails brings no connector, and is still asked for its veto.

        Raises:
            PluginError: a hook gave something that is no connector class.
        """
        self._manager.register(module, name=name)
        try:
            for contract in KINDS:
                self._claims[contract].extend(self._claims_of(contract, module, name))
        except Exception:
            for contract in KINDS:
                self._claims[contract] = [claim for claim in self._claims[contract] if claim.plugin != name]
            raise

    def _claims_of(self, contract: type[Connector], module: object, plugin: str) -> Iterable[_Claim]:
        hook = getattr(self._manager.hook, KINDS[contract][1])
        for implementation in hook.get_hookimpls():
            if implementation.plugin is not module:
                continue
            found = implementation.function()
            for connector in found if isinstance(found, Sequence) else (found,):
                if not (isinstance(connector, type) and issubclass(connector, contract)):
                    raise PluginError(f"plugin {plugin!r} registers {connector!r}, which is no {contract.__name__}")
                yield _Claim(connector, plugin)

    @property
    def plugins(self) -> Sequence[PluginInfo]:
        """All entry points of the group, by name, loaded and broken."""
        return tuple(self._plugins)

    def connectors(self, contract: type[C]) -> dict[str, type[C]]:
        """The connectors of a contract by name."""
        return {claim.connector.name: cast("type[C]", claim.connector) for claim in self._claims[contract]}

    def connector_class(self, contract: type[C], name: str) -> type[C]:
        """The connector class of a name.

        Raises:
            PluginError: nobody has that name (the message says what to install), or two plugins claim it.
        """
        claims = [claim for claim in self._claims[contract] if claim.connector.name == name]
        if not claims:
            raise PluginError(self._missing(contract, name))
        return cast("type[C]", self._only(claims, f"the {KINDS[contract][0]} {name!r}").connector)

    def open(self, contract: type[C], spec: ConnectorSpec) -> C:
        """Makes the connector that a spec names.

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

    def for_scheme(self, contract: type[C], scheme: str, *, preferred: str | None = None) -> type[C] | None:
        """The lister or deleter that claims a URI scheme, or the preferred one of those that do.

        Raises:
            PluginError: two plugins claim it and none is preferred.
        """
        claims = [claim for claim in self._claims[contract] if scheme in getattr(claim.connector, "schemes", ())]
        if preferred is not None:
            claims = [claim for claim in claims if claim.connector.name == preferred] or claims
        if not claims:
            return None
        return cast("type[C]", self._only(claims, f"{KINDS[contract][0]} for scheme {scheme!r}").connector)

    def schemes(self) -> frozenset[str]:
        """All URI schemes that some installed lister claims."""
        listers = self.connectors(FileLister).values()
        return frozenset(scheme for lister in listers for scheme in lister.schemes)

    def missing_scheme(self, scheme: str) -> str:
        """One line that says what to install for a URI scheme that nobody claims."""
        if scheme in KNOWN_SCHEMES:
            return f"no plugin lists {scheme!r} locations: pip install {KNOWN_SCHEMES[scheme]}{self._broken()}"
        return f"no installed plugin lists {scheme!r} locations{self._broken()}"

    def veto(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        """Asks every plugin which of the files must stay: path to reason. An error spares the whole batch."""
        vetoed: dict[str, str] = {}
        for implementation in self._manager.hook.nessie_gc_veto_deletion.get_hookimpls():
            plugin = implementation.plugin_name
            try:
                answer = implementation.function(location=location, files=files) or {}
                if not isinstance(answer, Mapping):
                    raise TypeError(f"it gave a {type(answer).__name__} where a mapping of paths to reasons belongs")
                said = {path: str(reason or f"vetoed by plugin {plugin!r}") for path, reason in answer.items()}
            except Exception as error:  # noqa: BLE001 - a veto that fails keeps the files
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                said = {file.path: f"veto of plugin {plugin!r} failed: {reason}" for file in files}
            vetoed.update(said)
        return vetoed

    @property
    def has_vetoes(self) -> bool:
        """Whether any plugin implements the veto hook."""
        return bool(self._manager.hook.nessie_gc_veto_deletion.get_hookimpls())

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
        broken = [f"{p.name} ({p.error})" for p in self._plugins if p.error]
        return f"; broken plugins: {', '.join(broken)}" if broken else ""


@functools.cache
def installed() -> PluginRegistry:
    """The registry of this installation, discovered on first use, once per process."""
    return PluginRegistry.discover()
