"""The live-set store: live sets, their rows, and the progress of sweeps."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TypeVar
from uuid import UUID

from nessie_gc_core.errors import LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model import (
    ContentVersion,
    DroppedSweep,
    FileDeletion,
    LiveSet,
    LiveSetStatus,
    ReferenceHead,
    RowsDigest,
    SweepStep,
    SweepStepState,
)
from nessie_gc_ledger.registers import Registers
from nessie_gc_ledger.rows import Transaction

T = TypeVar("T")
_OF_A_LIVE_SET = ("version", "location", "step", "deletion")
_AT_ONCE = 500


class LedgerStore(Registers):
    """Keeps every row as JSON in one SQLite table. For one process at a time, and any number of threads."""

    name = "ledger"

    # ---- status ---------------------------------------------------------------------------------------
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set."""
        status = LiveSetStatus.IDENTIFY_IN_PROGRESS
        new = LiveSet(id=live_set_id, repository=repository, created=created, status=status, policies=tuple(policies))
        with self._rows.transaction() as rows:
            if not rows.add("live set", "", "", str(live_set_id), new):
                raise LiveSetStateError(f"live set {live_set_id} already exists")

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
        """Ends a mark."""
        reached = LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED
        kept = tuple(heads)
        with self._rows.transaction() as rows:
            found = _live_set(rows, live_set_id, LiveSetStatus.IDENTIFY_IN_PROGRESS)
            ended = replace(found, status=reached, identify_completed=at, error_message=failure, heads=kept)
            _put(rows, replace(ended, references_listed=references_listed, versions=versions))

    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """Begins or resumes a sweep."""
        more = (LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED) if resume else ()
        with self._rows.transaction() as rows:
            found = _live_set(rows, live_set_id, LiveSetStatus.IDENTIFY_SUCCESS, *more)
            begun = replace(found, status=LiveSetStatus.EXPIRY_IN_PROGRESS, expiry_started=found.expiry_started or at)
            _put(rows, replace(begun, expiry_completed=None, error_message=None))

    def finish_expire(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        failure: str | None = None,
        deletions: RowsDigest | None = None,
        dropped: DroppedSweep | None = None,
    ) -> None:
        """Ends a sweep."""
        reached = LiveSetStatus.EXPIRY_SUCCESS if failure is None else LiveSetStatus.EXPIRY_FAILED
        with self._rows.transaction() as rows:
            found = _live_set(rows, live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS)
            ended = replace(found, status=reached, expiry_completed=at, error_message=failure)
            _put(rows, replace(ended, deletions=deletions, dropped=dropped))

    def get(self, live_set_id: UUID) -> LiveSet:
        """The live set."""
        with self._rows.transaction() as rows:
            return _live_set(rows, live_set_id)

    def live_sets(self) -> Iterator[LiveSet]:
        """All live sets, newest first."""
        found = [to_live_set(fields) for fields in self._rows.stream("live set", "")]
        yield from sorted(found, key=lambda live_set: live_set.created, reverse=True)

    def delete(self, live_set_id: UUID) -> None:
        """Deletes a live set and its rows."""
        with self._rows.transaction() as rows:
            _live_set(rows, live_set_id)
            rows.remove("live set", "", "", str(live_set_id))
            rows.clear(_OF_A_LIVE_SET, str(live_set_id))

    # ---- content versions -----------------------------------------------------------------------------
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions in batches."""
        new = 0
        for some in _in_batches(versions):
            with self._rows.transaction() as rows:
                _live_set(rows, live_set_id, LiveSetStatus.IDENTIFY_IN_PROGRESS)
                for each in some:
                    key = json.dumps(each.identity, ensure_ascii=False)
                    new += rows.add("version", str(live_set_id), each.content_id, key, each)
        return new

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions."""
        for content_id in [None] if content_ids is None else set(content_ids):
            for fields in self._rows.stream("version", str(live_set_id), content_id):
                yield ContentVersion(**fields)

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids."""
        with self._rows.transaction() as rows:
            found = rows.parts("version", str(live_set_id))
        yield from found

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """The numbers of versions and contents."""
        with self._rows.transaction() as rows:
            return rows.count("version", str(live_set_id)), len(rows.parts("version", str(live_set_id)))

    def add_base_locations(self, live_set_id: UUID, locations: Iterable[tuple[str, str]]) -> int:
        """Records base locations."""
        new = 0
        for some in _in_batches(locations):
            with self._rows.transaction() as rows:
                _live_set(rows, live_set_id)
                new += sum(rows.add("location", str(live_set_id), *pair, {"pair": pair}) for pair in some)
        return new

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Content ids and base locations."""
        for fields in self._rows.stream("location", str(live_set_id), content_id):
            found, location = fields["pair"]
            yield found, location

    # ---- sweep ----------------------------------------------------------------------------------------
    def record_steps(self, live_set_id: UUID, steps: Iterable[SweepStep]) -> None:
        """Records or replaces steps in batches."""
        for some in _in_batches(steps):
            with self._rows.transaction() as rows:
                _live_set(rows, live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS)
                for step in some:
                    rows.put("step", str(live_set_id), step.unit, step.part, step)

    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """All steps."""
        for fields in self._rows.stream("step", str(live_set_id)):
            outcomes = {name: (files, size) for name, (files, size) in fields.pop("outcomes").items()}
            yield SweepStep(**{**fields, "state": SweepStepState(fields["state"])}, outcomes=outcomes)

    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Records deferred deletions in batches."""
        new = 0
        for some in _in_batches(deletions):
            with self._rows.transaction() as rows:
                _live_set(rows, live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS)
                new += sum(rows.add("deletion", str(live_set_id), each.location, each.path, each) for each in some)
        return new

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The deferred deletions. Their location is the part, by which rows are ordered."""
        for fields in self._rows.stream("deletion", str(live_set_id)):
            yield FileDeletion(**fields)

    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Removes deferred deletions in batches."""
        removed = 0
        for some in _in_batches(deletions):
            with self._rows.transaction() as rows:
                found = _live_set(rows, live_set_id)
                gone = RowsDigest.of(each.values for each in _taken_out(rows, live_set_id, some))
                if found.deletions is not None:
                    _put(rows, replace(found, deletions=found.deletions - gone))
                removed += gone.rows
        return removed


def _taken_out(rows: Transaction, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> Iterator[FileDeletion]:
    """Removes deferred deletions; gives those that were there, as they were."""
    for each in deletions:
        fields = rows.get("deletion", str(live_set_id), each.location, each.path)
        if fields is not None and rows.remove("deletion", str(live_set_id), each.location, each.path):
            yield FileDeletion(**fields)


def to_live_set(fields: dict[str, object]) -> LiveSet:
    """The live set that a row holds."""
    found = dict(fields)
    found["id"], found["status"] = UUID(str(found["id"])), LiveSetStatus(str(found["status"]))
    found["policies"] = tuple(found["policies"])  # type: ignore[arg-type]
    for name in ("versions", "deletions"):
        digest = found.get(name)
        found[name] = None if digest is None else RowsDigest(**digest)  # type: ignore[arg-type]
    dropped = found.get("dropped")
    found["dropped"] = None if dropped is None else DroppedSweep(**dropped)  # type: ignore[arg-type]
    found["heads"] = tuple(ReferenceHead(**head) for head in found["heads"])  # type: ignore[attr-defined]
    return LiveSet(**found)  # type: ignore[arg-type]


def _live_set(rows: Transaction, live_set_id: UUID, *expected: LiveSetStatus) -> LiveSet:
    """The live set, which must have one of the expected statuses if any are given: compare-and-set in a transaction."""
    fields = rows.get("live set", "", "", str(live_set_id))
    if fields is None:
        raise LiveSetNotFoundError(f"live set {live_set_id} does not exist")
    found = to_live_set(fields)
    if expected and found.status not in expected:
        raise LiveSetStateError(f"live set {live_set_id} is {found.status}, expected {' or '.join(expected)}")
    return found


def _put(rows: Transaction, live_set: LiveSet) -> None:
    rows.put("live set", "", "", str(live_set.id), live_set)


def _in_batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Batches, at least one. Nothing is locked while the caller computes the next."""
    source = iter(items)
    batch = list(islice(source, _AT_ONCE))
    while True:
        yield batch
        batch = list(islice(source, _AT_ONCE))
        if not batch:
            return
