"""Hold: takes unreferenced files to a quarantine instead of deleting them, and back (S15)."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.delete import delete_batch, said_once
from nessie_gc_core.algorithms.guard import vetoed
from nessie_gc_core.algorithms.hide import HiddenPath, hide, purged, shown, stays_in_bucket, stays_readable
from nessie_gc_core.algorithms.look_again import looked_up
from nessie_gc_core.algorithms.still_held import StillHeld, not_begun
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import FileDeleter, SupportsMoves
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.batches import Row, Value, file_reference, to_batches, to_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import LocationRules, scheme_of, store_of, with_slash
from nessie_gc_core.model.quarantine import FileMove, HeldFile, HeldState, MoveStatus, bucket_of
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.versions import VersionOutcome, VersionStatus

HELD_FILES = pa.schema(
    [
        pa.field("place", pa.string(), nullable=False),
        pa.field("held_path", pa.string(), nullable=False),
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("moving", pa.bool_(), nullable=False),
    ]
)
"""Files in quarantine: where each is, where it was, and whether it may still be there."""
STILL_THERE = "STILL_THERE"
"""What became of a file that was never moved: it is at its own path, and perhaps there is a copy of it."""
VISIBLE = "VISIBLE"
"""What became of a hidden file that somebody else made visible, or of a tagged one that is not as it was recorded."""
_AT_ONCE = 4000
"""So many files in quarantine are a batch: four requests to S3."""
LONGEST_KEY = 1000
"""Bytes of the longest key that is made; object stores take 1,024."""
RELEASED = pa.schema([*HELD_FILES, pa.field("status", pa.string(), nullable=False), pa.field("reason", pa.string())])
"""The same, with what became of each: a :class:`MoveStatus` or an :class:`Outcome`, and why."""
_Held = Mapping[str, Value]
_OUTCOMES = {
    MoveStatus.MOVED: Outcome.QUARANTINED,
    MoveStatus.MISSING: Outcome.ALREADY_GONE,
    MoveStatus.EXISTS: Outcome.FAILED,
    MoveStatus.FAILED: Outcome.FAILED,
}
_RESTORED = {
    VersionStatus.DONE: MoveStatus.MOVED.value,
    VersionStatus.MISSING: MoveStatus.MISSING.value,
    VersionStatus.EXISTS: MoveStatus.EXISTS.value,
    VersionStatus.RELEASED: MoveStatus.MOVED.value,
}
_PURGED = {
    VersionStatus.DONE: Outcome.DELETED.value,
    VersionStatus.MISSING: Outcome.ALREADY_GONE.value,
    VersionStatus.RELEASED: VISIBLE,
}
_INTERRUPTED = {
    VersionStatus.DONE: STILL_THERE,
    VersionStatus.RELEASED: STILL_THERE,
    VersionStatus.EXISTS: VISIBLE,
    VersionStatus.MISSING: Outcome.ALREADY_GONE.value,
}
"""What a purge says of a file whose tagging was interrupted."""
_EXISTS = "another file, or its copy that cannot be told from one, is at its path in the quarantine"


def canonical_places(raw: Collection[str], rules: LocationRules) -> dict[str, str]:
    """Raw quarantines, with a slash at the end, by their stores in canonical form.

    Raises:
        ConfigurationError: one is not a location, is a whole bucket or is none, or is the second of its store.
    """
    found: dict[str, str] = {}
    for each in raw:
        bucket = bucket_of(each)
        try:
            place = rules.place_prefix(each if bucket is None else bucket)
        except UnknownLocationError as error:
            raise ConfigurationError(f"`quarantine`: {error}") from error
        store = store_of(place)
        is_bucket = len(place.rstrip("/")) <= len(store.rstrip("/"))
        if is_bucket and bucket is None:
            raise ConfigurationError(f"`quarantine` {each!r} is a whole bucket; name a folder in it")
        if not is_bucket and bucket is not None:
            raise ConfigurationError(f"`quarantine` {each!r} is a folder; name its whole bucket")
        if store in found:
            raise ConfigurationError(f"`quarantine` has {found[store]!r} and {each!r} in one store; name one of them")
        found[store] = with_slash(each)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Where a sweep moves files to."""

    live_set_id: UUID
    """The live set that is swept."""
    places: Mapping[str, str]
    """For every store (:func:`store_of`) the raw location of its quarantine."""

    def place(self, location: str) -> str | None:
        """The quarantine for the files of a raw location; ``None``: its store has none."""
        return self.places.get(store_of(location))

    def stays(self, location: str) -> bool:
        """Whether the files of a raw location stay in their bucket, hidden or tagged, and are not moved."""
        return bucket_of(self.place(location) or "") is not None

    def held_path(self, location: str, path: str, modified: int) -> str:
        """Where a file is in the quarantine: different for each file, and for each state of it.

        Args:
            location: raw location of the file.
            path: raw path below it.
            modified: microseconds since the epoch.
        """
        is_local = scheme_of(location) == "file"
        inside = location.removeprefix("file:") if is_local else location.partition("://")[2]
        inside = "/".join(filter(None, inside.split("/"))) + "/" if is_local else inside.lstrip("/")
        begin, rest = f"{self.live_set_id}/{modified}/", inside + path
        if self.stays(location):  # it is no key
            return str(HiddenPath(str(self.live_set_id), str(modified), "", "", rest))
        if len((str(self.place(location)) + begin + rest).encode()) > LONGEST_KEY:
            rest = hashlib.sha256(rest.encode()).hexdigest()  # the record has the whole name
        return begin + rest

    def move(
        self, deleter: FileDeleter, location: str, files: Sequence[FileReference]
    ) -> Iterator[tuple[str, Outcome, str]]:
        """Moves, hides or tags files; gives exactly one outcome for each path, as :func:`delete_batch` does."""
        place = self.place(location)
        if place is not None and self.stays(location):
            yield from hide(deleter, place, location, files, partial(self._held_path_of, location))
            return
        if place is None or not isinstance(deleter, SupportsMoves):
            yield from ((file.path, Outcome.FAILED, "its store has no quarantine") for file in files)
            return
        moves = [FileMove(path=file.path, to_path=self._held_path_of(location, file)) for file in files]
        for path, status, reason in moved(deleter, deleter.batch_size, location, place, moves):
            yield path, _OUTCOMES[status], _EXISTS if status is MoveStatus.EXISTS else reason

    def _held_path_of(self, location: str, file: FileReference) -> str:
        return self.held_path(location, file.path, to_micros(file.modified))


