"""The stored result of one mark run, its status machine, and the progress of its sweep."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.policies import SWEPT_ONLY_BY, is_sweeper
from nessie_gc_core.model.row_digests import RowsDigest, RowValues
from nessie_gc_core.model.text import time_text

EXPECTED = "~expired"
"""Ends the ids of commits that are not made yet. No commit has it, so that every re-check walks the real ones (S9)."""


class LiveSetStatus(StrEnum):
    """Status machine of a live set.

    IDENTIFY_IN_PROGRESS -> IDENTIFY_SUCCESS | IDENTIFY_FAILED; IDENTIFY_SUCCESS -> EXPIRY_IN_PROGRESS;
    EXPIRY_IN_PROGRESS -> EXPIRY_SUCCESS | EXPIRY_FAILED; a resumed sweep goes from EXPIRY_IN_PROGRESS or EXPIRY_FAILED
    to EXPIRY_IN_PROGRESS. Unlike in the Java tool, a failed or killed sweep can be resumed (S15).
    """

    IDENTIFY_IN_PROGRESS = "IDENTIFY_IN_PROGRESS"
    """Its mark is under way."""
    IDENTIFY_SUCCESS = "IDENTIFY_SUCCESS"
    """Its mark is done; it can be swept."""
    IDENTIFY_FAILED = "IDENTIFY_FAILED"
    """Its mark failed."""
    EXPIRY_IN_PROGRESS = "EXPIRY_IN_PROGRESS"
    """Its sweep is under way, or was killed."""
    EXPIRY_SUCCESS = "EXPIRY_SUCCESS"
    """Its sweep is done; single deletions may have failed."""
    EXPIRY_FAILED = "EXPIRY_FAILED"
    """Its sweep failed, and can be resumed."""


def next_step(live_set_id: uuid.UUID, status: LiveSetStatus) -> str:
    """What to do with a live set of this status, as part of an error; calls are written as `` `mark()` ``."""
    sweep, mark = next_call("sweep", live_set_id=live_set_id), next_call("mark")
    resume = f"{next_call('sweep', resume=True, live_set_id=live_set_id)}, which deletes files"
    delete = next_call("delete", live_set_id=live_set_id)
    steps = {
        LiveSetStatus.IDENTIFY_IN_PROGRESS: f"wait for its mark to end; if its process is gone, run {mark} for a new "
        f"one, and forget this one with {delete}, which deletes no file",
        LiveSetStatus.IDENTIFY_SUCCESS: f"sweep it with {sweep}, which deletes files",
        LiveSetStatus.IDENTIFY_FAILED: f"its mark failed; run {mark} for a new one",
        LiveSetStatus.EXPIRY_IN_PROGRESS: f"wait for its sweep to end; if its process is gone, run {resume}",
        LiveSetStatus.EXPIRY_SUCCESS: f"it is swept; run {mark} for a new one",
        LiveSetStatus.EXPIRY_FAILED: f"finish its sweep with {resume}",
    }
    return steps[status]


def marked_with(first: uuid.UUID, repository: str) -> uuid.UUID:
    """The id of the live set of a repository that is marked together with a live set of another one."""
    return uuid.uuid5(first, repository)


def is_of_several(live_set_id: uuid.UUID) -> bool:
    """Whether a live set was marked together with one of another repository, which comes first and names it."""
    return live_set_id.version == 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceHead:
    """A reference as the mark saw it."""

    name: str
    """Name of the branch or tag."""
    commit_id: str | None
    """The head; ``None`` if the reference has no commit yet."""
    policy: str
    """Text of the cut-off policy that applied (parsable by ``CutoffPolicy.parse``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedSweep:
    """What a sweep did about contents that are gone (S20)."""

    after: timedelta
    """It swept those that had been gone for longer than this duration."""
    left: int
    """In the places of how many of them something stayed, because it failed, was spared, frozen or too young."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSet:
    """One mark run. All times are UTC with microseconds (S17)."""

    id: uuid.UUID
    """Made by the mark; unique."""
    repository: str
    """Identity of the repository, as its connector gives it; sweeping against another one is refused."""
    created: datetime
    """When its mark began, UTC."""
    status: LiveSetStatus
    """How far it is."""
    references_listed: datetime | None = None
    """When the references were listed, UTC: the instant from which files age (S8).

    By the clock of the mark's machine, of the repository or of the live-set store, whichever shows the least.
    """
    identify_completed: datetime | None = None
    """When its mark ended, UTC."""
    expiry_started: datetime | None = None
    """When its sweep began, UTC; of several attempts, the first."""
    expiry_completed: datetime | None = None
    """When its sweep ended, UTC."""
    error_message: str | None = None
    """Why it failed; never truncated (S17)."""
    policies: tuple[str, ...] = ()
    """The cut-off policies of the mark, as ``ReferencePolicies.to_texts`` writes them.

    The last one may say which service alone may sweep it; see :attr:`swept_only_by`.
    """
    heads: tuple[ReferenceHead, ...] = field(default=(), repr=False)
    """The references and their heads at mark time; the re-check walks those that have moved since (S9)."""
    versions: RowsDigest | None = None
    """What its content versions were when its mark ended (S34); ``None``: an earlier release marked it."""
    deletions: RowsDigest | None = None
    """The same of its deferred deletions when its sweep ended, without those that were removed since."""
    dropped: DroppedSweep | None = None
    """What its last sweep did about contents that are gone; ``None``: nothing."""

    @property
    def is_imported(self) -> bool:
        """Whether another tool marked it: nobody knows with which references and policies, or what it left out."""
        return not self.policies

    @property
    def swept_only_by(self) -> str | None:
        """Name of the service that alone may sweep it, because it deletes less than a sweep; ``None``: any may."""
        said = [text for text in self.policies if is_sweeper(text)]
        return said[-1].removeprefix(SWEPT_ONLY_BY) if said else None

    @property
    def is_of_expiry(self) -> bool:
        """Whether it shows tables as they will be after snapshots expire; only an expiry sweeps it."""
        return any((head.commit_id or "").endswith(EXPECTED) for head in self.heads)


def wrong_status(live_set: LiveSet, expected: Iterable[LiveSetStatus]) -> str:
    """The error for a live set with an unexpected status, with what to do."""
    names = " or ".join(sorted(expected))
    return f"live set {live_set.id} is {live_set.status}, expected {names}: {next_step(live_set.id, live_set.status)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDeletion:
    """One file whose deletion was deferred."""

    location: str
    """Raw location with a trailing slash."""
    path: str
    """Raw key below the location."""
    size: int | None
    """Size in bytes when the sweep listed it; ``None`` if the store does not say."""
    modified: datetime | None
    """Last modification, UTC, by the store's clock; ``None`` if unknown."""

    @property
    def values(self) -> RowValues:
        """All that a store keeps of it, for digests (S34)."""
        return (self.location, self.path, self.size, self.modified)


NEWEST_ANNOUNCED = "newest_announced"
"""A further entry of the outcomes of a step that is not done: not files, but when the newest file that it announced
was modified, in microseconds since the epoch."""


class SweepStepState(StrEnum):
    """A step is announced before its first deletion and closed after its last (S15)."""

    STARTED = "STARTED"
    """It is announced; some of its files may be deleted."""
    DONE = "DONE"
    """Each of its files has an outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep:
    """Progress of a sweep: one part of one sweep unit."""

    unit: str
    """Canonical root of the sweep unit."""
    part: str
    """Which attempt, and which part of the unit, ``a:i/n``: the i-th of n parts, by a stable hash of the keys."""
    state: SweepStepState
    """Whether it is done."""
    planned_files: int
    """How many files it was announced to delete."""
    planned_bytes: int
    """Their size in bytes."""
    outcomes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each outcome its files and bytes; until the step is done only those that were to be spared, and
    :data:`NEWEST_ANNOUNCED`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenContent:
    """Register entry: a content at a location; outlives live sets."""

    content_id: str
    """Stable id of the content."""
    content_type: str
    """For instance :data:`ICEBERG_TABLE`."""
    location: str
    """Canonical base location."""
    first_seen: datetime
    """When a sweep first saw the content there, UTC."""
    last_seen: datetime
    """When a sweep last saw the content there, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """Who currently collects a repository; both times are by the store's clock."""

    owner: str
    """Identifies the holder, across all processes."""
    host: str
    """Name of the machine."""
    process: int
    """Id of the process on that machine."""
    since: datetime
    """When it began, UTC; renewing changes nothing here."""
    until: datetime
    """When the lease expires, UTC, unless it is renewed."""

    def __str__(self) -> str:
        since, until = (time_text(time) for time in (self.since, self.until))
        return f"process {self.process} on {self.host} (owner {self.owner!r}, since {since}, until {until})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedPlace:
    """That a content was read to its end, or that it then had files in a place outside its own locations (S31)."""

    content_id: str
    """The content."""
    place: str = ""
    """Canonical, with a slash at its end; empty: the content was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRecords:
    """How many records a store keeps under the identity of a repository."""

    live_sets: int
    """How many live sets."""
    tombstones: int
    """How many tombstones."""
    seen_contents: int
    """How many entries of the register of contents."""
    tags: int = 0
    """How many records of tags."""
    held_files: int = 0
    """How many records of files in quarantine."""
    reached_places: int = 0
    """How many entries of the register of what contents reached."""

    @property
    def any(self) -> bool:
        """Whether there is one."""
        registers = self.tombstones or self.seen_contents or self.reached_places
        return bool(self.live_sets or registers or self.tags or self.held_files)
