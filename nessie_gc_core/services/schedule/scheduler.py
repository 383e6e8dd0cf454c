"""The scheduler: starts what is due, and takes care of what another scheduler left behind."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.model.text import duration_text, one_line, time_text
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.services.schedule.clocks import mended
from nessie_gc_core.services.schedule.conduct import GIVES_UP, Conductor, Patience, retry_of
from nessie_gc_core.services.schedule.definition import JobDefinition, ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import Source, Unchanging
from nessie_gc_core.services.schedule.history import log_fields
from nessie_gc_core.services.schedule.pool import Pool
from nessie_gc_core.services.schedule.quiet import quiet_until
from nessie_gc_core.services.schedule.running import Runner
from nessie_gc_core.services.schedule.telling.listeners import Listeners
from nessie_gc_core.services.schedule.timing import WRONG_CLOCK

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How often a scheduler looks for what is due."""
SOON_SECONDS = 1.0
"""The same while its file changes."""
_TEND_SECONDS = 300.0
"""How often it looks after clocks and old outcomes."""
_DUE_AT_ONCE = 1000
_NOT_RECORDED: Mapping[str, Any] = {
    "status": RunStatus.INTERRUPTED,
    "error": "its outcome is not recorded, so another scheduler takes it for lost, and begins it again",
}
"""What is said of a run whose outcome the store does not have."""


