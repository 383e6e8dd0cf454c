"""The contract of schedule stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator
from datetime import date, datetime, timedelta
from uuid import UUID

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.schedule import (
    DayOfRuns,
    JobRun,
    Occasion,
    RunStatus,
    ScheduledJob,
    TableBytes,
    TableDay,
)


class ScheduleStore(Connector):
    """Keeps the jobs of schedules, who runs each of them now, and the outcomes of their runs.

    Example of a whole plugin::

        from multiprocessing.connection import Client
        from nessie_gc_core import ConnectorOptions, hookimpl, option, options
        from nessie_gc_core.connectors import ScheduleStore
        from nessie_gc_core.errors import StoreError

        @options
        class RemoteOptions(ConnectorOptions):
            socket: str = option("schedule.sock", help="socket of a process that has a store and answers calls")

        def remote(verb):
            def call(self, *args, **named):
                try:
                    with Client(self.options.socket) as connection:
                        connection.send((verb, args, named))
                        answer, error = connection.recv()
                except (OSError, EOFError) as broken:
                    raise StoreError(f"{self.options.socket} does not answer: {broken}") from broken
                if error is not None:
                    raise error
                return iter(answer) if isinstance(answer, list) else answer

            return call

        verbs = {verb: remote(verb) for verb in ScheduleStore.__abstractmethods__}
        RemoteSchedule = type("RemoteSchedule", (ScheduleStore,), {"name": "remote", "Options": RemoteOptions, **verbs})

        @hookimpl
        def nessie_gc_register_schedule_store():
            return RemoteSchedule

    Several schedulers may use one store at once, so each verb that changes something is one step, and compares what it
    finds with what its caller has seen: it returns whether the caller was right. Two of them never run one job at the
    same time, because a run holds its job until it is finished or its lease expires. Only the store's clock decides
    what has expired. All other times are the caller's: aware UTC datetimes with microseconds that come back equal. Text
    of any length comes back complete. A store is used from several threads at once.
    """

    # ---- jobs -----------------------------------------------------------------------------------------
    @abstractmethod
    def define_jobs(self, schedule: str, jobs: Collection[ScheduledJob], *, at: datetime | None = None) -> None:
        """Makes these the jobs of a schedule.

        New ones are added. Those with another ``definition`` get the given service, timing, digest, definition and next
        occasion; all others stay as they are, except for the service, the timing and the digest. An occasion stays in
        any case if it waits (:meth:`Occasion.waits`), or what it is for would be lost. Whether a job is
        paused, its ``last``, its outcome and its run stay in any case. Jobs that are not given are removed; their runs
        stay. A job that is added again while a run of it is not finished has that run, and is paused if it was so when
        it was removed.

        Args:
            schedule: the schedule.
            jobs: all of its jobs.
            at: which occasions wait is asked for this instant.
        """

    @abstractmethod
    def add_job(self, schedule: str, job: ScheduledJob) -> None:
        """Adds a job, as :meth:`define_jobs` does, unless there is one of its name; changes and removes no other."""

    @abstractmethod
    def jobs(self, schedule: str) -> Iterator[ScheduledJob]:
        """All jobs of a schedule, in any order."""

    @abstractmethod
    def due_jobs(self, schedule: str, *, at: datetime, limit: int) -> list[ScheduledJob]:
        """Jobs that may start at an instant, the longest waiting first: neither paused nor running."""

    @abstractmethod
    def set_paused(self, schedule: str, name: str, *, paused: bool) -> bool:
        """Pauses a job, or resumes it; false if there is no such job."""

    @abstractmethod
    def set_next(self, schedule: str, name: str, *, seen: Occasion | None, then: Occasion | None) -> bool:
        """Changes for when a job is due next; false if that was not ``seen``, or there is no such job."""

    # ---- runs -----------------------------------------------------------------------------------------
    @abstractmethod
    def start_run(self, schedule: str, run: JobRun, *, then: Occasion | None, lease: timedelta) -> bool:
        """Records a run, and gives its job to it, until it is finished or the lease expires.

        The job's next occasion becomes ``then``, and its ``last`` the run's ``due`` unless that is earlier. A run that
        has ended already (``SKIPPED``) is only recorded: it takes no lease, and its status is the job's outcome.

        Returns:
            False, and nothing is changed, if the job is paused, has a run, is due for another occasion than the run's,
            or does not exist.
        """

    @abstractmethod
    def renew_run(self, schedule: str, run: UUID, *, lease: timedelta) -> bool:
        """Renews the lease of a run; false if it is finished or unknown, or if its lease has expired."""

    @abstractmethod
    def finish_run(
        self,
        schedule: str,
        run: JobRun,
        *,
        retry: Occasion | None = None,
        lost: bool = False,
        tables: Collection[TableBytes] = (),
    ) -> bool:
        """Records the outcome of a run, and frees its job, whose outcome is the status.

        Args:
            schedule: the schedule.
            run: with its final status, end, exit code, error, numbers and report.
            retry: for when another attempt is due; dropped if the job's next occasion starts no later.
            lost: whether its lease must have expired, because somebody else than its owner finishes it.
            tables: what its report says of tables, each once, for :meth:`table_days`.

        Returns:
            False, and nothing is changed, if the run is finished or unknown, or must have expired and has not.
        """

    @abstractmethod
    def lost_runs(self, schedule: str) -> list[JobRun]:
        """Runs that are not finished and whose lease has expired, without reports."""

    @abstractmethod
    def run(self, schedule: str, run: UUID) -> JobRun | None:
        """A run with its report; ``None`` if there is none with this id."""

    @abstractmethod
    def runs(
        self,
        schedule: str,
        *,
        jobs: Collection[str] = (),
        statuses: Collection[RunStatus] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[JobRun]:
        """Runs, latest start first, streamed, without reports.

        Args:
            schedule: the schedule.
            jobs: only those of these jobs, if any are named.
            statuses: only those with these statuses, if any are named.
            since: only those that started then or later.
            until: only those that started before.
            limit: at most so many.
        """

    @abstractmethod
    def last_runs(self, schedule: str, *, until: datetime) -> Iterator[JobRun]:
        """Of each job of a schedule and each status, the run that started last, in any order, without reports.

        Runs that are going on are left out, and those of jobs that the schedule has no more. A store looks each of them
        up: it reads no history, so that ten thousand jobs are a matter of seconds.

        Args:
            schedule: the schedule.
            until: only those that started before.
        """

    @abstractmethod
    def days(self, schedule: str, *, since: date) -> list[DayOfRuns]:
        """How many runs of each status started on each day, the earliest day first; no rows where there are none.

        A year of runs is a matter of milliseconds: a store counts them where they are.
        """

    @abstractmethod
    def table_days(self, schedule: str, *, since: date, most: int) -> list[TableDay]:
        """What runs said of tables, for each day on which one did, the earliest first.

        Args:
            schedule: the schedule.
            since: the first day.
            most: so many tables have rows of their own: those with the most bytes reclaimed since, and garbage at once,
                together. All others, and what runs said of tables that they do not name, are summed for each day.

        A sum may be of any size: metadata that a stranger wrote must not cost the page. From 2^53 on, it may be
        rounded, and one table's bytes of one day may count as 2^62 if they are more.
        """

    @abstractmethod
    def now(self) -> datetime:
        """The store's clock, which decides what has expired; in UTC.

        Schedulers forget no runs if it differs much from theirs.
        """

    @abstractmethod
    def forget_runs(self, schedule: str, *, before: datetime) -> int:
        """Removes runs that started before; those that are not finished stay. Returns how many were removed.

        Of those that started before, the newest of each job stays, and its newest that ``SUCCEEDED``: else nobody knows
        what became of a job that has not run since. What runs said of tables on earlier days goes in any case.
        """
