"""One run from its start to its end: its lease, its time limit and its outcome."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.schedule import RESUMED, JobRun, Occasion, RunStatus, TableBytes
from nessie_gc_core.model.text import duration_text, one_line
from nessie_gc_core.model.times import Clock, Elapsed
from nessie_gc_core.services.ending import TERMINATED
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.history import log_fields
from nessie_gc_core.services.schedule.outcome import Ended, Outcome, Work, body_of, smaller
from nessie_gc_core.services.schedule.running import Runner
from nessie_gc_core.services.schedule.tables import tables_of

log = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(hours=6)
"""Between two attempts."""
LONGEST_WAIT = timedelta(minutes=15)
"""Between two looks whether another process is through with a repository."""
_LATER = 8
"""Which part of the time since the first of these looks is the pause before the next one."""
MOST_LOST = 3
"""How often a run that was interrupted begins again; then its job waits until it is due again."""
RENEW, ASK, KILL = 1 / 3, 0.6, 0.9
"""After which shares of its lease a run renews it, is asked to end because that fails, and is killed."""
_LOOK_SECONDS = 0.5
"""How often a run is looked after."""
_JUMP_SECONDS = 5.0
"""A clock that jumps by this much against elapsed seconds was set, or its machine was paused."""
_REFUSALS = 2
"""How often a store refuses a whole outcome, although it can be read, before parts of it are left out."""
STOPPED = "the scheduler was stopped"
GIVES_UP = "it does not begin again before it is due again"
_CHANGED = "the file was changed while the run began"
_BY_ITSELF = frozenset({TERMINATED, -signal.SIGTERM, -signal.SIGKILL})
"""How a run ends that its scheduler did not ask to: itself, because it was not told that its lease was renewed, or by a
signal of someone else."""
_STOPPED_TOGETHER_SECONDS = 1.0
"""How much later than its runs a scheduler may hear that all of them are to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long things are waited for, in seconds."""

    stop: float = 60
    """For a run that was asked to end, before it is killed."""
    store: float = 600
    """For a store that does not take an outcome."""
    last: float = 10
    """For the same when the scheduler is stopped."""
    pause: float = 5
    """Before it is asked again."""


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
    is_current: Callable[[JobDefinition], bool] = lambda job: True
    """Whether the file has a job now as its scheduler has read it."""

    def conduct(self, job: JobDefinition, run: JobRun, asked: float) -> Ended:
        """Carries out a run that has its job, and gives it with its outcome, and whether the store has that.

        Args:
            job: its definition.
            run: the run.
            asked: before which moment its lease was asked for, by the clock of elapsed seconds.
        """
        with self._keep_lease(run, asked) as lease:
            try:
                work = self.runner.start(job, run, asked)
            except Exception as error:  # noqa: BLE001 - whatever it is, this run failed, and no other
                finished = Outcome(exit_code=None, error=one_line(error)).finished(run, self.clock())
            else:
                finished = self._until_its_end(job, run, work, lease)
            if finished.status is RunStatus.FAILED and _is_refused(finished) and not self.is_current(job):
                finished = replace(finished, status=RunStatus.INTERRUPTED, error=f"{_CHANGED}: {finished.error}")
            if finished.status is RunStatus.BUSY and retry_of(job, finished) is None:
                finished = replace(finished, status=RunStatus.FAILED, error=f"{finished.error}; {GIVES_UP}")
            is_recorded = self._finish(job, finished)
        return Ended(run=finished, is_recorded=is_recorded)

    def _until_its_end(self, job: JobDefinition, run: JobRun, work: Work, lease: Lease) -> JobRun:
        try:
            return _Conducted(self, job, run, work, lease).until_its_end()
        except Exception as error:
            work.stop(kill=True)
            log.exception("%s cannot be looked after", _named(run), extra=log_fields(run))
            return Outcome(exit_code=None, error=one_line(error)).finished(run, self.clock())

    @contextmanager
    def _keep_lease(self, run: JobRun, asked: float) -> Iterator[Lease]:
        """Renews the lease of a run in a thread of its own, because a store may hang."""
        lease, done = Lease(asked), threading.Event()
        keeper = threading.Thread(target=self._renew, args=(run, lease, done), name="lease", daemon=True)
        keeper.start()
        try:
            yield lease
        finally:
            done.set()

    def _renew(self, run: JobRun, lease: Lease, done: threading.Event) -> None:
        seconds, ahead = self.lease.total_seconds(), self._ahead()
        while not done.wait(min(seconds * RENEW, _LOOK_SECONDS)) and not lease.is_lost:
            asked, before, ahead = self.elapsed(), ahead, self._ahead()
            if asked - lease.renewed < seconds * RENEW and abs(ahead - before) < _JUMP_SECONDS:
                continue
            try:
                lease.is_lost = not self.store.renew_run(self.schedule, run.id, lease=self.lease)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the lease is not renewed
                lease.problem = one_line(error)
                log.warning("cannot renew the lease of %s: %s", _named(run), lease.problem, extra=log_fields(run))
                done.wait(seconds * (ASK - RENEW) / 4)
            else:
                lease.renewed, lease.problem = asked, None

    def _ahead(self) -> float:
        """How far the clock is ahead of elapsed seconds; it jumps when a virtual machine was paused, which do not."""
        return self.clock().timestamp() - self.elapsed()

    def _finish(self, job: JobDefinition, finished: JobRun) -> bool:
        """Records the outcome, and says whether it is; a store that is away is waited for."""
        retry, begun, refusals = retry_of(job, finished), self.elapsed(), 0
        whole, *parts = _offers(finished)
        while (recorded := self._record(whole, retry)) is None:
            is_there = not self.stopping.is_set() and self._can_be_read(finished)
            refusals = refusals + 1 if is_there else 0
            if refusals >= _REFUSALS:
                tried = (self._record(part, retry) for part in parts)
                recorded = next((answer for answer in tried if answer is not None), None)
            waited = self.elapsed() - begun
            if recorded is not None:
                return recorded
            if waited > (self.patience.last if self.stopping.is_set() else self.patience.store):
                return False
            if self.stopping.is_set():
                time.sleep(min(1.0, self.patience.pause))
            else:
                self.stopping.wait(self.patience.pause)
        return recorded

    def _record(self, offer: _Offer, retry: Occasion | None) -> bool | None:
        """Whether the store has the outcome now; ``None`` if it does not say, or not in time when all is stopped."""
        said = list[bool | None]()
        thread = threading.Thread(target=lambda: said.append(self._offer(offer, retry)), name="outcome", daemon=True)
        thread.start()
        while thread.is_alive() and not self.stopping.is_set():
            thread.join(_LOOK_SECONDS)
        thread.join(self.patience.last)
        return said[0] if said else None

    def _can_be_read(self, run: JobRun) -> bool:
        """Whether the store is there, so that it refuses what it does not take."""
        try:
            return self.store.run(self.schedule, run.id) is not None
        except Exception as error:  # noqa: BLE001 - whatever a store raises, it cannot be read
            log.debug("the store cannot be read: %s", one_line(error))
            return False

    def _offer(self, offer: _Offer, retry: Occasion | None) -> bool | None:
        """Whether the store takes the outcome; ``None`` if it does not say, however long that takes."""
        finished, tables = offer
        try:
            return self.store.finish_run(self.schedule, finished, retry=retry, tables=tables) or self._is_known(
                finished
            )
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the outcome is not recorded
            said = one_line(error)
            log.error("cannot record the outcome of %s: %s", _named(finished), said, extra=log_fields(finished))
            return None

    def _is_known(self, finished: JobRun) -> bool:
        """Whether the store has an outcome that it did not take: the answer to the first attempt may have been lost."""
        known = self.store.run(self.schedule, finished.id)
        if known is not None and known.status is finished.status and known.ended == finished.ended:
            return True
        log.error(
            "the outcome of %s is not recorded: another scheduler has taken it for lost",
            _named(finished),
            extra=log_fields(finished),
        )
        return False


_Offer = tuple[JobRun, Sequence[TableBytes]]
"""An outcome, and what it says of tables."""


def _offers(finished: JobRun) -> list[_Offer]:
    """What a store is offered of an outcome: the whole, and then ever less of it.

    A name of a table may be one that it cannot hold, and a report may be too large; then a word of it is kept.
    """
    tables, told = tables_of(finished.report), smaller(finished)
    reports = finished, told, replace(finished, report=None)
    less: list[_Offer] = [(finished, []), *((run, tables) for run in reports[1:])] if tables else []
    return [(finished, tables), *less, *((run, []) for run in reports[1:])]


@dataclass(slots=True)
class Lease:
    """The lease of a run, as the thread that renews it knows it."""

    renewed: float
    """Before which moment it was asked for last, by the clock of elapsed seconds."""
    is_lost: bool = False
    """Whether the store says so."""
    problem: str | None = None
    """Why it could not be renewed last."""


class _Conducted:
    """One run that goes on."""

    def __init__(self, by: Conductor, job: JobDefinition, run: JobRun, work: Work, lease: Lease) -> None:
        self._by, self._job, self._run, self._work, self._lease = by, job, run, work, lease
        self._begun = by.elapsed()
        self._told = lease.renewed
        self._was_late = False
        """Whether it may have ended itself because it was told of its lease too late."""
        self._ended_as: tuple[RunStatus, str] | None = None
        """As what it was asked to end, and why."""
        self._kill_at = math.inf
        """When it is killed, by the clock of elapsed seconds."""

    def until_its_end(self) -> JobRun:
        """Looks after it; gives it with its outcome."""
        while (outcome := self._work.wait(_LOOK_SECONDS)) is None:
            self._look_after_lease()
            self._look_for_reasons_to_end()
            if self._by.elapsed() >= self._kill_at:
                self._work.stop(kill=True)
        now, ended_as = self._by.clock(), self._ended_as or self._as_it_ended_itself(outcome)
        if ended_as is None or outcome.exit_code == 0:
            return outcome.finished(self._run, now)
        status, reason = ended_as
        return replace(outcome.finished(self._run, now, status), error=reason)

    def _as_it_ended_itself(self, outcome: Outcome) -> tuple[RunStatus, str] | None:
        """As what a run ended that its scheduler did not ask to.

        That one was suspended, and did not look at its lease in time. Or both were asked by someone else, who shuts
        down their machine, for example; then the scheduler may hear of it a moment later.
        """
        self._was_late |= self._is_late(self._by.elapsed())
        if outcome.exit_code not in _BY_ITSELF:
            return None
        if self._was_late or self._lease.is_lost:
            return RunStatus.INTERRUPTED, "it was not told in time that its lease was renewed"
        return (RunStatus.INTERRUPTED, STOPPED) if self._by.stopping.wait(_STOPPED_TOGETHER_SECONDS) else None

    def _is_late(self, now: float) -> bool:
        return now - self._told >= self._by.lease.total_seconds() * ASK

    def _look_after_lease(self) -> None:
        """Ends a run that may lose its lease, before another scheduler can begin it again."""
        lease, seconds, now = self._lease, self._by.lease.total_seconds(), self._by.elapsed()
        self._was_late |= self._is_late(now)
        if lease.is_lost:
            self._end(RunStatus.INTERRUPTED, "its lease was lost", kill_at=now)
        elif now - lease.renewed >= seconds * ASK:
            reason = f"its lease could not be renewed: {lease.problem or 'the store does not answer'}"
            self._end(RunStatus.INTERRUPTED, reason, kill_at=lease.renewed + seconds * KILL)
        elif lease.renewed != self._told:
            self._told = lease.renewed
            self._work.beat(lease.renewed)

    def _look_for_reasons_to_end(self) -> None:
        limit, now = self._job.settings.time_limit, self._by.elapsed()
        kill_at = now + self._by.patience.stop
        if self._by.stopping.is_set():
            self._end(RunStatus.INTERRUPTED, STOPPED, kill_at=kill_at)
        elif limit is not None and now - self._begun > limit.total_seconds():
            self._end(
                RunStatus.TIMED_OUT, f"it took longer than its time limit of {duration_text(limit)}", kill_at=kill_at
            )

    def _end(self, status: RunStatus, reason: str, *, kill_at: float) -> None:
        """Asks it to end; it is killed if it has not by then."""
        if self._ended_as is None:
            self._ended_as, self._kill_at = (status, reason), kill_at
            log.warning("%s is stopped: %s", _named(self._run), reason, extra=log_fields(self._run))
            self._work.stop(kill=False)
        elif status is RunStatus.INTERRUPTED:
            self._kill_at = min(self._kill_at, kill_at)


def retry_of(job: JobDefinition, run: JobRun) -> Occasion | None:
    """For when another attempt of a run is due; ``None``: there is none.

    What was stopped with its scheduler begins again at once; what was interrupted in another way does so a few times.
    Neither counts as another attempt. A failure is repeated after a pause that doubles with each attempt, unless
    the configuration is wrong, or nothing is left to go on with.
    """
    assert run.ended is not None
    attempt, retries = run.occasion.attempt, job.settings.retries
    if run.status is RunStatus.INTERRUPTED:
        if run.error == STOPPED:
            return replace(run.occasion, starts=run.ended, begun=True)
        lost = run.occasion.lost + 1
        return replace(run.occasion, starts=run.ended, begun=True, lost=lost) if lost <= MOST_LOST else None
    if run.status is RunStatus.BUSY:
        return _after_another(job, run, run.ended)
    if run.status not in (RunStatus.FAILED, RunStatus.TIMED_OUT) or attempt > retries:
        return None
    if _is_refused(run) or _is_over(run):
        return None
    pause = min(job.settings.retry_after * 2 ** min(attempt - 1, 20), LONGEST_PAUSE)
    return replace(run.occasion, starts=run.ended + pause, attempt=attempt + 1, begun=True)


def _after_another(job: JobDefinition, run: JobRun, ended: datetime) -> Occasion | None:
    """When a run begins again that deleted nothing, because another process worked on its repository.

    That is not another attempt. The longer it takes, the longer are the pauses. It is too late for a run that has not
    begun yet; what was asked for, lost, stopped or is tried again waits until its job is due again.
    """
    occasion = run.occasion
    waits = occasion.by_hand or occasion.begun or occasion.attempt > 1
    first = occasion.due if occasion.by_hand else job.start_of(occasion.due)
    pause = max(job.lease, min((ended - first) / _LATER, LONGEST_WAIT))
    most, again = None if waits else job.settings.max_lateness, ended + pause
    if again >= job.after(max(ended, occasion.due)).starts or (most is not None and again - first > most):
        return None
    return replace(occasion, starts=again)


def _is_refused(run: JobRun) -> bool:
    """Whether the configuration was wrong, so that another attempt does not make it right."""
    return run.exit_code == ConfigurationError.exit_code


def _is_over(run: JobRun) -> bool:
    """Whether it was a sweep that came to its end, so that another one of the same live set would be refused.

    What it could not delete is unreferenced for the next one, too.
    """
    body = body_of(run.report)
    return run.service == RESUMED and bool(body) and "error" not in body and body.get("dry_run") is False


def _named(run: JobRun) -> str:
    return f"the run {run.id} of {run.job}"
