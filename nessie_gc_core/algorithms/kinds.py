"""The probable kinds of files by their names, for display only."""

from __future__ import annotations

from collections.abc import Iterable

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsKindOfName


class KindsOfNames:
    """Asks the readers of some contents what files are called."""

    def __init__(self, readers: Iterable[str], connectors: OpenConnectors) -> None:
        """Takes the names of the readers; those that cannot tell are not asked."""
        opened = map(connectors.reader_named, readers)
        self._readers = [reader for reader in opened if isinstance(reader, SupportsKindOfName)]

    def of(self, path: str) -> str | None:
        """The kind of a raw path; ``None`` if the name does not tell."""
        kinds = (reader.kind_of_name(path) for reader in self._readers)
        return next((kind for kind in kinds if kind is not None), None)
