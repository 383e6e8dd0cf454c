"""The reader of metadata logs: keeps older metadata files without opening them."""

from __future__ import annotations

from collections.abc import Iterator

from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.model import ContentVersion, FileKind, ReachableFile
from nessie_gc_iceberg_catalog.content_types import METADATA_LOG_FILE


class MetadataLogReader(ContentToFiles):
    """An older metadata file is needed as a file only.

    Its snapshots may have been expired since, so reading it would ask for files that are rightly gone. Where
    the file itself is gone it counts as lost, which freezes nothing.
    """

    name = "iceberg-metadata-log"
    content_types = frozenset({METADATA_LOG_FILE})
    expandable_kinds = ()

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The file itself."""
        if version.metadata_location:
            yield ReachableFile(path=version.metadata_location, kind=FileKind.METADATA, location=version.location)

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """Nothing: no kind of this reader can be expanded."""
        yield from ()
