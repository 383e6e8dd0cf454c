"""The lister ``iceberg-files``: local disks, S3, GCS and ADLS."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import cast

from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import ListingError, NessieGcError
from nessie_gc_core.model.files import FileReference
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.options import StorageOptions
from nessie_gc_iceberg_files.places import SCHEMES, Place, place_of
from nessie_gc_iceberg_files.splitting import Parts, split
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, one_line

log = logging.getLogger(__name__)


class IcebergFileLister(FileLister):
    """Lists flat and page by page, with raw keys; nothing but one page is held in memory.

    Directory markers (empty objects whose key ends in a slash) are left out. A missing bucket is an error, not
    an empty location. Symbolic links to directories are not followed.
    """

    name = "iceberg-files"
    schemes = SCHEMES
    Options = StorageOptions

    def __init__(self, options: StorageOptions) -> None:
        super().__init__(options)
        self._stores = Stores(options.properties)

    def list_files(self, location: str) -> Iterator[FileReference]:
        """All files below a location."""
        store, prefix = self._base(location)
        yield from _references(location, prefix, store.files(prefix))

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        """Cuts a location along its directories, breadth first."""
        store, prefix = self._base(location)
        return split(store, prefix, parts)

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        """Lists one part: whole prefixes, and files that lie directly in prefixes that were cut up."""
        store, prefix = self._base(location)
        found = cast("Parts", json.loads(part))
        for relative in found["whole"]:
            yield from _references(location, prefix, store.files(prefix + relative))
        for relative in found["level"]:
            level = cast("Level", store.level(prefix + relative, limit=None))
            yield from _references(location, prefix, level.files)

    def store_time(self, location: str) -> datetime:
        """The time by the store's clock: the Date header of a one-key listing; a disk's is this machine's."""
        store, prefix = self._base(location)
        return store.now(prefix)

    def take_left_alone(self) -> int:
        """Links to folders, special files, and names that are not text, on local disks."""
        return self._stores.take_left_alone()

    def keeps_versions(self, location: str) -> bool | None:
        """Whether the bucket keeps noncurrent versions; S3 and GCS say so to whoever may read its settings."""
        try:
            store, _ = self._base(location)
            return store.keeps_versions()
        except (NessieGcError, OSError) as error:
            log.debug("whether %r keeps versions is not known: %s", location, one_line(error))
            return None

    def close(self) -> None:
        """Closes the clients."""
        self._stores.close()

    def _base(self, location: str) -> tuple[Store, str]:
        place = base_of(location)
        return self._stores.of(place), place.key


def base_of(location: str) -> Place:
    """The place of a location.

    Raises:
        ListingError: it is no location that can be listed.
    """
    if not location.endswith("/"):
        raise ListingError(f"{location!r} is no location: it has to end in a slash")
    try:
        place = place_of(location)
    except ValueError as error:
        raise ListingError(f"{location!r} cannot be listed: {error}") from error
    if place.scheme == "file" and ".." in place.key.split("/"):
        raise ListingError(f"{location!r} cannot be listed: it has '..' in it")
    return place


def _references(location: str, prefix: str, files: Iterable[StoredFile]) -> Iterator[FileReference]:
    cut = len(prefix)
    for file in files:
        if not file.key.startswith(prefix):
            raise ListingError(f"the listing of {location} returned {file.key!r}, which lies outside of it")
        path = file.key[cut:]
        if not path or (path.endswith("/") and not file.size):
            continue  # a directory marker
        yield FileReference(location=location, path=path, size=file.size, modified=file.modified)
