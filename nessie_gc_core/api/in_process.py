"""Runs of a schedule in this process, each in a thread: in a notebook, on a Spark session, by another clock."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING

from nessie_gc_core.api.collector import Collector
from nessie_gc_core.api.opening import engine_name, known_settings, setting_groups
from nessie_gc_core.config.environment import check_settings_in
from nessie_gc_core.config.file import ConfigFile, keys_of
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.lasting import memory_setting, why_store_is_lost
from nessie_gc_core.config.settings import SETTINGS, EngineName, EngineSettings
from nessie_gc_core.connectors import AnyService
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.model.text import json_text, one_line, shown, without_passwords
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, never_ahead, utc_now
from nessie_gc_core.plugins import PluginRegistry, installed
from nessie_gc_core.services.ending import Command, Terminated, describe, failure, is_busy, is_expected
from nessie_gc_core.services.output_files import PIPE, PIPED
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.schedule.conduct import ASK
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.job_options import service_of_job
from nessie_gc_core.services.schedule.outcome import Outcome, Work
from nessie_gc_core.services.schedule.running import LastSuccess, begun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_STOP_SECONDS = 0.2
"""How soon a run that waits for its turn notices that it has to end."""

_STEP_SECONDS = 10.0
"""How long a step on a Spark session may take when its run has to end, until its jobs are cancelled."""


class InProcessRunner:
    """Runs each job in a thread of this process, with what ``nessie-gc SERVICE --json`` would read and report.

    A thread cannot be killed. A run that has to end finishes the step under way: the deletion of up to
    ``files_per_step`` files with its records, a rewrite of some partitions or manifests of a table, one commit, or the
    listing of a location. After that it deletes and commits nothing. If its lease was not renewed in time, it ends
    there as well, whether or not anybody asked, so that a process that was suspended only finishes that step when it
    goes on. On a classic Spark session that was given, the Spark jobs of a step that goes on for ten seconds more are
    cancelled; what their tasks are doing at that moment is not undone.
    """

    def __init__(
        self,
        file: Path,
        *,
        spark: SparkSession | None = None,
        clock: Clock = utc_now,
        elapsed: Elapsed = elapsed_seconds,
        plugins: PluginRegistry | None = None,
        succeeded: LastSuccess = lambda job: None,
    ) -> None:
        """Takes what all runs have in common.

        Args:
            file: the configuration file with the jobs.
            spark: a session for the runs of jobs that are not for the local engine; it stays open.
            clock: by which services tell the time; one that is ahead of this machine's counts as that one (S8).
            elapsed: by which leases are counted.
            plugins: the plugins to use (default: all installed ones).
            succeeded: knows when a job succeeded last.
        """
        self._succeeded = succeeded
        self.file = file
        self.spark = spark
        self.clock = never_ahead(clock)
        self.elapsed = elapsed
        self.plugins = plugins if plugins is not None else installed()
        self._own_session = threading.Lock()
        self._counting, self._running, self._begun = threading.Lock(), 0, 0

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        """Starts the thread of a run."""

        def begin(service: str, leased: float, more: Mapping[str, str | bool], /) -> Work:
            return _Thread(self, job, service, leased, more)

        return begun(job, run, leased, begin, self._succeeded)

    def given(self, job: JobDefinition, service: AnyService, more: Mapping[str, str | bool]) -> Given:
        """What a job gives to a service, in the file and in the environment, and more parameters that a runner has.

        Raises:
            ConfigurationError: something in it is wrong, or not what the scheduler has read.
        """
        known = known_settings(setting_groups(self.plugins))
        read = ConfigFile.read(self.file, keys_of(known))
        JobDigests(self.plugins).check(read, job.name, job.digest)
        file = read.of_job(job.name)
        check_settings_in(os.environ, known, self.plugins, repositories=file.repositories)
        given = Given.read([*SETTINGS, service.Parameters], more, file=file, environment=os.environ)
        for name in PIPED:
            if given.values.get(name) == PIPE:
                raise ConfigurationError(f"`{name}` {PIPE!r} is standard output, which a run of a schedule has not")
        return given

    @contextmanager
    def session(self, given: Given, work: _Thread) -> Iterator[SparkSession | None]:
        """The session for a run; runs that start one of their own have it one after the other.

        So do those on a session of Spark Connect, whose client is for one thread at a time.
        """
        if given.settings(EngineSettings).engine is EngineName.LOCAL:
            yield None
        elif engine_name(given, self.spark) is EngineName.LOCAL or self.is_shared:
            yield self.spark
        else:
            while not self._own_session.acquire(timeout=_STOP_SECONDS):
                work.go_on()
            try:
                yield self.spark
            finally:
                self._own_session.release()

    @property
    def is_shared(self) -> bool:
        """Whether runs can have the session that was given at the same time."""
        if self.spark is None:
            return False
        from nessie_gc_core.engines.spark.session import is_connect

        return not is_connect(self.spark)

    @contextmanager
    def alone(self, report: GcReport) -> Iterator[None]:
        """Leaves traffic out of a report if another run went on meanwhile: it is counted for the process as a whole."""
        with self._counting:
            self._running, self._begun = self._running + 1, self._begun + 1
            first, begun = self._running == 1, self._begun
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1
                if not first or self._begun != begun:
                    report.traffic = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What a run works with."""

    service: AnyService
    given: Given

    @property
    def needs_engine(self) -> bool:
        """Whether the command of the service has options of engines."""
        return self.service.uses_engine and self.service.uses_files and self.service.uses_repository