@dataclass(kw_only=True)
class Scheduler:
    """Runs the jobs of a schedule; several may run those of the same one, on different machines."""

    definition: ScheduleDefinition
    store: ScheduleStore
    runner: Runner
    clock: Clock = utc_now
    elapsed: Elapsed = elapsed_seconds
    patience: Patience = field(default_factory=Patience)
    listeners: Listeners = field(default_factory=lambda: Listeners([]))
    """Told of each run that starts or has ended."""
    source: Source = field(default_factory=Unchanging)
    """Where the definition comes from; if it is another one later, that counts from then on."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set it to stop: what runs is asked to end, and begins again when a scheduler is there."""
    _tended: float | None = None
    _newer: ScheduleDefinition | None = None
    """What the source said, and does not count yet."""
    _away_at: float | None = None
    """When the store could not be used last."""

    def define(self) -> None:
        """Makes the jobs of the definition those of the store; if it has others, a warning says which are replaced.

        Raises:
            StoreError: the store cannot be used.
        """
        found = self.definition.differences(self.store.jobs(self.definition.name))
        if found.names:
            log.warning(
                "this start replaces the jobs of the schedule %r in the store, which another file, or another version "
                "of this one, defined (other: %s; added: %s); make sure that this file is the newest one, and the same "
                "on all machines",
                self.definition.name,
                ", ".join(found.other) or "none",
                ", ".join(found.missing) or "none",
            )
        self._define(self.definition)

    def _define(self, definition: ScheduleDefinition) -> None:
        now = self.clock()
        self.store.define_jobs(definition.name, [job.scheduled(now) for job in definition.jobs.values()], at=now)

    def run_due(self) -> list[JobRun]:
        """Runs all that is due now, and gives the outcomes when all have ended.

        Those of runs that were skipped, or were lost before and do not begin again, are among them. A run whose outcome
        the store does not have is interrupted, whatever it was: another scheduler begins it again.

        Raises:
            StoreError: the store cannot be used; what runs goes on to its end.
        """
        self._begin()
        self._tend()
        with self._pool() as pool:
            outcomes = self._take_over_lost(pool)
            until = self.clock()
            while True:
                try:
                    outcomes += self._start_due(pool, until)
                except StoreError as error:
                    if not pool.running:
                        raise
                    log.error("cannot look for what is due, and try again: %s", error)
                if not pool.running:
                    return outcomes
                pool.wait(LOOK_SECONDS)
                outcomes += self._take_ended(pool)

    def run_forever(self) -> None:
        """Runs what is due until it is told to stop; a store that goes away is waited for.

        Raises:
            StoreError: the store cannot be used from the beginning.
        """
        self._begin()
        with self._pool() as pool:
            while not self.stopping.is_set():
                try:
                    self._read_again()
                    self._tend()
                    if self._knows_who_is_lost():
                        self._take_over_lost(pool)
                    self._start_due(pool, self.clock())
                except Exception as error:  # noqa: BLE001 - a schedule goes on, whatever goes wrong in one look
                    self._away_at = self.elapsed()
                    log.error("cannot look for what is due, and try again: %s", one_line(error))
                pool.wait(SOON_SECONDS if self.source.is_changing else LOOK_SECONDS, stop=self.stopping)
                self._take_ended(pool)
            pool.join()
            self._take_ended(pool)

    def _begin(self) -> None:
        """Begins with the definition as it is now: what an earlier call did not come to is over."""
        self._newer = self._away_at = None
        self.define()

    @contextmanager
    def _pool(self) -> Iterator[Pool]:
        """The threads of runs, which are stopped if this one ends in another way than by waiting for them."""
        with Pool(self.definition.settings.parallel) as pool:
            try:
                yield pool
            except BaseException:
                self.stopping.set()
                raise

    def _knows_who_is_lost(self) -> bool:
        """Whether the store was there long enough for all schedulers to renew the leases of their runs."""
        lease = self.definition.settings.lease.total_seconds()
        return self._away_at is None or self.elapsed() - self._away_at > lease

    def _read_again(self) -> None:
        """Takes what the source says now.

        Its jobs become those of the store, unless another file is used: the store has a job that is in neither, or one
        that is in both is no longer there. Then the two do not take the jobs from each other again and again.
        """
        newer = self._newer = self.source.look() or self._newer
        if newer is None:
            return
        known = {job.name: job for job in self.store.jobs(newer.name)}
        is_known = all(self._is_mine(job) or newer.has(job) for job in known.values())
        removed = self.definition.jobs.keys() & newer.jobs.keys() - known.keys()
        if not known or (is_known and not removed):
            self._define(newer)
        self.definition, self._newer, self._tended = newer, None, None
        log.info("the file changed and was read again: %d jobs", len(newer.jobs))

    # ---- what is due ----------------------------------------------------------------------------------
    def _start_due(self, pool: Pool, until: datetime) -> list[JobRun]:
        """Starts what is due; gives what is skipped."""
        skipped = list[JobRun]()
        if self.source.problem is not None:
            return skipped  # each run would read the same file, and fail
        for job in self.store.due_jobs(self.definition.name, at=until, limit=_DUE_AT_ONCE):
            if self.stopping.is_set() or pool.is_full or self.source.is_changing:
                break
            if self._is_mine(job) and job.next is not None:
                skipped += self._start(pool, job, job.next)
        return skipped

    def _start(self, pool: Pool, scheduled: ScheduledJob, occasion: Occasion) -> list[JobRun]:
        """Starts a job that is due, unless it is quiet, or too late and skipped; another scheduler may be quicker."""
        job, now, name = self.definition.jobs[scheduled.name], self.clock(), self.definition.name
        run = JobRun(
            id=uuid4(),
            job=job.name,
            service=job.service,
            occasion=occasion,
            status=RunStatus.RUNNING,
            started=now,
            host=socket.gethostname(),
            process=os.getpid(),
        )
        then = job.after(now if occasion.by_hand else max(now, occasion.due))
        if (late := self._too_late(job, occasion)) is not None:
            return self._skip(replace(run, status=RunStatus.SKIPPED, ended=now, error=late), then)
        quiet = None if occasion.by_hand else quiet_until(job.quiet, now)
        if quiet is not None:
            self.store.set_next(name, job.name, seen=occasion, then=replace(occasion, starts=quiet))
            return []
        asked = self.elapsed()
        if self.store.start_run(name, run, then=then, lease=self.definition.settings.lease):
            due, attempt = time_text(occasion.due, self.definition.zone), occasion.attempt
            log.info("%s starts, due %s, attempt %d", job.name, due, attempt, extra=log_fields(run))
            self.listeners.started(run)
            pool.submit(self._conductor().conduct, job, run, asked)
        return []

    def _skip(self, skipped: JobRun, then: Occasion) -> list[JobRun]:
        """Records that a run is skipped, unless another scheduler was quicker."""
        if not self.store.start_run(self.definition.name, skipped, then=then, lease=self.definition.settings.lease):
            return []
        log.warning("%s is skipped: %s", skipped.job, skipped.error, extra=log_fields(skipped))
        self.listeners.ended(skipped)
        return [skipped]

    def _is_mine(self, scheduled: ScheduledJob) -> bool:
        """Whether the store has a job as this definition has it; if not, another file is used for the same schedule."""
        return self.definition.has(scheduled)

    def _too_late(self, job: JobDefinition, occasion: Occasion) -> str | None:
        """Why an occasion is skipped; ``None``: it is not. The rule is the same for a run that is to begin again."""
        most, late = job.settings.max_lateness, self.clock() - occasion.starts
        if most is None or late <= most or occasion.by_hand:
            return None
        start = "begin again" if occasion.begun else "start"
        return f"it could not {start} for {duration_text(late)}, and `max-lateness` is {duration_text(most)}"

    def _conductor(self) -> Conductor:
        return Conductor(
            schedule=self.definition.name,
            store=self.store,
            runner=self.runner,
            lease=self.definition.settings.lease,
            clock=self.clock,
            elapsed=self.elapsed,
            stopping=self.stopping,
            patience=self.patience,
            is_current=self.source.has,
        )

    def _take_ended(self, pool: Pool) -> list[JobRun]:
        """Takes the runs that have ended, and reports those that are recorded."""
        ended = pool.take_ended()
        for each in ended:
            run = each.run
            why = f", {run.error}" if run.error else ""
            log.info("%s ended: %s%s", run.job, run.status, why, extra=log_fields(run))
            if each.is_recorded:
                self.listeners.ended(run)
        return [each.run if each.is_recorded else replace(each.run, **_NOT_RECORDED) for each in ended]

    # ---- what others left -----------------------------------------------------------------------------
    def _take_over_lost(self, pool: Pool) -> list[JobRun]:
        """Lets runs begin again whose schedulers are gone; gives those that do not."""
        mine, given_up = pool.runs, list[JobRun]()
        lost_runs = self.store.lost_runs(self.definition.name)
        known = {job.name: job for job in self.store.jobs(self.definition.name)} if lost_runs else {}
        for run in lost_runs:
            if run.id in mine or (run.job in known and not self._is_mine(known[run.job])):
                continue
            now, job = self.clock(), self.definition.jobs.get(run.job)
            lost = replace(
                run,
                status=RunStatus.INTERRUPTED,
                ended=max(now, run.started),
                error=f"its scheduler ({run.host}, process {run.process}) was lost",
            )
            retry = None if job is None else retry_of(job, lost)
            if retry is None:
                lost = replace(lost, error=f"{lost.error}; {GIVES_UP}")
            if self.store.finish_run(self.definition.name, lost, retry=retry, lost=True):
                log.warning("the run %s of %s was interrupted: %s", run.id, run.job, lost.error, extra=log_fields(lost))
                self.listeners.ended(lost)
                given_up += [lost] if retry is None else []
        return given_up

    def _tend(self) -> None:
        """Looks after clocks and old outcomes from time to time."""
        if self._tended is not None and self.elapsed() - self._tended < _TEND_SECONDS:
            return
        self._tended = self.elapsed()
        if self.source.problem is not None:
            log.error("no run starts, because the file cannot be used: %s", self.source.problem)
        known = list(self.store.jobs(self.definition.name))
        if not known:  # the store is another one, or was emptied
            self.define()
            known = list(self.store.jobs(self.definition.name))
        if foreign := self.definition.differences(known).names:  # a newer file may have removed those that are missing
            log.error(
                "the jobs of the schedule %r in the store are not those of this file (such as %s): is another file, or "
                "an older one, used for the same schedule? give one of them another `name`, or restart this scheduler",
                self.definition.name,
                foreign[0],
            )
        self._mend_clocks(known)
        self._forget_old_outcomes()

    def _forget_old_outcomes(self) -> None:
        """Forgets what is old, unless this clock or the store's is wrong: then nobody knows what that is."""
        now, theirs = self.clock(), self.store.now()
        if abs(now - theirs) > WRONG_CLOCK:
            log.info(
                "no old outcome is forgotten, because it is %s by the store's clock, and %s by this one", theirs, now
            )
            return
        self.store.forget_runs(self.definition.name, before=now - self.definition.settings.keep)

    def _mend_clocks(self, jobs: Iterable[ScheduledJob]) -> None:
        """Lets no job wait longer than its timing says, because a clock was ahead."""
        now = self.clock()
        for scheduled in jobs:
            next_ = scheduled.next
            if not self._is_mine(scheduled) or next_ is None:
                continue
            right = mended(self.definition.jobs[scheduled.name], next_, last=scheduled.last, now=now)
            if right != next_:
                log.warning("%s starts %s and not %s: a clock was ahead", scheduled.name, right.starts, next_.starts)
                self.store.set_next(self.definition.name, scheduled.name, seen=next_, then=right)
