"""The content versions of a run's live sets as a relation: large ones are read by the engine's workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.connectors import LiveSetStore, SupportsVersionParts
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.batches import to_batches, version_rows
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import qualified, versions_of_all

log = logging.getLogger(__name__)

READ_BY_WORKERS = 100_000
"""From so many content versions on they do not pass the driver, where the store can be read in parts."""
PART_VERSIONS = 50_000
"""How many content versions are worth a part."""
MOST_PARTS = 16
"""Of all live sets together: each part that is read has a connection to the store, and databases have few."""
_PARTS = pa.schema(
    [
        pa.field("live_set_id", pa.string(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("part", pa.int64(), nullable=False),
        pa.field("parts", pa.int64(), nullable=False),
    ]
)
_BY_TYPE = pa.schema([CONTENT_VERSIONS.field("content_type"), pa.field("versions", pa.int64())])


def stored_versions(run: SweepRun) -> tuple[Dataset, frozenset[str]]:
    """All content versions (:data:`CONTENT_VERSIONS`), their ids qualified, and the content types in them.

    Raises:
        StoreError: the store gave fewer or more than it says that it has.
    """
    expected = sum(run.store.count_content_versions(member.live_set.id)[0] for member in run.members)
    found = _by_workers(run, expected) or _by_driver(run)
    versions, by_type = found
    if sum(by_type.values()) != expected:
        raise StoreError(
            f"{run.store.name} gave {sum(by_type.values())} of {expected} content versions; nothing is deleted on the "
            "word of a live set that is not read whole: mark again"
        )
    return versions, frozenset(by_type)


def _by_driver(run: SweepRun) -> tuple[Dataset, dict[str, int]]:
    """Streamed through this process."""
    by_type: dict[str, int] = {}

    def seen() -> Iterator[ContentVersion]:
        for version in versions_of_all(run):
            by_type[version.content_type] = by_type.get(version.content_type, 0) + 1
            yield version

    return run.engine.dataset(version_rows(seen()), CONTENT_VERSIONS), by_type


def _by_workers(run: SweepRun, expected: int) -> tuple[Dataset, dict[str, int]] | None:
    """Read in parts where the rows are needed; ``None`` where that is not worth it, or not possible."""
    store = run.store
    can = run.engine.distributed and store.multi_process and isinstance(store, SupportsVersionParts)
    if not can or expected < READ_BY_WORKERS:
        return None
    parts = run.engine.dataset(to_batches(_parts(run), _PARTS), _PARTS).spread(["live_set_id", "part"])
    try:
        versions = parts.flat_map(_ReadParts(store)).checkpoint()
        counted = versions.aggregate(["content_type"], {"versions": ("count", "content_type")}, _BY_TYPE).summary()
    except Exception as error:  # noqa: BLE001 - the classes are those of the engine; the driver reads all of it again
        reason = f"the executors could not read the live-set store, so that the driver does: {one_line(error)}"
        run.report.warn(reason)
        return None
    return versions, dict(zip(*(counted.column(name).to_pylist() for name in _BY_TYPE.names), strict=True))


def _parts(run: SweepRun) -> Iterator[tuple[str, int, int, int]]:
    most = max(1, MOST_PARTS // len(run.members))
    for member in run.members:
        id_ = member.live_set.id
        parts = min(most, -(-run.store.count_content_versions(id_)[0] // PART_VERSIONS))
        yield from ((str(id_), member.number, part, parts) for part in range(parts))


class _ReadParts:
    """Reads the versions of some parts from the store."""

    schema = CONTENT_VERSIONS

    def __init__(self, store: LiveSetStore) -> None:
        self._connector = type(store)
        self._options = store.options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._connector(self._options) as store:
            yield from version_rows(self._versions(store, batches))

    def _versions(self, store: LiveSetStore, batches: Iterator[pa.RecordBatch]) -> Iterator[ContentVersion]:
        assert isinstance(store, SupportsVersionParts)
        for batch in batches:
            for row in batch.to_pylist():
                versions = store.content_versions_of_part(UUID(row["live_set_id"]), row["part"], row["parts"])
                yield from qualified(versions, row["number"])
