"""One run from its start to its end: it keeps its lease, its time limit and its outcome."""

from __future__ import annotations

import logging
import math
import threading
from dataclasses import dataclass, replace
from datetime import timedelta

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import NessieGcError, StoreError
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import Clock, Elapsed
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.outcome import Outcome, Work
from nessie_gc_core.services.schedule.running import Runner

log = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=6)
"""Between two attempts."""
_LOOK_SECONDS = 0.5
"""How often a run is looked after."""
_RENEW, _GIVE_UP, _KILL = 1 / 3, 0.6, 0.9
"""After which shares of its lease a run renews it, is asked to end because that fails, and is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long things are waited for, in seconds."""

    stop: float = 60
    """For a run that was asked to end, before it is killed."""
    store: float = 600
    """For a store that does not take an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conductor:
    """Carries out runs of one schedule."""

    schedule: str
    store: ScheduleStore
    runner: Runner
    lease: timedelta
    clock: Clock
    elapsed: Elapsed
    stopping: threading.Event
    """Set when all runs are to end."""
    patience: Patience = Patience()

    def conduct(self, job: JobDefinition, run: JobRun) -> JobRun:
        """Carries out a run that has its job, and gives it with its outcome."""
        try:
            work = self.runner.start(job, run)
        except (NessieGcError, OSError) as error:
            return self._finish(job, Outcome(exit_code=None, error=one_line(error)).finished(run, self.clock()))
        return self._finish(job, _Conducted(self, job, run, work).until_its_end())

    def _finish(self, job: JobDefinition, finished: JobRun) -> JobRun:
        """Records the outcome; a store that is away is waited for."""
        retry = retry_of(job, finished)
        begun = self.elapsed()
        while True:
            try:
                if not self.store.finish_run(self.schedule, finished, retry=retry):
                    log.error("%s is not recorded: another scheduler has taken it for lost", _named(finished))
                return finished
            except StoreError as error:
                log.error("cannot record the outcome of %s: %s", _named(finished), error)
                if self.elapsed() - begun > self.patience.store or self.stopping.wait(_LOOK_SECONDS * 10):
                    return finished


class _Conducted:
    """One run that goes on."""

    def __init__(self, by: Conductor, job: JobDefinition, run: JobRun, work: Work) -> None:
        self._by, self._job, self._run, self._work = by, job, run, work
        self._begun = self._renewed = by.elapsed()
        self._ended_as: tuple[RunStatus, str] | None = None
        """As what it was asked to end, and why."""
        self._kill_at = math.inf
        """When it is killed, by the clock of elapsed seconds."""

    def until_its_end(self) -> JobRun:
        """Looks after it; gives it with its outcome."""
        while (outcome := self._work.wait(_LOOK_SECONDS)) is None:
            self._keep_lease()
            self._look_for_reasons_to_end()
            if self._by.elapsed() >= self._kill_at:
                self._work.stop(kill=True)
        now = self._by.clock()
        if self._ended_as is None or outcome.exit_code == 0:
            return outcome.finished(self._run, now)
        status, reason = self._ended_as
        return replace(outcome.finished(self._run, now, status), error=reason)

    def _keep_lease(self) -> None:
        """Renews the lease; a run that may lose it ends before another scheduler can begin it again."""
        lease, now = self._by.lease.total_seconds(), self._by.elapsed()
        if now - self._renewed < lease * _RENEW:
            return
        try:
            if self._by.store.renew_run(self._by.schedule, self._run.id, lease=self._by.lease):
                self._renewed = now
            else:
                self._end(RunStatus.INTERRUPTED, "its lease was lost", kill_at=now)
        except StoreError as error:
            log.warning("cannot renew the lease of %s: %s", _named(self._run), error)
            if now - self._renewed >= lease * _GIVE_UP:
                reason = f"its lease could not be renewed: {error}"
                self._end(RunStatus.INTERRUPTED, reason, kill_at=self._renewed + lease * _KILL)

    def _look_for_reasons_to_end(self) -> None:
        limit, now = self._job.settings.time_limit, self._by.elapsed()
        kill_at = now + self._by.patience.stop
        if self._by.stopping.is_set():
            self._end(RunStatus.INTERRUPTED, "the scheduler was stopped", kill_at=kill_at)
        elif limit is not None and now - self._begun > limit.total_seconds():
            self._end(RunStatus.TIMED_OUT, f"it took longer than its time limit of {limit}", kill_at=kill_at)

    def _end(self, status: RunStatus, reason: str, *, kill_at: float) -> None:
        """Asks it to end; it is killed if it has not by then."""
        self._kill_at = min(self._kill_at, kill_at)
        if self._ended_as is None:
            self._ended_as = status, reason
            log.warning("%s is stopped: %s", _named(self._run), reason)
            self._work.stop(kill=False)


def retry_of(job: JobDefinition, run: JobRun) -> Occasion | None:
    """For when another attempt of a run is due; ``None``: there is none.

    What was interrupted begins again at once, which does not count as another attempt. A failure is repeated after a
    pause that doubles with each attempt.
    """
    assert run.ended is not None
    if run.status is RunStatus.INTERRUPTED:
        return replace(run.occasion, starts=run.ended)
    if run.status not in (RunStatus.FAILED, RunStatus.TIMED_OUT) or run.occasion.attempt > job.settings.retries:
        return None
    pause = min(job.settings.retry_after * 2 ** min(run.occasion.attempt - 1, 20), LONGEST_PAUSE)
    return replace(run.occasion, starts=run.ended + pause, attempt=run.occasion.attempt + 1)


def _named(run: JobRun) -> str:
    return f"the run {run.id} of {run.job}"
