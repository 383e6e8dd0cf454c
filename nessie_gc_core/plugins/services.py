"""Which services are installed, and which plugin brings each."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from nessie_gc_core.connectors import AnyService
from nessie_gc_core.errors import PluginError
from nessie_gc_core.plugins.known import KNOWN_SERVICES


@dataclass(frozen=True, slots=True)
class InstalledServices:
    """The services of some plugins."""

    claims: list[tuple[AnyService, str]] = field(default_factory=list)
    """Each service with the name of its plugin."""

    def add(self, services: Iterable[AnyService], plugin: str) -> None:
        """Adds those of a plugin."""
        self.claims.extend((service, plugin) for service in services)

    def without(self, plugins: Collection[str]) -> InstalledServices:
        """The services of the other plugins."""
        return InstalledServices([(service, plugin) for service, plugin in self.claims if plugin not in plugins])

    @property
    def names(self) -> frozenset[str]:
        """All names and aliases, those that are claimed twice included."""
        return frozenset(name for service, _ in self.claims for name in _names_of(service))

    def by_name(self) -> dict[str, AnyService]:
        """The services, without those of which a name or alias is claimed twice."""
        return {service.name: service for service, _ in self.claims if not self._rivals(service)}

    def canonical_names(self) -> dict[str, str]:
        """The name of each service by that and by its aliases, without those of which one is claimed twice."""
        return {other: name for name, service in self.by_name().items() for other in _names_of(service)}

    def named(self, name: str) -> AnyService:
        """The service of a name or alias.

        Raises:
            PluginError: there is none, or several plugins claim a name of it.
        """
        found = next((service for service, _ in self.claims if name in _names_of(service)), None)
        if found is None and name in KNOWN_SERVICES:
            raise PluginError(f"the service {name!r} is not installed: pip install {KNOWN_SERVICES[name]}")
        if found is None:
            raise PluginError(f"unknown service {name!r}; installed are: {', '.join(sorted(self.by_name()))}")
        if rivals := self._rivals(found):
            raise PluginError(f"the service {name!r} is claimed by the plugins {' and '.join(rivals)}; uninstall one")
        return found

    def _rivals(self, service: AnyService) -> list[str]:
        """The plugins that claim a name of the service, where they are several."""
        names = _names_of(service)
        plugins = [repr(plugin) for other, plugin in self.claims if names & _names_of(other)]
        return plugins if len(plugins) > 1 else []


def _names_of(service: AnyService) -> set[str]:
    return {service.name, *service.aliases}
