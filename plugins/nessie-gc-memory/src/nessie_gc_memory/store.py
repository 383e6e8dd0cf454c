"""The live-set store ``memory``."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar
from uuid import UUID

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.errors import LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model.live_sets import DroppedSweep, FileDeletion, LiveSet, LiveSetStatus, ReferenceHead, SweepStep
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_memory.registers import Data, RegisterVerbs, Rows, utc, utc_now

_PORTION = 1000
"""So many rows are put in while the lock is held."""
_RESUMABLE = (LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED)


@options
class MemoryStoreOptions(ConnectorOptions):
    """Which store."""

    store: str = option("", help="name of a store that this process shares (default: a new store)")


class MemoryLiveSetStore(RegisterVerbs):
    """Keeps everything in this process, and nothing beyond it: registers too are gone when the process ends."""

    name = "memory"
    Options = MemoryStoreOptions
    executor_safe = False
    _shared: ClassVar[dict[str, Data]] = {}

    def __init__(self, options: MemoryStoreOptions) -> None:
        super().__init__(options)
        self.clock = utc_now
        self._data = self._shared.setdefault(options.store, Data()) if options.store else Data()

    # ---- status ---------------------------------------------------------------------------------------
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set."""
        with self._data.lock:
            known = self._data.live_sets.get(live_set_id)
            if known is not None:
                raise LiveSetStateError(
                    f"live set {live_set_id} already exists, in {known.live_set.status}; use another id"
                )
            live_set = LiveSet(
                id=live_set_id,
                repository=repository,
                created=utc(created),
                status=LiveSetStatus.IDENTIFY_IN_PROGRESS,
                policies=tuple(policies),
            )
            self._data.live_sets[live_set_id] = Rows(live_set)

    def finish_identify(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        references_listed: datetime | None = None,
        heads: Iterable[ReferenceHead] = (),
        failure: str | None = None,
        versions: RowsDigest | None = None,
    ) -> None:
        """Ends the mark."""
        listed = None if references_listed is None else utc(references_listed)
        known_heads = tuple(heads)
        with self._in(live_set_id, LiveSetStatus.IDENTIFY_IN_PROGRESS) as rows:
            rows.live_set = replace(
                rows.live_set,
                status=LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED,
                identify_completed=utc(at),
                references_listed=listed,
                heads=known_heads,
                error_message=failure,
                versions=versions,
            )

    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """Starts or resumes the sweep."""
        allowed = _RESUMABLE if resume else (LiveSetStatus.IDENTIFY_SUCCESS,)
        with self._in(live_set_id, *allowed) as rows:
            started = rows.live_set.expiry_started
            rows.live_set = replace(
                rows.live_set,
                status=LiveSetStatus.EXPIRY_IN_PROGRESS,
                expiry_started=started if started is not None else utc(at),
                expiry_completed=None,
                error_message=None,
            )

    def finish_expire(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        failure: str | None = None,
        deletions: RowsDigest | None = None,
        dropped: DroppedSweep | None = None,
    ) -> None:
        """Ends the sweep."""
        with self._in(live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS) as rows:
            rows.live_set = replace(
                rows.live_set,
                status=LiveSetStatus.EXPIRY_SUCCESS if failure is None else LiveSetStatus.EXPIRY_FAILED,
                expiry_completed=utc(at),
                error_message=failure,
                deletions=deletions,
                dropped=dropped,
            )

    def get(self, live_set_id: UUID) -> LiveSet:
        """The live set."""
        with self._in(live_set_id) as rows:
            return rows.live_set

    def live_sets(self) -> Iterator[LiveSet]:
        """All live sets, newest first."""
        with self._data.lock:
            found = [rows.live_set for rows in self._data.live_sets.values()]
        yield from sorted(found, key=lambda live_set: live_set.created, reverse=True)

    def delete(self, live_set_id: UUID) -> None:
        """Deletes a live set and its rows."""
        with self._in(live_set_id):
            del self._data.live_sets[live_set_id]

    # ---- content versions -----------------------------------------------------------------------------
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions; how many were new."""
        new = 0
        with self._in(live_set_id, LiveSetStatus.IDENTIFY_IN_PROGRESS):
            pass
        for version in versions:
            time = version.commit_time
            kept = version if time is None else replace(version, commit_time=utc(time))
            with self._in(live_set_id, LiveSetStatus.IDENTIFY_IN_PROGRESS) as rows:
                new += rows.versions.setdefault(version.identity, kept) is kept
        return new

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions, as they are when the first is asked for."""
        with self._data.lock:
            found = list(self._rows(live_set_id).versions.values())
        wanted = None if content_ids is None else frozenset(content_ids)
        for version in found:
            if wanted is None or version.content_id in wanted:
                yield version

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids."""
        yield from {version.content_id for version in self.content_versions(live_set_id)}

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """How many versions and contents."""
        with self._data.lock:
            versions = self._rows(live_set_id).versions
            return len(versions), len({version.content_id for version in versions.values()})

    def add_base_locations(self, live_set_id: UUID, locations: Iterable[tuple[str, str]]) -> int:
        """Remembers base locations; how many were new."""
        wanted = list(locations)
        with self._in(live_set_id) as rows:
            before = len(rows.locations)
            rows.locations.update(dict.fromkeys(wanted))
            return len(rows.locations) - before

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Distinct content ids and base locations."""
        with self._data.lock:
            found = list(self._rows(live_set_id).locations)
        for pair in found:
            if content_id is None or pair[0] == content_id:
                yield pair

    # ---- sweep ----------------------------------------------------------------------------------------
    def record_steps(self, live_set_id: UUID, steps: Iterable[SweepStep]) -> None:
        """Records or replaces steps."""
        kept = {(step.unit, step.part): replace(step, outcomes=dict(step.outcomes)) for step in steps}
        with self._in(live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS) as rows:
            rows.steps.update(kept)

    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """All steps."""
        with self._data.lock:
            found = list(self._rows(live_set_id).steps.values())
        for step in found:
            yield replace(step, outcomes=dict(step.outcomes))

    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Records deferred deletions; how many were new."""
        new = 0
        with self._in(live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS):
            pass
        iterator = iter(deletions)
        while portion := list(itertools.islice(iterator, _PORTION)):
            kept = [_in_utc(deletion) for deletion in portion]
            with self._in(live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS) as rows:
                new -= len(rows.deletions)
                for deletion in kept:
                    rows.deletions.setdefault((deletion.location, deletion.path), deletion)
                new += len(rows.deletions)
        return new

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The deferred deletions by location."""
        with self._data.lock:
            found = list(self._rows(live_set_id).deletions.values())
        yield from sorted(found, key=lambda deletion: (deletion.location, deletion.path))

    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Forgets deferred deletions; how many were there."""
        names = [(deletion.location, deletion.path) for deletion in deletions]
        with self._in(live_set_id) as rows:
            popped = (rows.deletions.pop(name, None) for name in names)
            removed = RowsDigest.of(each.values for each in popped if each is not None)
            if rows.live_set.deletions is not None:
                rows.live_set = replace(rows.live_set, deletions=rows.live_set.deletions - removed)
            return removed.rows

    # ---- common ---------------------------------------------------------------------------------------
    def _rows(self, live_set_id: UUID) -> Rows:
        """The rows of a live set, empty ones for an unknown id (the lock is held)."""
        return self._data.live_sets.get(live_set_id) or _NO_ROWS

    @contextmanager
    def _in(self, live_set_id: UUID, *expected: LiveSetStatus) -> Iterator[Rows]:
        """Holds the lock over a live set that exists and has one of the statuses, if any are named."""
        with self._data.lock:
            rows = self._data.live_sets.get(live_set_id)
            if rows is None:
                raise LiveSetNotFoundError(
                    f"live set {live_set_id} does not exist; {next_call('list')} shows the existing ones"
                )
            if expected and rows.live_set.status not in expected:
                raise LiveSetStateError(_wrong_status(rows.live_set, expected))
            yield rows


def _in_utc(deletion: FileDeletion) -> FileDeletion:
    time = deletion.modified
    return deletion if time is None or time.tzinfo is UTC else replace(deletion, modified=utc(time))


def _wrong_status(live_set: LiveSet, expected: Sequence[LiveSetStatus]) -> str:
    return f"live set {live_set.id} is in {live_set.status}, expected {' or '.join(expected)}"


_NO_ROWS = Rows(
    LiveSet(
        id=UUID(int=0), repository="", created=datetime.min.replace(tzinfo=UTC), status=LiveSetStatus.IDENTIFY_FAILED
    )
)
