"""Makes sure that jobs have only options that their services read, with values that fit (S27)."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nessie_gc_core.config.environment import variable_of
from nessie_gc_core.config.given import refuse_blank
from nessie_gc_core.config.property_names import FILE_PROPERTIES
from nessie_gc_core.config.settings import SETTINGS
from nessie_gc_core.config.specs import check_file_properties
from nessie_gc_core.connectors import AnyService
from nessie_gc_core.errors import ConfigurationError, PluginError
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.options import ConnectorOptions, hyphened
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.pruning import PruneService
from nessie_gc_core.services.schedule.due import HEALTH

Groups = Mapping[str, type[ConnectorOptions]]
"""Declarations of options by their names."""


def service_of_job(registry: PluginRegistry, name: str) -> AnyService:
    """What a job runs, by the name of its command.

    Raises:
        PluginError: it is not installed.
    """
    return PruneService if name == PruneService.name else registry.services.named(name)


def check_names_live_set(registry: PluginRegistry, service: str, given: Mapping[str, Any], job: str) -> None:
    """Refuses a job whose service needs a live set that nothing names: it could never run.

    Args:
        registry: the plugins.
        service: what the job runs.
        given: its options by their keys, and the environment.
        job: the name of the job.

    Raises:
        ConfigurationError: the message names the job, and what to give.
    """
    wanted = _declared(service_of_job(registry, service).Parameters) if is_installed(registry, service) else {}
    names = [name for name in ("live_set_id", "read_live_set_id_from", "apply") if name in wanted]
    keys = {key for name in names for key in (hyphened(name), variable_of(name))}
    if "read_live_set_id_from" in names and not keys & given.keys():
        raise ConfigurationError(
            f"the job {job!r} names no live set for {service!r}, so it can never run: give 'read-live-set-id-from', "
            "the file that a job with 'write-live-set-id-to' writes, or run 'gc' instead"
        )


def check_parameters(parameters: ConnectorOptions, **known: object) -> None:
    """Asks the parameters of a service what the service asks them before it opens anything.

    Args:
        parameters: those of one job; a check of theirs that needs something else is left to the run.
        known: what a check may be given, by the names of its arguments.

    Raises:
        ConfigurationError: one is missing or invalid, so that every run would fail.
    """
    check = getattr(parameters, "check", None)
    wanted = inspect.signature(check).parameters if check is not None else {}
    if check is not None and wanted.keys() <= known.keys():
        check(**{name: known[name] for name in wanted})


def is_installed(registry: PluginRegistry, name: str) -> bool:
    """Whether the service of a job is there."""
    try:
        service_of_job(registry, name)
    except PluginError:
        return False
    return True


@dataclass(frozen=True)
class JobOptions:
    """The options of jobs, whose services are installed; of others, a run says what is wrong."""

    registry: PluginRegistry
    _known: dict[str, Groups | None] = field(default_factory=dict)

    def has(self, service: str, name: str) -> bool:
        """Whether a service is installed and has a parameter."""
        return name in (self._of(service) or {})

    def check(self, service: str, options: Mapping[str, Any], *, looks: bool) -> None:
        """Refuses an option that only other services have: the run would pass over it.

        Args:
            service: what the job runs.
            options: those of its own table.
            looks: whether ``health`` decides before each run; then it reads the same options.

        Raises:
            ConfigurationError: the message names the option.
        """
        if (own := self._of(service)) is None:
            return
        read = {**own, **((self._of(HEALTH) or {}) if looks else {})}
        for key, value in options.items():
            name = key.replace("-", "_")
            if name in read:
                self._check_value(read[name], key, value)
            elif name in self._of_any_service:
                near = difflib.get_close_matches(name, read, n=1)
                hint = (
                    f"did you mean {hyphened(near[0])!r}?" if near else f"{next_command(service, '--help')} lists them"
                )
                raise ConfigurationError(f"the service {service!r} has no option {key!r}; {hint}")

    def check_shared(self, services: Iterable[str], options: Mapping[str, Any]) -> None:
        """Makes sure that the values at the top of the file fit the services of its jobs.

        Raises:
            ConfigurationError: the message names the option.
        """
        read: dict[str, set[type[ConnectorOptions]]] = {}
        for service in services:
            for name, group in (self._of(service) or {}).items():
                read.setdefault(name, set()).add(group)
        for key, value in options.items():
            for group in read.get(key.replace("-", "_"), ()):
                self._check_value(group, key, value)

    def _check_value(self, group: type[ConnectorOptions], key: str, value: object) -> None:
        refuse_blank(key, value, "the option")
        name = key.replace("-", "_")
        typed = group.typed({name: value}, spelled=hyphened)[name]  # type: ignore[dict-item]  # whatever TOML has
        if name == FILE_PROPERTIES:
            check_file_properties(typed, self.registry)

    def _of(self, service: str) -> Groups | None:
        """The options that a service reads; ``None`` if it is not installed."""
        if service not in self._known:
            try:
                parameters = service_of_job(self.registry, service).Parameters
            except PluginError:
                self._known[service] = None
            else:
                self._known[service] = {**self._of_all, **_declared(parameters)}
        return self._known[service]

    @cached_property
    def _of_all(self) -> Groups:
        return {name: group for settings in SETTINGS for name, group in _declared(settings).items()}

    @cached_property
    def _of_any_service(self) -> frozenset[str]:
        services: list[AnyService] = [PruneService, *self.registry.services.by_name().values()]
        return frozenset(name for service in services for name in _declared(service.Parameters))


def _declared(group: type[ConnectorOptions]) -> Groups:
    return {field.name: group for field in dataclasses.fields(group)}