class _Thread:
    """A run that goes on in a thread."""

    def __init__(
        self, by: InProcessRunner, job: JobDefinition, service: str, leased: float, more: Mapping[str, str | bool]
    ) -> None:
        self._more = more
        self._by, self._job, self._service, self._leased = by, job, service, leased
        self._asked, self._ended = threading.Event(), threading.Event()
        self._killed = self._cancelled = False
        self._outcome = Outcome(exit_code=1, error="its thread has ended without an outcome")
        threading.Thread(target=self._run, name=f"job {job.name}", daemon=True).start()

    # ---- for those who look after it ----------------------------------------------------------------------
    def wait(self, seconds: float) -> Outcome | None:
        """Waits for its end."""
        return self._outcome if self._ended.wait(seconds) else None

    def beat(self, renewed: float) -> None:
        """Lets it have its job for a lease since then."""
        self._leased = max(self._leased, renewed)

    def stop(self, *, kill: bool) -> None:
        """Asks it to end at its next step; a thread cannot be killed."""
        self._asked.set()
        if kill and not self._killed and not self._ended.is_set():
            self._killed = True
            log.error("%s cannot be killed, because it is a thread; it ends before its next step", self._job.name)

    # ---- in its thread --------------------------------------------------------------------------------------
    def go_on(self) -> None:
        """Ends the run if it was asked to end, or if its lease was not renewed for too long.

        Raises:
            Terminated: it has to end.
        """
        if self._has_to_end:
            raise Terminated

    @property
    def _has_to_end(self) -> bool:
        return self._asked.is_set() or self._by.elapsed() - self._leased >= self._job.lease.total_seconds() * ASK

    @contextmanager
    def _cancellable(self, spark: SparkSession | None) -> Iterator[None]:
        """Cancels its jobs on a classic session that was given if its step takes too long when it has to end."""
        if spark is None or not self._by.is_shared:
            yield
            return
        from nessie_gc_core.engines.spark.beside import cancellable

        done = threading.Event()
        with cancellable(spark) as cancel:
            threading.Thread(target=self._cancel, args=(cancel, done), name="cancel", daemon=True).start()
            try:
                yield
            finally:
                done.set()

    def _cancel(self, cancel: Callable[[], None], done: threading.Event) -> None:
        """Waits until it has to end, and a little longer; cancels its jobs until there are no more."""
        while not self._has_to_end:
            if done.wait(_STOP_SECONDS):
                return
        while not done.wait(_STEP_SECONDS):
            self._cancelled = True
            log.info("%s has to end: its Spark jobs are cancelled", self._job.name)
            try:
                cancel()
            except Exception as error:  # noqa: BLE001 - whatever Spark raises, the run ends after its step all the same
                log.warning("the Spark jobs of %s cannot be cancelled: %s", self._job.name, shown(one_line(error)))

    def _run(self) -> None:
        try:
            self._outcome = self._until_its_end()
        finally:
            self._ended.set()

    def _until_its_end(self) -> Outcome:
        """Carries out the service, and ends as its command does."""
        report, read = GcReport(), None
        try:
            service = service_of_job(self._by.plugins, self._service)
            read = _Read(service=service, given=self._by.given(self._job, service, self._more))
            return self._carried_out(read, report)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the run's outcome
            if self._cancelled and isinstance(error, Exception):
                log.info("%s: %s", self._job.name, shown(one_line(error)))
                error = Terminated()
            command = _command(self._service, read, report)
            failed = failure(*describe(error, command), command, busy=is_busy(error))
            log.error("%s: %s", self._job.name, failed.message)
            if not is_expected(error):  # its texts may have come from data, or hold what a library was given (S28)
                log.debug(
                    "%s: %s", self._job.name, shown(without_passwords("".join(format_exception(error))), lines=True)
                )
            return Outcome(exit_code=failed.exit_code, report=json_text(with_format(failed.body)))

    @contextmanager
    def _session(self, read: _Read) -> Iterator[SparkSession | None]:
        """The session for its service; one that needs no engine waits for no session of another run."""
        if read.needs_engine:
            with self._by.session(read.given, self) as spark:
                yield spark
        else:
            yield None

    def _carried_out(self, read: _Read, report: GcReport) -> Outcome:
        service, given = read.service, read.given
        parameters = given.settings(service.Parameters)
        why = why_store_is_lost(given, needed=service.lasting_store) if service.uses_repository else None
        if why is not None:
            raise ConfigurationError(why)
        with (
            self._session(read) as spark,
            self._cancellable(spark),
            Collector.from_given(
                given, plugins=self._by.plugins, spark=spark, clock=self._by.clock, go_on=self.go_on
            ) as collector,
        ):
            self.go_on()
            with self._by.alone(report):
                found = service(parameters).run(collector.new_run(report))  # type: ignore[arg-type]  # see AnyService
            return Outcome(exit_code=found.exit_code, report=json_text(with_format(found.to_dict()), indent=2))


def _command(service: str, read: _Read | None, report: GcReport) -> Command:
    """What was run, for what is said of its end."""
    if read is None:
        return Command(name=service, report=report)
    in_memory = read.service.uses_repository and memory_setting(read.given) is not None
    defers, dry_run = (bool(read.given.values.get(name)) for name in ("defer_deletes", "dry_run"))
    return Command(name=read.service.name, report=report, in_memory=in_memory, defers=defers, dry_run=dry_run)
