"""The collector for Python programs."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import UUID

from nessie_gc_core.api.assets import UnreferencedAssets
from nessie_gc_core.api.calls import told
from nessie_gc_core.api.checks import run_checks
from nessie_gc_core.api.opening import (
    doubts_of,
    engine_name,
    known_settings,
    open_choice,
    open_resources,
    setting_groups,
    starts_slowly,
    with_vending,
)
from nessie_gc_core.api.plan import refuse_dry_run
from nessie_gc_core.api.planning import Planning
from nessie_gc_core.api.questions import Questions
from nessie_gc_core.api.upkeep import Upkeep
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.config.environment import check_settings_in
from nessie_gc_core.config.file import DEFAULT_FILE, ConfigFile, keys_of
from nessie_gc_core.config.given import EXCLUSIVE, Given, refuse_blank
from nessie_gc_core.config.settings import PluginSettings
from nessie_gc_core.connectors import Report
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.live_sets import RepositoryRecords
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.plugins import PluginInfo, PluginRegistry, installed
from nessie_gc_core.services.check import CheckResult
from nessie_gc_core.services.deferred import DeferredDeletionService
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.parameters import DeferredDeletionParameters, GcParameters, SweepParameters
from nessie_gc_core.services.records import RecordsService
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import GoOn, Progress, Run, never_stopped, no_progress
from nessie_gc_core.services.stored_live_sets import LiveSetService
from nessie_gc_core.services.sweep import SweepService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = TypeVar("P", bound=ConnectorOptions)


class Collector(Planning, Upkeep, Questions, Closing):
    """Finds the files that no live state needs, and deletes them on request.

    Its settings are those of the command line, with the same names (with underscores) and defaults; strings are parsed
    as on the command line. A keyword overrides ``NESSIE_GC_*`` in the environment, which overrides the file.

    Example::

        with Collector(uri="http://localhost:19120/api/v2", engine="local") as gc:
            plan = gc.plan(default_cutoff="P30D", allow=["s3://lake/wh/"])
            print(plan.report)
            plan.apply().raise_for_status()
    """

    def __init__(
        self,
        *,
        spark: SparkSession | None = None,
        config: str | os.PathLike[str] | None = None,
        plugins: PluginRegistry | None = None,
        progress: Progress = no_progress,
        **settings: Any,
    ) -> None:
        """Takes the settings; everything is opened on first use.

        Args:
            spark: a session to run on, classic or Spark Connect; it stays open.
            config: a configuration file (TOML), as the command line reads it.
            plugins: the plugins to use (default: all installed ones).
            progress: called with the phase, how much of it is done, and the total if known.
            settings: those of the command line, such as ``uri``, ``jdbc_url`` or ``min_age``. Parameters of a service
                become defaults of its calls.

        Raises:
            ConfigurationError: a setting is unknown or wrong, in a keyword, the environment or the file.
        """
        self._plugins = plugins if plugins is not None else installed()
        groups = setting_groups(self._plugins)
        known = known_settings(groups)
        file = ConfigFile() if config is None else ConfigFile.read(Path(config), keys_of(known))
        check_settings_in(os.environ, known, self._plugins, repositories=file.repositories)
        given = Given.read(groups, settings, file=file, environment=os.environ)
        self._set_up(given, spark, progress)
        _ = self._choice  # what is wrong with it is said at once

    def _set_up(
        self,
        given: Given,
        spark: SparkSession | None,
        progress: Progress,
        clock: Clock = utc_now,
        go_on: GoOn = never_stopped,
    ) -> None:
        self._given, self._progress, self._clock, self._go_on = given, progress, clock, go_on
        disabled = given.settings(PluginSettings).disable_plugin
        self._spark = spark
        self._resources = open_resources(given, self._plugins.without(disabled), spark)
        self._close = weakref.finalize(self, self._resources.close)

    @functools.cached_property
    def _choice(self) -> ConnectorChoice:
        return open_choice(self._given, self._plugins)

    @functools.cached_property
    def _doubts(self) -> tuple[str, ...]:
        return doubts_of(self._choice, self._given)

    @classmethod
    def from_toml(
        cls,
        path: str | os.PathLike[str] = DEFAULT_FILE,
        *,
        spark: SparkSession | None = None,
        progress: Progress = no_progress,
        **settings: Any,
    ) -> Self:
        """A collector with the settings of a configuration file; keywords override them.

        Raises:
            ConfigurationError: the file cannot be read, or a setting is unknown or wrong.
        """
        return cls(config=path, spark=spark, progress=progress, **settings)

    @classmethod
    def from_given(
        cls,
        given: Given,
        *,
        plugins: PluginRegistry,
        spark: SparkSession | None = None,
        progress: Progress = no_progress,
        clock: Clock = utc_now,
        go_on: GoOn = never_stopped,
        ends_process: bool = False,
    ) -> Self:
        """A collector with settings that were already read, such as by a command line.

        Args:
            given: the settings.
            plugins: the installed plugins.
            spark: a session to run on, which stays open.
            progress: told what is done.
            clock: says what time it is; it must never be ahead of the time (S8).
            go_on: asked between the steps of its runs, which it may end.
            ends_process: whether the process ends with it, so that closing need not wait for a session that starts.
        """
        collector = cls.__new__(cls)
        collector._plugins = plugins
        collector._set_up(given, spark, progress, clock, go_on)
        collector._resources.waits_for_engine = not (ends_process and starts_slowly(given, spark))
        return collector

    # ---- what it does ---------------------------------------------------------------------------------
    def check(self) -> list[CheckResult]:
        """Checks the configuration and connects to everything it names, including workers; changes nothing.

        Raises:
            ConfigurationError: something is wrong; the message says what, and what to do.
        """
        results = list(self.checks())
        failed = [f"{result.name}: {result.detail}" for result in results if not result.passed]
        if failed:
            raise ConfigurationError("; ".join(failed))
        return results

    def checks(self, *, engine: bool = True) -> Iterator[CheckResult]:
        """The same checks one by one; failed checks do not raise.

        Args:
            engine: whether to try the engine as well, which starts it.
        """
        name = engine_name(self._given, self._spark).value if engine else None
        parameters = functools.partial(self.parameters_of, GcParameters, {})
        return run_checks(self.new_run, parameters, engine=name, file=self._given.file)

    def mark(self, *, cutoffs: Mapping[str, str] | None = None, **parameters: Any) -> GcReport:
        """Finds what is live, and stores it as a live set, whose id is in the report."""
        return MarkService(self.parameters_of(MarkParameters, told(parameters, cutoffs))).run(self.new_run())

    def sweep(self, live_set: UUID | str, *, delete: bool, **parameters: Any) -> GcReport:
        """Sweeps a live set that was marked before.

        Args:
            live_set: its id.
            delete: whether to delete files (or, with ``defer_deletes``, to record them); if false, it is a dry run.
            parameters: those of ``nessie-gc sweep``.
        """
        given = {**told(parameters), "live_set_id": str(live_set)}
        return SweepService(self.deleting(SweepParameters, given, delete=delete)).run(self.new_run())

    def collect(self, *, delete: bool, cutoffs: Mapping[str, str] | None = None, **parameters: Any) -> GcReport:
        """Marks and sweeps in one run.

        Args:
            delete: whether to delete files (or, with ``defer_deletes``, to record them); if false, it is a dry run.
            cutoffs: patterns of reference names, each with its cut-off policy.
            parameters: those of ``nessie-gc gc``.
        """
        given = told(parameters, cutoffs)
        return GcService(self.deleting(GcParameters, given, delete=delete)).run(self.new_run())

    def delete_deferred(self, live_set: UUID | str, *, delete: bool, **parameters: Any) -> GcReport:
        """Deletes the files that a sweep with ``defer_deletes`` recorded, if they are still unreferenced.

        Args:
            live_set: the id of the live set that was swept.
            delete: whether to delete files; if false, it is a dry run.
            parameters: those of ``nessie-gc deferred-deletes``.
        """
        given = {**told(parameters), "live_set_id": str(live_set)}
        found = self.deleting(DeferredDeletionParameters, given, delete=delete)
        return DeferredDeletionService(found).run(self.new_run())

    def expire_snapshots(self, *, delete: bool, **parameters: Any) -> ExpiryReport:
        """Expires old snapshots, tags and branches of tables, and deletes the files that only they need.

        Args:
            delete: whether to commit and delete; if false, it is a dry run.
            parameters: those of ``nessie-gc expire-snapshots``, such as ``older_than``, ``retain_last`` or ``include``.
        """
        found = self.deleting(ExpireSnapshotsParameters, parameters, delete=delete)
        return ExpireSnapshotsService(found).run(self.new_run())

    def unreferenced_assets(self, table: str, **parameters: Any) -> UnreferencedAssets:
        """The table of unreferenced assets: unreferenced files run by run, until enough runs have seen them.

        Args:
            table: ``CATALOG.NAMESPACE.TABLE``; the catalog is one of the Spark session, or one that PyIceberg knows.
            parameters: those of its calls, also under the names of Nessie's first collector (``maxAgeMicros`` …).
        """
        return UnreferencedAssets(self.new_run, self.parameters_of, table=table, **parameters)

    @property
    def live_sets(self) -> LiveSetService:
        """Lists, shows and deletes the live sets of the store."""
        return LiveSetService(self._resources.store)

    def move_records(self, source: str, target: str, *, dry_run: bool) -> RepositoryRecords:
        """Moves the store's records of a repository to another identity; returns how many there are.

        Args:
            source: their current identity.
            target: their new identity.
            dry_run: whether to count them only.

        Raises:
            ConfigurationError: there is nothing to move, or both identities are equal.
            LeaseHeldError: a collection runs under one of them.
        """
        return RecordsService(self._resources.store).move(source, target, dry_run=dry_run)

    @property
    def plugins(self) -> Sequence[PluginInfo]:
        """The plugins in use, loaded or broken, with what each provides."""
        return self._registry.plugins

    @property
    def services(self) -> Iterable[str]:
        """The names of the installed services."""
        return sorted(self._registry.services.by_name())

    def run(self, service: str, **parameters: Any) -> Report:
        """Runs an installed service, by the name of its command.

        A service with the parameter ``dry_run`` deletes nothing unless ``dry_run=False`` is given here.

        Raises:
            ConfigurationError: the service is unknown, or has no such parameter.
        """
        found = self._registry.services.named(service)
        if "dry_run" in (field.name for field in fields(found.Parameters)):
            said = parameters.get("dry_run")
            parameters["dry_run"] = True if said is None else said
        typed = self.parameters_of(found.Parameters, parameters)
        if not getattr(typed, "dry_run", True):
            refuse_dry_run(self.parameters_of(found.Parameters, {}))
        return found(typed).run(self.new_run())  # type: ignore[arg-type]

    # ---- how ------------------------------------------------------------------------------------------
    def new_run(self, report: GcReport | None = None) -> Run:
        """A run with these settings, for services that are called directly."""
        report = report if report is not None else GcReport()
        for doubt in self._doubts:
            report.warn(doubt)
        return Run(
            resources=self._resources,
            choice=with_vending(self._choice, self._given),
            report=report,
            progress=self._progress,
            clock=self._clock,
            go_on=self._go_on,
        )

    def later_run(self) -> Callable[[], Run]:
        """Returns a factory of the runs in which current plans are applied; it raises if the collector was closed."""
        return functools.partial(self._run_while, self._resources.opened)

    def _run_while(self, opened: int) -> Run:
        """A run for a plan that was made at the given opening of the collector.

        Raises:
            ConfigurationError: it was closed since, which discarded the plan's files.
        """
        if self._resources.opened != opened:
            raise ConfigurationError("the collector was closed, which also closed its plans; plan again")
        return self.new_run()

    def deleting(self, wanted: type[P], given: Mapping[str, Any], *, delete: bool) -> P:
        """The same of a call that deletes, which the settings may forbid."""
        if not isinstance(delete, bool):
            raise ConfigurationError(f"`delete` must be True or False, not {delete!r}")
        if delete:
            refuse_dry_run(self.parameters_of(wanted, given))
        return self.parameters_of(wanted, {**given, "dry_run": not delete})

    @property
    def _registry(self) -> PluginRegistry:
        return self._choice.registry()

    def parameters_of(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one call: those of the collector's settings, and those given now."""
        given = {name: value for name, value in given.items() if value is not None}
        for name, value in given.items():
            refuse_blank(name, value, "the parameter")
        left_out = set(given) | {other for pair in EXCLUSIVE if set(pair) & set(given) for other in pair}
        names = {field.name for field in fields(wanted)} - left_out
        mine = {name: value for name, value in self._given.values.items() if name in names}
        return wanted(**{**mine, **wanted.typed(given)})

    def close(self) -> None:
        """Closes what is open: the repository, the store, and the engine; your own Spark session stays open."""
        self._resources.close()
