"""The calls of the services that keep a lake fast: each gives a plan, which is then applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from nessie_gc_core.api.plan import refuse_dry_run
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.report import AutotagReport
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.services.run import Run

P = TypeVar("P", bound=ConnectorOptions)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServicePlan(Generic[R]):
    """What a service would do, to look at and then to do."""

    report: R
    """What was found, as a dry run of the command reports it."""
    act: Callable[[], R]
    """Does it."""

    def apply(self) -> R:
        """Does what the plan shows, as far as it still fits, and never more.

        Raises:
            ConfigurationError: the settings say ``dry_run``.
            NessieGcError: it failed; what was done by then stays.
        """
        return self.act()

    def __repr__(self) -> str:
        return f"ServicePlan({self.report})"


class Upkeep(ABC):
    """Calls of a collector."""

    def autotag(self, **parameters: Any) -> ServicePlan[AutotagReport]:
        """Plans which tags are made and deleted by time; ``apply()`` on what it gives makes and deletes them.

        Args:
            parameters: those of ``nessie-gc autotag``, such as ``branch`` or ``tag_policy``.
        """
        wanted = self._planning(AutotagParameters, parameters)
        report = AutotagService(wanted).run(self.new_run())

        def act() -> AutotagReport:
            only = frozenset((tag.content_id or "", tag.name) for tag in report.tags)
            doing = self._doing(wanted, at=report.at)
            return AutotagService(doing, only).run(self.new_run())

        return ServicePlan(report=report, act=act)

    @abstractmethod
    def new_run(self) -> Run:
        """A run with these settings."""

    @abstractmethod
    def parameters_of(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one call."""

    def _planning(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of a plan, which changes nothing."""
        if "dry_run" in given:
            raise ConfigurationError("leave `dry_run` out: a plan changes nothing, and its apply() does it")
        return self.parameters_of(wanted, {**given, "dry_run": True})

    def _doing(self, planned: P, **changes: Any) -> P:
        """The parameters with which a plan is applied.

        Raises:
            ConfigurationError: the settings say ``dry_run``.
        """
        refuse_dry_run(self.parameters_of(type(planned), {}))
        return replace(planned, **{**changes, "dry_run": False})
