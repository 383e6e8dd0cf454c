"""What a reorganization of manifests would do, to look at and then to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nessie_gc_core.api.plan import refuse_dry_run
from nessie_gc_core.services.manifests.report import ManifestsReport
from nessie_gc_core.services.manifests.service import PlannedManifests, RewriteManifestsService
from nessie_gc_core.services.run import Run


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestPlan:
    """What :meth:`Collector.rewrite_manifests` would do. It is good as long as its collector is open."""

    report: ManifestsReport
    """What was found: every table that was meant, with its figures."""
    planned: PlannedManifests = field(repr=False)
    """The manifests that would be rewritten."""
    service: RewriteManifestsService
    """With the parameters of the call."""
    new_run: Callable[[], Run]
    """Makes the run in which the plan is applied, or says that the collector is closed."""

    def apply(self) -> ManifestsReport:
        """Rewrites what the plan shows, as far as it is still there, in one commit for each table; never more.

        A table that others changed since is planned again, within what the plan shows.

        Raises:
            ConfigurationError: the collector is closed, or its settings say ``dry_run``.
        """
        run = self.new_run()
        refuse_dry_run(self.service.parameters)
        return self.service.apply(run, self.planned)

    def __repr__(self) -> str:
        return f"ManifestPlan({self.report.rewritten} of {len(self.report.tables)} tables)"