def moved(
    deleter: SupportsMoves, batch_size: int, location: str, to: str, moves: Sequence[FileMove]
) -> Iterator[tuple[str, MoveStatus, str]]:
    """Moves files and gives exactly one status for each path, whatever the deleter does (S15)."""
    for path, said in said_once(moves, batch_size, partial(deleter.move_files, location, to)):
        yield (path, MoveStatus.FAILED, said) if isinstance(said, str) else (path, said.status, said.reason)


def held_row(file: HeldFile) -> Row:
    """A file as a row (:data:`HELD_FILES`)."""
    moving, modified = file.state is HeldState.MOVING, to_micros(file.modified)
    return file.place, file.held_path, file.location, file.path, file.size, modified, moving


def still_there(rows: Sequence[_Held], choice: ConnectorChoice, connectors: OpenConnectors) -> dict[int, str | None]:
    """By their numbers the rows whose move was not done (``None``), or of which that cannot be told, and why.

    Whoever moves such a file may only have been paused, and delete the original later. So no copy of it is taken away
    as long as it may be needed. A tagged file is at its path in any case; its tag says whether that was done.
    """
    maybe = ((number, row) for number, row in enumerate(rows) if row["moving"] and not stays_readable(row))
    moving = {number: (str(row["location"]), str(row["path"])) for number, row in maybe}
    found, problems = looked_up(moving.values(), choice, connectors)
    return {number: problems.get(name) for number, name in moving.items() if name in found or name in problems}


