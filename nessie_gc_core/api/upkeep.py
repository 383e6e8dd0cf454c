"""The calls of the services that keep a lake fast: each returns a plan to apply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from nessie_gc_core.api.plan import refuse_dry_run
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import parse_duration
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.report import AutotagReport, TagOutcome
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.services.compaction.parameters import CompactParameters
from nessie_gc_core.services.compaction.report import CompactionReport
from nessie_gc_core.services.compaction.service import CompactService
from nessie_gc_core.services.java_import.parameters import ImportJavaParameters
from nessie_gc_core.services.java_import.report import ImportJavaReport
from nessie_gc_core.services.java_import.service import ImportJavaService
from nessie_gc_core.services.manifests.parameters import RewriteManifestsParameters
from nessie_gc_core.services.manifests.report import ManifestsReport
from nessie_gc_core.services.manifests.service import RewriteManifestsService
from nessie_gc_core.services.pruning import PruneReport, PruneRule, prune
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.stored_live_sets import statuses

P = TypeVar("P", bound=ConnectorOptions)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServicePlan(Generic[R]):
    """What a service would do, to review and then apply. It is valid as long as its collector is open."""

    report: R
    """What was found, as a dry run of the command reports it."""
    act: Callable[[], R]
    """Does it."""

    def apply(self) -> R:
        """Does only what the plan shows, if that still applies.

        Raises:
            ConfigurationError: the collector is closed, or its settings contain ``dry_run``.
            NessieGcError: it failed; what was done before stays.
        """
        return self.act()

    def __repr__(self) -> str:
        return f"ServicePlan({self.report})"


class Upkeep(ABC):
    """Calls of a collector."""

    def autotag(self, **parameters: Any) -> ServicePlan[AutotagReport]:
        """Plans which tags to create and delete by time; ``apply()`` of the plan creates and deletes them.

        Args:
            parameters: those of ``nessie-gc autotag``, such as ``tag_branch`` or ``tag_policy``.
        """
        given = self._without_dry_run(AutotagParameters, parameters)
        report = AutotagService(replace(given, dry_run=True)).run(self.new_run())
        done = (TagOutcome.MADE, TagOutcome.DELETED)
        planned = (tag for tag in report.tags if tag.outcome in done)
        only = frozenset((tag.content_id or "", tag.name, tag.target) for tag in planned)
        service = AutotagService(replace(given, at=report.at), only)
        return self._plan(report, given, service.run)

    def compact(self, catalog: str, **parameters: Any) -> ServicePlan[CompactionReport]:
        """Plans which partitions to compact; ``apply()`` of the plan then rewrites them.

        Args:
            catalog: the catalog of the Spark session that has the tables.
            parameters: those of ``nessie-gc compact``, such as ``include`` or ``max_small_files``.
        """
        given = self._without_dry_run(CompactParameters, {**parameters, "catalog": catalog})
        service = CompactService(given)
        planned = service.plan(self.new_run())
        return self._plan(planned.report, given, lambda run: service.apply(run, planned))

    def rewrite_manifests(self, catalog: str, **parameters: Any) -> ServicePlan[ManifestsReport]:
        """Plans which manifests to rewrite; ``apply()`` of the plan then rewrites them.

        Args:
            catalog: the catalog of the Spark session that has the tables.
            parameters: those of ``nessie-gc rewrite-manifests``, such as ``include`` or ``effort``.
        """
        given = self._without_dry_run(RewriteManifestsParameters, {**parameters, "catalog": catalog})
        service = RewriteManifestsService(given)
        planned = service.plan(self.new_run())
        return self._plan(planned.report, given, lambda run: service.apply(run, planned))

    def prune(
        self,
        *,
        older_than: timedelta | str,
        dry_run: bool,
        keep: int = 0,
        status: Collection[LiveSetStatus | str] = (),
        discard_deferred: bool = False,
    ) -> PruneReport:
        """Removes old live sets from the store, and no file; those that a run uses or needs later stay.

        Args:
            older_than: the age from which they go; a text is an ISO duration such as ``P90D``.
            dry_run: whether they are only named.
            keep: how many of the newest of each repository stay, whatever their age.
            status: only live sets that have one of these statuses.
            discard_deferred: whether live sets with deferred deletions go as well, so that nobody ever runs those.

        Raises:
            ConfigurationError: the duration or a status is invalid.
        """
        age = parse_duration(older_than) if isinstance(older_than, str) else older_than
        rule = PruneRule(older_than=age, keep=keep, status=statuses(status), discard_deferred=discard_deferred)
        run = self.new_run()
        return prune(run.store, rule, dry_run=dry_run, go_on=run.go_on)

    def import_java(self, *, dry_run: bool, java_time_zone: str, **parameters: Any) -> ImportJavaReport:
        """Imports live sets and deferred deletions from the tables of Nessie's Java tool, which are only read.

        Args:
            dry_run: whether they are only read and judged.
            java_time_zone: time zone of the machine on which the Java tool ran, such as ``UTC``.
            parameters: those of ``nessie-gc import-java``, such as ``java_url``.

        Raises:
            ConfigurationError: a parameter is invalid, or the store cannot read such tables.
            LeaseHeldError: another process collects the repository.
        """
        given = {**parameters, "dry_run": dry_run, "java_time_zone": java_time_zone}
        return ImportJavaService(self.parameters_of(ImportJavaParameters, given)).run(self.new_run())

    def _without_dry_run(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of a plan; its ``apply()`` says whether anything is done."""
        if "dry_run" in given:
            raise ConfigurationError("leave out `dry_run`: a plan changes nothing until you call its apply()")
        return self.parameters_of(wanted, given)

    def _plan(self, report: R, given: ConnectorOptions, act: Callable[[Run], R]) -> ServicePlan[R]:
        later_run = self.later_run()

        def apply() -> R:
            run = later_run()
            refuse_dry_run(given)
            return act(run)

        return ServicePlan(report=report, act=apply)

    @abstractmethod
    def new_run(self) -> Run:
        """A run with these settings."""

    @abstractmethod
    def later_run(self) -> Callable[[], Run]:
        """Returns a factory of the runs in which current plans are applied; it raises if the collector was closed."""

    @abstractmethod
    def parameters_of(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one call."""
