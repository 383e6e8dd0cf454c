"""What plugins a process has, in a form that travels: workers compare it with what they have themselves (S26)."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass

INSTALL_ON_WORKERS = "install the driver's packages on every worker"
"""How every reason ends for which a worker keeps files because of its plugins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One plugin, loaded or broken."""

    name: str
    distribution: str
    """Empty where a program registered it."""
    version: str
    error: str | None = None
    """Why it could not be loaded; ``None`` if it works."""
    has_veto: bool = False
    """Whether it is asked before files are deleted."""
    connectors: tuple[str, ...] = ()
    """Its connectors: kind, name and claims."""

    def is_one_of(self, names: Collection[str]) -> bool:
        """Whether names of entry points or distributions include this one."""
        known = {canonical(name) for name in names}
        return any(canonical(name) in known for name in (self.name, self.distribution) if name)

    @property
    def origin(self) -> str:
        """Distribution and version."""
        return f"{self.distribution} {self.version}" if self.distribution else "registered by a program"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSet:
    """The plugins of one process that are not disabled."""

    plugins: tuple[PluginInfo, ...] = ()

    def lacking_in(self, here: PluginSet) -> str | None:
        """Why a process with the plugins ``here`` must not decide what this one decides; ``None``: it may.

        A process may have more plugins, whose vetoes it asks too; a broken one could hold a veto that nobody asks.
        """
        found = {plugin.name: plugin for plugin in here.plugins}
        broken = next((plugin for plugin in here.plugins if plugin.error is not None), None)
        if broken is not None:
            return _said(f"has a broken plugin {broken.name!r} ({broken.error})")
        for plugin in self.plugins:
            difference = _difference(plugin, found.get(plugin.name))
            if difference is not None:
                return _said(difference)
        return None

    def lacking_for(self, connector: str, here: PluginSet) -> str | None:
        """The same for one connector, as :func:`connector_text` writes it: only the plugin that brings it counts."""
        bringing = PluginSet(plugins=tuple(plugin for plugin in self.plugins if connector in plugin.connectors))
        if not bringing.plugins:
            return _said(f"has the {connector}, which the driver does not have")
        names = {plugin.name for plugin in bringing.plugins}
        return bringing.lacking_in(PluginSet(plugins=tuple(plugin for plugin in here.plugins if plugin.name in names)))


def _difference(wanted: PluginInfo, found: PluginInfo | None) -> str | None:
    if found is None:
        return f"does not have the plugin {wanted.name!r} ({wanted.origin})"
    if (found.distribution, found.version) != (wanted.distribution, wanted.version):
        return f"has the plugin {wanted.name!r} as {found.origin}, the driver as {wanted.origin}"
    if wanted.has_veto and not found.has_veto:
        return f"has the plugin {wanted.name!r} ({wanted.origin}) without its veto"
    missing = sorted(set(wanted.connectors) - set(found.connectors))
    if missing:
        return f"has the plugin {wanted.name!r} ({wanted.origin}) without its {missing[0]}"
    return None


def _said(difference: str) -> str:
    return f"the worker {socket.gethostname()} {difference}; {INSTALL_ON_WORKERS}"


def connector_text(kind: str, name: str, claims: Iterable[str], fallback: Iterable[str] = ()) -> str:
    """A connector with what it claims, and what it claims unless another one does, as one text."""
    said = [", ".join(sorted(claims)), f"unless claimed: {', '.join(sorted(fallback))}" if fallback else ""]
    return f"{kind} {name}" + (f" ({'; '.join(filter(None, said))})" if any(said) else "")


def canonical(name: str) -> str:
    """The name of a distribution in one spelling."""
    return re.sub(r"[-_.]+", "-", name).lower()
