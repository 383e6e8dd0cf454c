"""The calls that answer a question about the lake; each changes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from nessie_gc_core.api.calls import told
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.assets.parameters import FindParameters
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import ExplainReport
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import HealthReport
from nessie_gc_core.services.health.service import HealthService
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.what_if import WhatIfReport, WhatIfService

P = TypeVar("P", bound=ConnectorOptions)


class Questions(ABC):
    """Calls of a collector."""

    def health(self, **parameters: Any) -> HealthReport:
        """Reports from metadata alone which tables need maintenance; takes the parameters of ``nessie-gc health``."""
        return HealthService(self.parameters_of(HealthParameters, parameters)).run(self.new_run())

    def explain(self, *files: str, cutoffs: Mapping[str, str] | None = None, **parameters: Any) -> ExplainReport:
        """Explains why single files are kept or deleted: who needs each, or what a run would do with it.

        Args:
            files: whole paths, with their schemes.
            cutoffs: patterns of reference names, each with its cut-off policy.
            parameters: those of ``nessie-gc explain``, such as ``default_cutoff``.
        """
        given = {**told(parameters, cutoffs), "file": list(files)}
        return ExplainService(self.parameters_of(ExplainParameters, given)).run(self.new_run())

    def what_if(self, *, cutoffs: Mapping[str, str] | None = None, **parameters: Any) -> WhatIfReport:
        """Reports what some cut-off policies would free, and which states would end; changes nothing.

        Args:
            cutoffs: patterns of reference names, each with its cut-off policy.
            parameters: those of ``nessie-gc what-if``, such as ``default_cutoff``.
        """
        return WhatIfService(self.parameters_of(FindParameters, told(parameters, cutoffs))).run(self.new_run())

    @abstractmethod
    def new_run(self) -> Run:
        """A run with these settings."""

    @abstractmethod
    def parameters_of(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one call."""
