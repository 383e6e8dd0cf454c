"""Schedules for Python programs: their runs go on in this process, on a Spark session if there is one."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import UUID

from nessie_gc_core.api.in_process import InProcessRunner
from nessie_gc_core.api.opening import known_settings, setting_groups
from nessie_gc_core.api.schedule_file import ScheduleFile
from nessie_gc_core.config.environment import check_settings_in
from nessie_gc_core.config.file import DEFAULT_FILE, ConfigFile, keys_of
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.lasting import why_store_is_lost
from nessie_gc_core.config.settings import SETTINGS, PluginSettings
from nessie_gc_core.config.specs import shown_store, store_spec
from nessie_gc_core.connectors import LiveSetStore, ScheduleStore, SupportsQuarantine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.policies import parse_duration
from nessie_gc_core.model.schedule import JobRun, RunStatus, ScheduledJob
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.plugins import PluginRegistry, installed
from nessie_gc_core.services.schedule.asking import known_jobs, pause, trigger
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.history import last_success, started_since
from nessie_gc_core.services.schedule.page.figures import figures_of
from nessie_gc_core.services.schedule.page.render import render_schedule
from nessie_gc_core.services.schedule.scheduler import Scheduler
from nessie_gc_core.services.schedule.telling.listeners import LISTENERS_SECONDS, Listeners
from nessie_gc_core.services.schedule.telling.metrics import Metrics
from nessie_gc_core.services.schedule.telling.settings import listeners_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class OpenedSchedule:
    """The schedule of a configuration file, and its store."""

    definition: ScheduleDefinition
    store: ScheduleStore
    place: str
    """The store as messages name it, without secrets."""

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self.definition.name

    def page(
        self,
        live_sets: LiveSetStore,
        *,
        now: datetime,
        zone: tzinfo | None = None,
        days: int | None = None,
        problem: str | None = None,
    ) -> str:
        """The page, with what is in quarantine.

        Args:
            live_sets: knows what is in quarantine.
            now: the time.
            zone: of the times that are shown (default: that of the schedule).
            days: how many days are shown (default: as many as the schedule says).
            problem: why the scheduler cannot use its file, so that no run starts.

        Raises:
            ConfigurationError: the extra ``report`` is not installed.
            StoreError: a store cannot be used.
        """
        held = live_sets.quarantines() if isinstance(live_sets, SupportsQuarantine) else ()
        shown_days = days or self.definition.settings.page_days
        figures = figures_of(self.store, self.name, now=now, days=shown_days, quarantines=held, problem=problem)
        return render_schedule(figures, zone or self.definition.zone)


@contextmanager
def open_schedule(given: Given, plugins: PluginRegistry) -> Iterator[OpenedSchedule]:
    """Opens the schedule of the settings' file.

    Raises:
        ConfigurationError: there is no file, it has no schedule, or something is wrong with it.
    """
    file = given.file
    if not file.name:
        raise ConfigurationError(f"a schedule is read from a file: name it with `config`, or write {DEFAULT_FILE}")
    definition = ScheduleDefinition.read(file, JobDigests(plugins))
    registry = plugins.without(given.settings(PluginSettings).disable_plugin)
    spec = replace(store_spec(given, registry), kind="schedule-store")
    with registry.open(ScheduleStore, spec) as store:
        yield OpenedSchedule(definition, store, shown_store(spec))


class Schedule(Closing):
    """The schedule of a configuration file, whose runs go on in threads of this process.

    The commands ``nessie-gc schedule ...`` work on the same schedule, and so do schedulers on other machines.

    Example::

        with Schedule.from_toml("nessie-gc.toml", spark=spark) as schedule:
            for run in schedule.run_once():
                print(run.job, run.status, run.numbers.get("deleted.bytes"))

    A run in a thread cannot be killed: if it takes too long, is stopped, or loses its lease, it deletes and commits
    nothing after the step under way, which may be a batch of deletions or a rewrite of large partitions. To have runs
    that can be killed, use ``nessie-gc schedule run``.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] = DEFAULT_FILE,
        *,
        spark: SparkSession | None = None,
        clock: Clock = utc_now,
        plugins: PluginRegistry | None = None,
    ) -> None:
        """Opens the schedule.

        Args:
            config: the configuration file (TOML).
            spark: a session for the jobs whose ``engine`` is not ``local``; it stays open.
            clock: says what time it is, for the schedule and its runs. For runs, a clock that is ahead of this
                machine's counts as that one, because files would look older than they are.
            plugins: the plugins to use (default: all installed ones).

        Raises:
            ConfigurationError: the file cannot be read, has no schedule, or something in it or in the environment is
                wrong.
        """
        self._clock = clock
        self._calls, self._is_called = threading.Lock(), False
        self._plugins = plugins if plugins is not None else installed()
        path = Path(config).absolute()
        known = known_settings(setting_groups(self._plugins))
        file = ConfigFile.read(path, keys_of(known))
        check_settings_in(os.environ, known, self._plugins, repositories=file.repositories)
        self._given = Given.read(SETTINGS, {}, file=file, environment=os.environ)
        if (why := why_store_is_lost(self._given, needed=True)) is not None:
            raise ConfigurationError(why)
        with ExitStack() as stack:
            self._opened = stack.enter_context(open_schedule(self._given, self._plugins))
            self._stack = stack.pop_all()
        self._file = ScheduleFile(
            path=path, known=keys_of(known), plugins=self._plugins, name=self._opened.name, before=file
        )
        self._scheduler = Scheduler(
            definition=self._opened.definition,
            store=self._opened.store,
            runner=InProcessRunner(
                path,
                spark=spark,
                clock=clock,
                plugins=self._plugins,
                succeeded=partial(last_success, self._opened.store, self._opened.name, clock=clock),
            ),
            clock=clock,
        )

    @classmethod
    def from_toml(
        cls,
        path: str | os.PathLike[str] = DEFAULT_FILE,
        *,
        spark: SparkSession | None = None,
        clock: Clock = utc_now,
        plugins: PluginRegistry | None = None,
    ) -> Self:
        """The schedule of a configuration file, as the constructor opens it.

        Raises:
            ConfigurationError: the file cannot be read, has no schedule, or something is wrong.
        """
        return cls(path, spark=spark, clock=clock, plugins=plugins)

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self._opened.name

    # ---- runs -------------------------------------------------------------------------------------------
    def run_once(self) -> list[JobRun]:
        """Runs what is due now, one job after the other unless ``parallel`` says otherwise; returns how runs ended.

        A run that fails does not raise: look at its ``status`` and its ``error``. Those that were skipped are there,
        too. The file is read again.

        Raises:
            ConfigurationError: the file is wrong now, or another call goes on.
            StoreError: the store cannot be used.
        """
        with self._called(), self._told(once=True):
            return self._scheduler.run_due()

    def run_forever(self) -> None:
        """Runs what is due until :meth:`stop` is called in another thread, or this one is interrupted.

        If the file changes meanwhile, it is read again.

        Raises:
            ConfigurationError: the file is wrong from the beginning, or another call goes on.
            StoreError: the store cannot be used from the beginning.
        """
        with self._called(), self._told(once=False):
            self._scheduler.run_forever()

    def stop(self) -> None:
        """Lets the runs of another thread's call end after the step under way; they begin again with the next call.

        Does nothing while no call goes on.
        """
        with self._calls:
            if self._is_called:
                self._scheduler.stopping.set()

    def _read(self) -> None:
        """Lets the scheduler have what the file says now, and notice if that changes."""
        self._scheduler.definition = self._definition
        self._scheduler.source = self._file.watch(self._scheduler.definition)

    @property
    def _definition(self) -> ScheduleDefinition:
        """What the file says now."""
        return self._file.read()

    @contextmanager
    def _told(self, *, once: bool) -> Iterator[None]:
        """Lets those who are told of runs hear of those in the block."""
        scheduler, store = self._scheduler, self._opened.store
        listeners = scheduler.listeners = listeners_of(scheduler.definition, store, once=once, clock=self._clock)
        try:
            yield
        finally:
            scheduler.listeners = Listeners([])
            listeners.close(seconds=LISTENERS_SECONDS)

    @contextmanager
    def _called(self) -> Iterator[None]:
        """A call, which can be stopped; it begins with what the file says now.

        Raises:
            ConfigurationError: another call goes on.
        """
        with self._calls:
            if self._is_called:
                raise ConfigurationError("this schedule runs already; stop() ends that, or open it once more")
            self._is_called = True
        try:
            self._read()
            yield
        finally:
            with self._calls:
                self._is_called = False
                self._scheduler.stopping.clear()

    # ---- what is known ------------------------------------------------------------------------------------
    def jobs(self) -> list[ScheduledJob]:
        """The jobs by name: when each is due, and what became of its last run."""
        return known_jobs(self._opened.store, self._definition, self._clock())

    def history(
        self,
        *,
        jobs: Collection[str] = (),
        statuses: Collection[RunStatus | str] = (),
        since: datetime | timedelta | str | None = None,
        limit: int | None = None,
    ) -> list[JobRun]:
        """The runs of the schedule, latest first, without their reports.

        Args:
            jobs: only those of these jobs.
            statuses: only those with these statuses.
            since: only those that started since a time, or that long ago; a text is an ISO duration such as ``P7D``.
            limit: only so many of them.

        Raises:
            ConfigurationError: a duration or a status is invalid.
        """
        earliest = parse_duration(since) if isinstance(since, str) else since
        runs = self._opened.store.runs(
            self.name,
            jobs=jobs,
            statuses=[_status(status) for status in statuses],
            since=started_since(self._clock(), earliest) if isinstance(earliest, timedelta) else earliest,
            limit=limit,
        )
        return list(runs)

    def run(self, run: UUID | str) -> JobRun:
        """One run with its report, which is JSON.

        Raises:
            ConfigurationError: there is none with this id.
        """
        try:
            found = self._opened.store.run(self.name, UUID(str(run)))
        except ValueError:
            found = None
        if found is None:
            raise ConfigurationError(f"there is no run {run}; history() has the ids of all")
        return found

    def page(self, *, time_zone: tzinfo | None = None) -> str:
        """The page about the schedule, as HTML: what is due, what ran, what failed and why, what was reclaimed.

        Args:
            time_zone: of the times that are shown (default: that of the schedule).

        Raises:
            ConfigurationError: the extra ``report`` is not installed.
        """
        registry = self._plugins.without(self._given.settings(PluginSettings).disable_plugin)
        with registry.open(LiveSetStore, store_spec(self._given, registry)) as live_sets:
            problem = self._scheduler.source.problem
            return self._opened.page(live_sets, now=self._clock(), zone=time_zone, problem=problem)

    def metrics(self) -> str:
        """The metrics of jobs and of their last runs, as Prometheus reads them.

        Raises:
            ConfigurationError: the extra ``metrics`` is not installed.
        """
        return Metrics(self.name, self._opened.store, clock=self._clock).text()

    # ---- what is asked ------------------------------------------------------------------------------------
    def trigger(self, *jobs: str) -> None:
        """Lets jobs be due now, whatever their timing and their quiet hours; the next look runs them.

        Raises:
            ConfigurationError: there is no such job, or it is paused.
        """
        definition = self._definition
        definition.check(jobs)
        for job in jobs:
            trigger(self._opened.store, definition, job, at=self._clock())

    def pause(self, *jobs: str) -> None:
        """Pauses jobs: no new run of them starts.

        Raises:
            ConfigurationError: there is no such job.
        """
        self._pause(jobs, paused=True)

    def resume(self, *jobs: str) -> None:
        """Resumes jobs that were paused; one that became due meanwhile starts once.

        Raises:
            ConfigurationError: there is no such job.
        """
        self._pause(jobs, paused=False)

    def _pause(self, jobs: Collection[str], *, paused: bool) -> None:
        definition = self._definition
        definition.check(jobs)
        for job in jobs:
            pause(self._opened.store, definition, job, paused=paused, now=self._clock())

    def close(self) -> None:
        """Closes the store."""
        self._stack.close()


def _status(status: RunStatus | str) -> RunStatus:
    try:
        return RunStatus(str(status).upper())
    except ValueError as error:
        raise ConfigurationError(f"a `status` is one of {', '.join(RunStatus)}, not {status!r}") from error
