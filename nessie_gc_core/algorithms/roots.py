"""Roots: which files could be what a content version points to, and so need a tombstone (S7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import in_schema
from nessie_gc_core.model.relations import FILE_KEYS, VERDICTS

ROOTS = pa.schema([*FILE_KEYS, VERDICTS.field("bucket")])
"""Files that could be a metadata file, with their bucket."""


def may_be_roots(verdicts: Dataset, readers: Sequence[type[ContentToFiles]], choice: ConnectorChoice) -> Dataset:
    """The files of some verdicts (:data:`VERDICTS`) that could be a metadata file (:data:`ROOTS`).

    A row without a ``path`` is a checksum sidecar whose file was not there: its key names a file that someone else took
    away, and that must stay lost.
    """
    return verdicts.present("path").flat_map(_MayBeRoots(choice, [reader.name for reader in readers]))


class _MayBeRoots:
    """Keeps the files that one of the readers considers a root."""

    schema = ROOTS

    def __init__(self, choice: ConnectorChoice, readers: Sequence[str]) -> None:
        self._choice = choice
        self._readers = tuple(readers)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            readers = [connectors.reader_named(name) for name in self._readers]
            for batch in batches:
                keys = batch.column("key").to_pylist()
                roots = [any(reader.may_be_root(key) for reader in readers) for key in keys]
                yield in_schema(batch, self.schema).filter(pa.array(roots, pa.bool_()))
