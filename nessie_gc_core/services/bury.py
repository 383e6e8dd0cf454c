"""Remembers which metadata files are about to be deleted, so that they are not taken for lost later (S7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import pyarrow as pa

from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, LiveSetStore
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.relations import FILE_KEYS


def bury(
    dead: Dataset,
    readers: Sequence[type[ContentToFiles]],
    choice: ConnectorChoice,
    store: LiveSetStore,
    repository: str,
    *,
    at: datetime,
) -> None:
    """Puts up a tombstone for every file of some verdicts that may be a metadata file.

    A row without a ``path`` is a checksum sidecar whose file was not there: its key names a file that somebody else
    took away, and that must stay lost.
    """
    for batch in dead.present("path").flat_map(_MayBeRoots(choice, [reader.name for reader in readers])).batches():
        paths = [f"{unit}{key}" for unit, key in to_rows(batch, "unit", "key")]
        store.add_tombstones(repository, paths, at=at)


class _MayBeRoots:
    """Keeps the files that could be what a content version points to."""

    schema = FILE_KEYS

    def __init__(self, choice: ConnectorChoice, readers: Sequence[str]) -> None:
        self._choice = choice
        self._readers = tuple(readers)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            readers = [connectors.reader_named(name) for name in self._readers]
            rows = (row for batch in batches for row in to_rows(batch, "unit", "key"))
            roots = (row for row in rows if any(reader.may_be_root(str(row[1])) for reader in readers))
            yield from to_batches(roots, self.schema)
