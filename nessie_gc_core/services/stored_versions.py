"""The content versions of live sets as a relation: large ones are read by the engine's workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.connectors import LiveSetStore, SupportsVersionParts
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.batches import to_batches, version_rows
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.scope import qualified

READ_BY_WORKERS = 100_000
"""From so many content versions on they do not pass the driver, where the store can be read in parts."""
PART_VERSIONS = 50_000
"""How many content versions are worth a part."""
MOST_LANES = 16
"""How many parts are read at once: each has a connection to the store, and databases have few."""
_PARTS = pa.schema(
    [
        pa.field("lane", pa.int64(), nullable=False),
        pa.field("live_set_id", pa.string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("part", pa.int64(), nullable=False),
        pa.field("parts", pa.int64(), nullable=False),
    ]
)
_BY_TYPE = pa.schema([CONTENT_VERSIONS.field("content_type"), pa.field("versions", pa.int64())])


class _Wanted(NamedTuple):
    """A live set that is to be read."""

    id: UUID
    number: int
    versions: int


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
        StoreError: the store gave fewer or more than it says that it has.
    """
    wanted = [_Wanted(id_, number, run.store.count_content_versions(id_)[0]) for id_, number in live_sets.items()]
    expected = sum(each.versions for each in wanted)
    versions, by_type = _by_workers(run, wanted) or _by_driver(run, wanted)
    found = sum(by_type.values())
    if found == expected:
        return versions, frozenset(by_type)
    there = {live_set.id for live_set in run.store.live_sets()}
    left = {id_: number for id_, number in live_sets.items() if id_ in there}
    if of_the_past and len(left) < len(live_sets):
        return stored_versions(run, left, of_the_past=True)
    raise StoreError(
        f"{run.store.name} gave {found} of {expected} content versions; nothing is deleted on the word of a live set "
        "that is not read whole: run again, and mark again if it is the same"
    )


def _by_driver(run: Run, wanted: Sequence[_Wanted]) -> tuple[Dataset, dict[str, int]]:
    """Streamed through this process."""
    by_type: dict[str, int] = {}

    def seen() -> Iterator[ContentVersion]:
        for each in wanted:
            for version in qualified(run.store.content_versions(each.id), each.number):
                by_type[version.content_type] = by_type.get(version.content_type, 0) + 1
                yield version

    return run.engine.dataset(version_rows(seen()), CONTENT_VERSIONS), by_type


def _by_workers(run: Run, wanted: Sequence[_Wanted]) -> tuple[Dataset, dict[str, int]] | None:
    """Read in parts where the rows are needed; ``None`` where that is not worth it, or not possible."""
    store = run.store
    can = run.engine.distributed and store.multi_process and isinstance(store, SupportsVersionParts)
    can = can and run.resources.workers_reach_store  # what they cannot reach may take minutes to say so
    if not can or sum(each.versions for each in wanted) < READ_BY_WORKERS:
        return None
    parts = run.engine.dataset(to_batches(_parts(wanted), _PARTS), _PARTS).spread(["lane"], together=True)
    try:
        versions = parts.flat_map(_ReadParts(store)).checkpoint()
        counted = versions.aggregate(["content_type"], {"versions": ("count", "content_type")}, _BY_TYPE).summary()
    except Exception as error:  # noqa: BLE001 - the classes are those of the engine; the driver reads all of it again
        run.resources.workers_reach_store = False
        run.report.warn(f"the executors could not read the live-set store, so that the driver does: {one_line(error)}")
        return None
    return versions, dict(zip(*(counted.column(name).to_pylist() for name in _BY_TYPE.names), strict=True))


def _parts(wanted: Sequence[_Wanted]) -> Iterator[tuple[int, str, int, int, int]]:
    """All parts of all live sets, distributed over the lanes."""
    lanes = itertools.cycle(range(MOST_LANES))
    for each in wanted:
        parts = min(MOST_LANES, -(-each.versions // PART_VERSIONS))
        yield from ((next(lanes), str(each.id), each.number, part, parts) for part in range(parts))


class _ReadParts:
    """Reads the versions of some parts from the store."""

    schema = CONTENT_VERSIONS

    def __init__(self, store: LiveSetStore) -> None:
        self._connector = type(store)
        self._options = store.options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for first in batches:  # a task without parts needs no connection
            with self._connector(self._options) as store:
                yield from version_rows(self._versions(store, itertools.chain([first], batches)))

    def _versions(self, store: LiveSetStore, batches: Iterator[pa.RecordBatch]) -> Iterator[ContentVersion]:
        assert isinstance(store, SupportsVersionParts)
        for batch in batches:
            for row in batch.to_pylist():
                versions = store.content_versions_of_part(UUID(row["live_set_id"]), row["part"], row["parts"])
                yield from qualified(versions, row["number"])
