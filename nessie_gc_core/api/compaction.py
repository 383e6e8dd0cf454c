"""What a compaction would do, to look at and then to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nessie_gc_core.api.plan import refuse_dry_run
from nessie_gc_core.services.compaction.report import CompactionReport
from nessie_gc_core.services.compaction.service import CompactService, PlannedCompaction
from nessie_gc_core.services.run import Run


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompactionPlan:
    """What :meth:`Collector.compact` would do. It is good as long as its collector is open."""

    report: CompactionReport
    """What was found: every table that was meant, with the partitions that are due."""
    planned: PlannedCompaction = field(repr=False)
    """The partitions that would be compacted."""
    service: CompactService
    """With the parameters of the call."""
    new_run: Callable[[], Run]
    """Makes the run in which the plan is applied, or says that the collector is closed."""

    def apply(self) -> CompactionReport:
        """Compacts what the plan shows, as far as it is still due; never more.

        A table that others changed since is planned again, within what the plan shows.

        Raises:
            ConfigurationError: the collector is closed, or its settings say ``dry_run``.
        """
        run = self.new_run()
        refuse_dry_run(self.service.parameters)
        return self.service.apply(run, self.planned)

    def __repr__(self) -> str:
        return f"CompactionPlan({self.report.rewritten} of {len(self.report.tables)} tables)"
