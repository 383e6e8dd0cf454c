"""The cleaning of Nessie's database, as Python programs use it."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_internal.parameters import InternalGcParameters
from nessie_gc_internal.report import InternalGcReport, RecordTally
from nessie_gc_internal.service import Tell, clean


def _no_progress(phase: str, done: int, total: int | None) -> None:
    """Shows nothing."""


class InternalGc:
    """Finds records of Nessie's database that no reference reaches, and purges them when told to.

    Its parameters are those of ``nessie-gc internal-gc``, by the same names with underscores.

    Example::

        plan = InternalGc(nessie_jdbc_url="jdbc:postgresql://db/nessie", nessie_jdbc_user="gc").plan()
        print(plan.would_purge.records)
        plan.apply().raise_for_status()
    """

    def __init__(self, *, progress: Tell = _no_progress, **parameters: Any) -> None:
        """Takes the parameters; nothing is opened before it is used.

        Args:
            progress: told the phase and how many records of it are done.
            parameters: such as ``nessie_jdbc_url`` or ``referenced_grace``.

        Raises:
            ConfigurationError: one is unknown, or is invalid.
        """
        self.parameters = InternalGcParameters.from_mapping(parameters)
        self.parameters.check()
        self._progress = progress

    def plan(self) -> InternalGcPlan:
        """Finds out what would be purged, and changes nothing.

        Raises:
            NessieGcError: the database cannot be used, or something live is missing or cannot be understood.
        """
        found = clean(replace(self.parameters, dry_run=True), tell=self._progress)
        return InternalGcPlan(report=found.report, parameters=self.parameters, ids=found.found, progress=self._progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalGcPlan:
    """What would be purged, to look at and then to do."""

    report: InternalGcReport
    """What was found."""
    parameters: InternalGcParameters
    """Those that it was made with."""
    ids: Set[bytes] = field(repr=False)
    """The ids of the records that would be purged."""
    progress: Callable[[str, int, int | None], None] = field(default=_no_progress, repr=False)
    """Told the progress of :meth:`apply`."""

    @property
    def would_purge(self) -> RecordTally:
        """How many records would be purged, and their bytes."""
        return self.report.total("unreferenced")

    def apply(self) -> InternalGcReport:
        """Purges only what the plan showed and still nothing needs.

        Everything is marked and judged again.

        Raises:
            ConfigurationError: the parameters say ``dry_run``.
            NessieGcError: the database cannot be used, or something live is missing or cannot be understood.
        """
        if self.parameters.dry_run:
            raise ConfigurationError("the parameters contain `dry_run`, so nothing is purged; remove it to purge")
        return clean(self.parameters, tell=self.progress, only=self.ids).report
