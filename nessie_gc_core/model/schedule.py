"""Scheduled jobs and their runs, as a schedule store keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID


class RunStatus(StrEnum):
    """What became of a run."""

    RUNNING = "RUNNING"
    """It is going on."""
    SUCCEEDED = "SUCCEEDED"
    """Its exit code was 0."""
    FAILED = "FAILED"
    """It had another exit code: something failed, stayed unknown, or could not be started."""
    TIMED_OUT = "TIMED_OUT"
    """It was stopped because it reached its time limit."""
    INTERRUPTED = "INTERRUPTED"
    """The scheduler stopped, or its machine did."""
    NOT_DUE = "NOT_DUE"
    """``health`` found nothing that it would do."""
    BUSY = "BUSY"
    """Another process worked on its repository, so it deleted nothing; it begins again."""
    SKIPPED = "SKIPPED"
    """It was not started: too late."""


WENT_WRONG = (RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.INTERRUPTED)
"""What became of runs that began and did not succeed."""
RECLAIMED = ("deleted.bytes", "purged.bytes")
"""Numbers of reports that say how many bytes are gone for good."""
RECLAIMED_INSIDE = ("outcomes.deleted.bytes", "collection.deleted.bytes")
"""The same of reports that say it further inside; the first of them counts."""
RECLAIMED_UNTIL_THEN = ("done.deleted.bytes", "done.purged.bytes")
"""The same of runs that failed."""
RESUMED = "sweep"
"""The service whose report says what it deleted before it was resumed as well: if it fails, nothing counts yet."""
MOST_BYTES = 2**56
"""More than any run can reclaim: a number beyond it is a mistake of whoever reports it."""
MOST_DAYS = 400
"""So many days can be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One time for which a job is due."""

    due: datetime
    """The instant that the job's timing names."""
    starts: datetime
    """When it may start: later than ``due`` because of jitter, of quiet hours, or of a pause before another attempt."""
    attempt: int = 1
    """Which attempt it is, from 1; runs that were interrupted do not count."""
    by_hand: bool = False
    """Whether somebody asked for it, instead of the timing."""
    begun: bool = False
    """Whether an earlier run for it has begun its work, so that this one goes on with that."""
    lost: int = 0
    """How many runs for it were interrupted, except by a stop of their scheduler."""

    def waits(self, at: datetime | None) -> bool:
        """Whether it has to come even if the timing of its job changes: by hand, for another run, or due already."""
        return self.by_hand or self.begun or self.attempt > 1 or (at is not None and self.starts <= at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledJob:
    """One job of a schedule."""

    name: str
    """Unique within the schedule."""
    service: str
    """The service that it runs."""
    timing: str
    """When it is due, for people."""
    definition: str
    """A digest of all that decides when it is due; if it differs, the next occasion is no longer right."""
    next: Occasion | None
    """For when it is due next; ``None``: never."""
    digest: str = ""
    """Of all that decides what its runs do, such as their options: a scheduler runs what it has read itself."""
    last: datetime | None = None
    """The latest ``due`` of an occasion that was started or skipped."""
    outcome: RunStatus | None = None
    """What became of the run that ended last; ``None``: none has."""
    paused: bool = False
    run: UUID | None = None
    """The run that has the job now, even if its lease has expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One run of a job, and its outcome."""

    id: UUID
    job: str
    service: str
    occasion: Occasion
    status: RunStatus
    started: datetime
    ended: datetime | None = None
    exit_code: int | None = None
    error: str | None = None
    """One line; ``None`` if there is none."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The numbers of its report, by name, such as ``deleted.bytes``."""
    report: str | None = None
    """The whole report, as JSON."""
    host: str = ""
    process: int = 0

    @property
    def reclaimed(self) -> int:
        """Bytes that are gone for good."""
        found = sum(self.numbers.get(name, 0) for name in RECLAIMED)
        names = RECLAIMED_INSIDE if self.service == RESUMED else (*RECLAIMED_INSIDE, *RECLAIMED_UNTIL_THEN)
        inside = next((self.numbers[name] for name in names if name in self.numbers), 0)
        return min(max(0, found + inside), MOST_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfRuns:
    """The runs that started on one day, UTC, and have one status."""

    day: date
    status: RunStatus
    runs: int
    """How many."""
    reclaimed: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBytes:
    """What the report of a run says of one table."""

    table: str | None
    """Its dotted name; ``None``: all tables together that are not named."""
    garbage: int = 0
    """Bytes that were found to be garbage."""
    reclaimed: int = 0
    """Bytes that are gone for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDay:
    """What the runs that started on one day, UTC, say of one table."""

    day: date
    table: str | None
    """Its dotted name; ``None``: all tables together that are not named."""
    garbage: int
    """Bytes that were found to be garbage, by the run that found the most."""
    reclaimed: int
    """Bytes that are gone for good, of all runs."""
