"""Looking at live sets, and deleting them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import ConfigurationError, LeaseHeldError, LiveSetStateError
from nessie_gc_core.model.live_sets import FileDeletion, LiveSet, LiveSetStatus, SeenContent
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import json_time, plural, size_text
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.live_set_ids import find_live_set
from nessie_gc_core.services.members import together
from nessie_gc_core.services.preconditions import check_swept

_REMEMBERED_AT_ONCE = 1_000
"""How many content versions are looked up in the register at once."""
_AT_REST = frozenset({LiveSetStatus.IDENTIFY_FAILED, LiveSetStatus.EXPIRY_SUCCESS})
"""Nobody works with a live set of these, unless it has deferred deletions."""


def statuses(texts: Collection[LiveSetStatus | str]) -> frozenset[LiveSetStatus]:
    """Statuses by their names.

    Raises:
        ConfigurationError: one of them is none.
    """
    try:
        return frozenset(LiveSetStatus(str(text).upper()) for text in texts)
    except ValueError as error:
        names = ", ".join(LiveSetStatus)
        raise ConfigurationError(f"a `status` is one of {names}, not {', '.join(map(repr, texts))}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSetDetails:
    """A live set with its counts."""

    live_set: LiveSet
    content_versions: int
    contents: int
    base_locations: int
    deferred_files: int
    deferred_bytes: int
    failed_files: int
    """Deletions that failed in the last attempt of its sweep."""


@dataclass(frozen=True, slots=True)
class LiveSetService:
    """Lists, shows and deletes the live sets of a store."""

    store: LiveSetStore
    lease: timedelta = timedelta(minutes=2)
    """How long the lease on a repository holds that is taken while one of its live sets is deleted."""

    def all(self, *, status: Collection[LiveSetStatus | str] = (), limit: int | None = None) -> list[LiveSet]:
        """The live sets, newest first.

        Args:
            status: only those that have one of these; all if there is none.
            limit: how many at most.

        Raises:
            ConfigurationError: there is no such status.
        """
        wanted = statuses(status) or frozenset(LiveSetStatus)
        found = (live_set for live_set in self.store.live_sets() if live_set.status in wanted)
        return sorted(found, key=lambda live_set: (live_set.created, live_set.id), reverse=True)[:limit]

    def find(self, live_set_id: UUID | str) -> UUID:
        """The id of a live set by the first characters of it, at least four, which no other begins with.

        Raises:
            LiveSetNotFoundError: no id begins with them.
            ConfigurationError: several do, or the text cannot be an id.
        """
        return find_live_set(self.store, live_set_id)

    def details(self, live_set_id: UUID | str) -> LiveSetDetails:
        """One live set with its counts.

        Raises:
            LiveSetNotFoundError: there is none with this id.
        """
        live_set = self.store.get(self.find(live_set_id))
        live_set_id = live_set.id
        versions, contents = self.store.count_content_versions(live_set_id)
        files, bytes_ = self._deferred(live_set_id)
        return LiveSetDetails(
            live_set=live_set,
            content_versions=versions,
            contents=contents,
            base_locations=sum(1 for _ in self.store.base_locations(live_set_id)),
            deferred_files=files,
            deferred_bytes=bytes_,
            failed_files=self.failed(live_set),
        )

    def failed(self, live_set: LiveSet) -> int:
        """How many deletions failed in the last attempt of its sweep; what failed before it was tried again."""
        if live_set.expiry_started is None:
            return 0
        by_attempt: dict[int, int] = {}
        for step in self.store.steps(live_set.id):
            number, colon, _ = step.part.partition(":")
            attempt = int(number) if colon and number.isdigit() else 1
            files, _ = step.outcomes.get(Outcome.FAILED.value, (0, 0))
            by_attempt[attempt] = by_attempt.get(attempt, 0) + files
        return by_attempt[max(by_attempt)] if by_attempt else 0

    def content_versions(self, live_set_id: UUID | str) -> Iterator[ContentVersion]:
        """The content versions, content by content."""
        id_ = self.find(live_set_id)
        for content_id in sorted(self.store.content_ids(id_)):
            versions = self.store.content_versions(id_, [content_id])
            yield from sorted(versions, key=lambda v: (v.content_key, v.metadata_location or "", v.snapshot_id or 0))

    def base_locations(self, live_set_id: UUID | str) -> list[tuple[str, str]]:
        """The content ids with their base locations."""
        return sorted(self.store.base_locations(self.find(live_set_id)))

    def deferred(self, live_set_id: UUID | str) -> Iterator[FileDeletion]:
        """The files whose deletion was deferred.

        Raises:
            LiveSetNotFoundError, LiveSetStateError: there is no such live set, or it was not swept completely.
        """
        id_ = self.find(live_set_id)
        check_swept(self.store.get(id_))
        return self.store.file_deletions(id_)

    def delete(self, live_set_id: UUID | str, *, discard_deferred: bool = False, alone: bool = False) -> LiveSet:
        """Deletes the rows of a live set, but no files; returns the live set as it was.

        Live sets that were marked together with it are deleted too, because none can be swept without the others.

        A live set whose status says that it is being marked is deleted like any other: a mark holds no lease, and a
        killed one leaves that status behind forever. A mark that still runs then ends with an error.

        Args:
            live_set_id: which.
            discard_deferred: whether its deferred deletions may be discarded with it, so that they never run.
            alone: whether to refuse while its repository is being collected, even if the live set is not in use.

        Raises:
            LiveSetNotFoundError: there is none with this id.
            LiveSetStateError: it has deferred deletions that have not run yet.
            LeaseHeldError: another run collects its repository, and may be using it.
        """
        asked = self.store.get(self.find(live_set_id))
        with ExitStack() as stack:
            group = together(self.store, asked)
            for live_set in group:
                if alone or live_set.status not in _AT_REST or self._deferred(live_set.id) != (0, 0):
                    stack.enter_context(self._alone(live_set))
                self._check_deferred(live_set.id, discard_deferred=discard_deferred)
            for live_set in group:
                self._remember(live_set)
                self.store.delete(live_set.id)
        return asked

    def _remember(self, live_set: LiveSet) -> None:
        """Puts its contents into the register, so that later runs know what it was a witness of (S6, S20).

        A sweep has put there those that it located; of the others the home of their metadata says where they were.
        """
        repository, versions = live_set.repository, self.store.content_versions(live_set.id)
        for some in in_pieces(versions, _REMEMBERED_AT_ONCE):
            ids = sorted({version.content_id for version in some})
            known = {
                (seen.content_id, seen.location): seen.last_seen
                for seen in self.store.seen_contents(repository, content_ids=ids)
            }
            found: dict[tuple[str, str], SeenContent] = {}
            for version in some:
                for place in (location for location in _homes_of(version) if location is not None):
                    last = max(live_set.created, known.get((version.content_id, place), live_set.created))
                    found[version.content_id, place] = SeenContent(
                        content_id=version.content_id,
                        content_type=version.content_type,
                        location=place,
                        first_seen=live_set.created,
                        last_seen=last,
                    )
            self.store.register_contents(repository, found.values())

    def _check_deferred(self, live_set_id: UUID, *, discard_deferred: bool) -> None:
        files, bytes_ = self._deferred(live_set_id)
        if files and not discard_deferred:
            run = next_call("deferred_deletes", live_set_id=live_set_id)
            raise LiveSetStateError(
                f"live set {live_set_id} has {plural(files, 'deferred deletion')} ({size_text(bytes_)}): delete "
                f"these files first with {run}, or use `discard_deferred` to leave them to the next sweep"
            )

    @contextmanager
    def _alone(self, live_set: LiveSet) -> Iterator[None]:
        """Keeps every sweep and every deferred deletion of the repository from running meanwhile."""
        try:
            with hold_lease(self.store, [live_set.repository], self.lease):
                yield
        except LeaseHeldError as error:
            raise LeaseHeldError(
                f"live set {live_set.id} ({live_set.status}) may be in use, so it was not deleted: {error}"
            ) from error

    def _deferred(self, live_set_id: UUID) -> tuple[int, int]:
        """How many deletions are deferred, and their bytes."""
        files = bytes_ = 0
        for deletion in self.store.file_deletions(live_set_id):
            files, bytes_ = files + 1, bytes_ + (deletion.size or 0)
        return files, bytes_


def mark_time(live_set: LiveSet) -> timedelta | None:
    """How long its mark took; ``None``: it did not end."""
    return None if live_set.identify_completed is None else live_set.identify_completed - live_set.created


def sweep_time(live_set: LiveSet) -> timedelta | None:
    """How long its sweep took, from the begin of the first attempt to the end of the last; ``None``: it did not end."""
    if live_set.expiry_started is None or live_set.expiry_completed is None:
        return None
    return live_set.expiry_completed - live_set.expiry_started


def as_plain(live_set: LiveSet) -> dict[str, Any]:
    """A live set as JSON shows it; times are UTC."""
    return {
        "id": str(live_set.id),
        "status": live_set.status.value,
        "repository": live_set.repository,
        "created": _text(live_set.created),
        "identify_completed": _text(live_set.identify_completed),
        "expiry_started": _text(live_set.expiry_started),
        "expiry_completed": _text(live_set.expiry_completed),
        "mark_seconds": _seconds(mark_time(live_set)),
        "sweep_seconds": _seconds(sweep_time(live_set)),
        "policies": list(live_set.policies),
        "error": live_set.error_message,
    }


def _seconds(time: timedelta | None) -> float | None:
    return None if time is None else time.total_seconds()


def _text(time: datetime | None) -> str | None:
    return json_time(time)


def _homes_of(version: ContentVersion) -> Iterator[str | None]:
    """Where a content version says that it is; raw."""
    yield version.location
    yield None if version.metadata_location is None else home_of_metadata(version.metadata_location)