class NotMoved:
    """Those of some files (:data:`HELD_FILES`) that may be at their paths (:data:`RELEASED`); nothing is changed."""

    schema = RELEASED

    def __init__(self, choice: ConnectorChoice) -> None:
        self._choice = choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Those that are there, and those of which that cannot be told."""
        with OpenConnectors(self._choice) as connectors:
            for batch in batches:
                rows = batch.to_pylist()
                found = still_there(rows, self._choice, connectors)
                said = (_released(rows[number], STILL_THERE, problem or "") for number, problem in found.items())
                yield from to_batches(said, self.schema)


class _Releasing(ABC):
    """Files in quarantine (:data:`HELD_FILES`) to what became of them (:data:`RELEASED`), batch by batch."""

    schema = RELEASED

    def __init__(self, choice: ConnectorChoice, still_held: StillHeld) -> None:
        self._choice = choice
        self._still_held = still_held

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Asks before every batch."""
        with OpenConnectors(self._choice) as connectors, self._still_held.opened() as refusal:
            for batch in batches:
                for start in range(0, batch.num_rows, _AT_ONCE):
                    rows = batch.slice(start, _AT_ONCE).to_pylist()
                    why = refusal()
                    released = self._rows(connectors, rows) if why is None else _not_begun(rows, why)
                    yield from to_batches(released, self.schema)

    @abstractmethod
    def _rows(self, connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[Row]:
        """Releases one batch."""


def _not_begun(rows: Sequence[_Held], why: str) -> Iterator[Row]:
    outcome, reason = not_begun(why)
    return (_released(row, outcome.value, reason) for row in rows)


class Restore(_Releasing):
    """Moves files in quarantine to where they were; those of one place and one location together."""

    def _rows(self, connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[Row]:
        by_place: dict[tuple[str, str], dict[str, _Held]] = {}
        hidden = list[_Held]()
        unmoved = still_there(rows, self._choice, connectors)
        for number, row in enumerate(rows):
            if number in unmoved:
                problem = unmoved[number]
                yield _released(row, STILL_THERE if problem is None else MoveStatus.FAILED, problem or "")
            elif stays_in_bucket(row):
                hidden.append(row)
            else:
                by_place.setdefault((str(row["place"]), str(row["location"])), {})[str(row["held_path"])] = row
        for row, said_of in shown(connectors, hidden):
            status = _RESTORED.get(said_of.status, MoveStatus.FAILED.value)
            yield _released(row, STILL_THERE if _was_never_tagged(row, said_of) else status, said_of.reason)
        for (place, location), held in by_place.items():
            deleter = connectors.deleter(place)
            said: Iterator[tuple[str, MoveStatus, str]]
            if not isinstance(deleter, SupportsMoves):
                said = ((path, MoveStatus.FAILED, f"{deleter.name!r} cannot move files") for path in held)
            else:
                moves = [FileMove(path=path, to_path=str(row["path"])) for path, row in held.items()]
                said = moved(deleter, deleter.batch_size, place, location, moves)
            yield from (_released(held[path], status.value, reason) for path, status, reason in said)


class Purge(_Releasing):
    """Deletes files in quarantine, but for those that a veto keeps; those of one place together."""

    def _kept(self, rows: Sequence[_Held]) -> dict[int, str]:
        """By their numbers the rows that a veto keeps; the vetoes know files by where they were."""
        lacking = self._choice.lacking_plugin()
        if lacking is not None:
            return dict.fromkeys(range(len(rows)), lacking)
        return vetoed(self._choice.registry(), [_former(row) for row in rows])

    def _rows(self, connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[Row]:
        kept = self._kept(rows)
        by_place: dict[str, dict[str, tuple[_Held, bool]]] = {}
        hidden = list[_Held]()
        unmoved = still_there(rows, self._choice, connectors)
        for number, row in enumerate(rows):
            if number in kept:
                yield _released(row, Outcome.SPARED.value, kept[number])
            elif (problem := unmoved.get(number)) is not None:
                yield _released(row, Outcome.FAILED.value, problem)
            elif stays_in_bucket(row):
                if number in unmoved:
                    yield _released(row, STILL_THERE, "")
                else:
                    hidden.append(row)
            else:
                by_place.setdefault(str(row["place"]), {})[str(row["held_path"])] = (row, number in unmoved)
        yield from _purged_in_bucket(connectors, hidden)
        for place, held in by_place.items():
            files = [FileReference(location=place, path=path) for path in held]
            for path, outcome, reason in delete_batch(connectors.deleter(place), place, files):
                row, is_there = held[path]
                status = STILL_THERE if is_there and outcome is not Outcome.FAILED else outcome.value
                yield _released(row, status, reason)


def _purged_in_bucket(connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[Row]:
    """Files that stay in their bucket; of one whose tagging was interrupted only the tag is taken off."""
    done = [row for row in rows if not _may_be_untagged(row)]
    for row, said in purged(connectors, done):
        is_again = said.status is VersionStatus.MISSING and task_attempt.get() > 0  # an earlier attempt did it
        status = Outcome.DELETED.value if is_again else _PURGED.get(said.status, Outcome.FAILED.value)
        yield _released(row, status, said.reason)
    for row, said in shown(connectors, [row for row in rows if _may_be_untagged(row)]):
        yield _released(row, _INTERRUPTED.get(said.status, Outcome.FAILED.value), said.reason)


def _may_be_untagged(row: _Held) -> bool:
    return bool(row["moving"]) and stays_readable(row)


def _was_never_tagged(row: _Held, said: VersionOutcome) -> bool:
    return _may_be_untagged(row) and said.status is VersionStatus.RELEASED


def _released(row: _Held, status: str, reason: str) -> Row:
    return (*(row[name] for name in HELD_FILES.names), status, reason or None)


def _former(row: Mapping[str, Any]) -> FileReference:
    return file_reference(row["location"], row["path"], row["size"] or 0, row["modified"])
