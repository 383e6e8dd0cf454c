"""Roots: which files could be what a content version points to, and so need a tombstone (S7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.relations import FILE_KEYS


def may_be_roots(verdicts: Dataset, readers: Sequence[type[ContentToFiles]], choice: ConnectorChoice) -> Dataset:
    """The files of some verdicts (:data:`VERDICTS`) that could be a metadata file (:data:`FILE_KEYS`).

    A row without a ``path`` is a checksum sidecar whose file was not there: its key names a file that somebody else
    took away, and that must stay lost.
    """
    return verdicts.present("path").flat_map(_MayBeRoots(choice, [reader.name for reader in readers]))


class _MayBeRoots:
    """Keeps the files that one of the readers takes for a root."""

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
