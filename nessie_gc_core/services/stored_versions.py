"""The content versions of live sets as a relation: large ones are read by the engine's workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.connectors import LiveSetStore, SupportsVersionParts
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import NessieGcError, SafetyError, StoreError
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, version_row, version_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.row_digests import RowsDigest, RowValues
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.run import Run, own_id, qualified

READ_BY_WORKERS = 100_000
"""From so many content versions on they do not pass the driver, where the store can be read in parts."""
PART_VERSIONS = 50_000
"""How many content versions are worth a part."""
MOST_LANES = 16
"""How many parts are read at once: each has a connection to the store, and databases have few."""
_CHECKED_AT_ONCE = 1_000
"""Of how many content versions the digest is added up at once."""
_NOT_MARKED = frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_FAILED})
_PARTS = pa.schema(
    [
        pa.field("lane", pa.int64(), nullable=False),
        pa.field("live_set_id", pa.string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("part", pa.int64(), nullable=False),
        pa.field("parts", pa.int64(), nullable=False),
    ]
)
_LIVE_SET = pa.field("live_set", pa.string(), nullable=False)
_READ = pa.schema([*CONTENT_VERSIONS, _LIVE_SET])
"""Content versions with the live set that they were read from."""
_LIMB_BITS = 32
_LIMBS = tuple(f"total_{number}" for number in range(4))
"""The parts of a sum of digests, the lowest first; so small that many can be added up."""
_DIGESTS = pa.schema(
    [
        _LIVE_SET,
        CONTENT_VERSIONS.field("content_type"),
        pa.field("rows", pa.int64()),
        *(pa.field(name, pa.int64()) for name in _LIMBS),
    ]
)

Found = dict[tuple[UUID, str], RowsDigest]
"""By live set and content type what was read."""


class _Wanted(NamedTuple):
    """A live set that is to be read."""

    id: UUID
    number: int
    versions: int


def marked_live_sets(run: Run) -> Iterator[LiveSet]:
    """All live sets of the store that were marked to their end, whatever their repository."""
    return (live_set for live_set in run.store.live_sets() if live_set.status not in _NOT_MARKED)


def stored_versions(
    run: Run, live_sets: Mapping[UUID, int], *, of_the_past: bool = False
) -> tuple[Dataset, frozenset[str]]:
    """All content versions (:data:`CONTENT_VERSIONS`) of some live sets, and the content types in them.

    Args:
        run: the run.
        live_sets: the live sets, marked to their end, each with the number of its repository, by which content ids are
            qualified.
        of_the_past: whether another process may delete them meanwhile; those that are gone are then left out. Their
            contents are in the register of the store by then.

    Raises:
        SafetyError: they are not those that were marked (S34).
        StoreError: the store gave fewer or more than it says that it has.
    """
    wanted = [_Wanted(id_, number, run.store.count_content_versions(id_)[0]) for id_, number in live_sets.items()]
    versions, found = _by_workers(run, wanted) or _by_driver(run, wanted)
    there = {live_set.id: live_set for live_set in run.store.live_sets()}
    left = {id_: number for id_, number in live_sets.items() if id_ in there}
    problem = next((said for each in wanted if (said := _problem(each, there.get(each.id), found, run.store))), None)
    if problem is None:
        return versions, frozenset(type_ for _, type_ in found)
    if of_the_past and len(left) < len(live_sets):
        return stored_versions(run, left, of_the_past=True)
    raise problem


def _problem(wanted: _Wanted, live_set: LiveSet | None, found: Found, store: LiveSetStore) -> NessieGcError | None:
    """What is wrong with the versions that were read of a live set."""
    read = sum((digest for (id_, _), digest in found.items() if id_ == wanted.id), RowsDigest())
    marked = None if live_set is None else live_set.versions
    if marked is not None and read != marked:
        return SafetyError(
            f"the store gave {read.rows} content versions of live set {wanted.id}, not the {marked.rows} that were "
            "marked, or changed some; nothing is deleted on its word: mark again, and forget it with "
            f"{next_call('delete', live_set_id=wanted.id)}"
        )
    if read.rows != wanted.versions:
        return StoreError(
            f"{store.name} gave {read.rows} of {wanted.versions} content versions of live set {wanted.id}; nothing is "
            "deleted on the word of a live set that is not read whole: run again, and mark again if it is the same"
        )
    return None


def _by_driver(run: Run, wanted: Sequence[_Wanted]) -> tuple[Dataset, Found]:
    """Streamed through this process."""
    found: Found = {}

    def seen() -> Iterator[ContentVersion]:
        for each in wanted:
            for some in in_pieces(run.store.content_versions(each.id), _CHECKED_AT_ONCE):
                _add_up(found, ((each.id, version) for version in some))
                yield from qualified(some, each.number)

    return run.engine.dataset(version_rows(seen()), CONTENT_VERSIONS), found


def _by_workers(run: Run, wanted: Sequence[_Wanted]) -> tuple[Dataset, Found] | None:
    """Read in parts where the rows are needed; ``None`` where that is not worth it, or not possible."""
    store = run.store
    can = run.engine.distributed and store.multi_process and isinstance(store, SupportsVersionParts)
    can = can and run.resources.workers_reach_store  # what they cannot reach may take minutes to say so
    if not can or sum(each.versions for each in wanted) < READ_BY_WORKERS:
        return None
    parts = run.engine.dataset(to_batches(_parts(wanted), _PARTS), _PARTS).spread(["lane"], together=True)
    try:
        read = parts.flat_map(_ReadParts(store)).checkpoint()
        added = read.flat_map(_AddUp({str(each.id): each.number for each in wanted}))
        sums = {name: ("sum", name) for name in ("rows", *_LIMBS)}
        table = added.aggregate(["live_set", "content_type"], sums, _DIGESTS).summary()
    except Exception as error:  # noqa: BLE001 - the classes are those of the engine; the driver reads all of it again
        run.resources.workers_reach_store = False
        run.report.warn(f"the executors could not read the live-set store, so that the driver does: {one_line(error)}")
        return None
    return read.select(CONTENT_VERSIONS), dict(map(_from_limbs, table.to_pylist()))


def _add_up(found: Found, versions: Iterable[tuple[UUID, ContentVersion]]) -> None:
    """Adds the digests of content versions of some live sets."""
    rows: dict[tuple[UUID, str], list[RowValues]] = {}
    for live_set_id, version in versions:
        rows.setdefault((live_set_id, version.content_type), []).append(version.values)
    for key, values in rows.items():
        found[key] = found.get(key, RowsDigest()) + RowsDigest.of(values)


class _AddUp:
    """Content versions with their live sets to the sums of their digests, a row of each task."""

    schema = _DIGESTS

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = dict(numbers)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: Found = {}
        for batch in batches:
            live_sets = batch.column("live_set").to_pylist()
            own = (
                replace(version, content_id=own_id(version.content_id, self._numbers[live_set]))
                for live_set, version in zip(live_sets, rows_to_versions(batch), strict=True)
            )
            _add_up(found, zip(map(UUID, live_sets), own, strict=True))
        yield from to_batches((_to_limbs(*key, digest) for key, digest in found.items()), self.schema)


def _to_limbs(live_set_id: UUID, content_type: str, digest: RowsDigest) -> tuple[str | int, ...]:
    limbs = (digest.total >> _LIMB_BITS * number & 2**_LIMB_BITS - 1 for number in range(len(_LIMBS)))
    return (str(live_set_id), content_type, digest.rows, *limbs)


def _from_limbs(row: Mapping[str, Any]) -> tuple[tuple[UUID, str], RowsDigest]:
    total = sum(row[name] << _LIMB_BITS * number for number, name in enumerate(_LIMBS))
    return (UUID(row["live_set"]), row["content_type"]), RowsDigest(rows=row["rows"]) + RowsDigest(total=total)


def _parts(wanted: Sequence[_Wanted]) -> Iterator[tuple[int, str, int, int, int]]:
    """All parts of all live sets, distributed over the lanes."""
    lanes = itertools.cycle(range(MOST_LANES))
    for each in wanted:
        parts = min(MOST_LANES, -(-each.versions // PART_VERSIONS))
        yield from ((next(lanes), str(each.id), each.number, part, parts) for part in range(parts))


class _ReadParts:
    """Reads the versions of some parts from the store, with their live sets."""

    schema = _READ

    def __init__(self, store: LiveSetStore) -> None:
        self._connector = type(store)
        self._options = store.options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for first in batches:  # a task without parts needs no connection
            with self._connector(self._options) as store:
                yield from to_batches(self._rows(store, itertools.chain([first], batches)), self.schema)

    def _rows(self, store: LiveSetStore, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        assert isinstance(store, SupportsVersionParts)
        for batch in batches:
            for part in batch.to_pylist():
                live_set = part["live_set_id"]
                versions = store.content_versions_of_part(UUID(live_set), part["part"], part["parts"])
                yield from ((*version_row(each), live_set) for each in qualified(versions, part["number"]))
