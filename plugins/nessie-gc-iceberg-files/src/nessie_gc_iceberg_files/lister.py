"""The lister ``iceberg-files``: local disks, S3, GCS and ADLS, and what fsspec knows."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, cast

import pyarrow as pa

from nessie_gc_core.connectors import CredentialSource, FileLister, ListingPart
from nessie_gc_core.errors import ListingError, NessieGcError
from nessie_gc_core.model.batches import file_references
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.relations import LISTED_FILES
from nessie_gc_core.model.work import Traffic
from nessie_gc_iceberg_files.fsspec_options import FALLBACK_SCHEMES
from nessie_gc_iceberg_files.key_ranges import KeyRange, OrderedStore, listed
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.options import StorageOptions
from nessie_gc_iceberg_files.places import SCHEMES, Place, place_of
from nessie_gc_iceberg_files.splitting import Parts, split
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, one_line
from nessie_gc_iceberg_files.traffic import taken

log = logging.getLogger(__name__)

_PIECE = 2_000
"""How many files a batch has at most, unless a page of the store has more."""


class IcebergFileLister(FileLister):
    """Lists flat and page by page, with raw keys; nothing but one page is held in memory.

    Directory markers (empty objects whose key ends in a slash) are left out. A missing bucket is an error, not
    an empty location. Symbolic links to directories are not followed. File systems of fsspec are listed directory by
    directory.
    """

    name = "iceberg-files"
    schemes = SCHEMES
    fallback_schemes = FALLBACK_SCHEMES
    shareable = True
    Options = StorageOptions

    def __init__(self, options: StorageOptions) -> None:
        super().__init__(options)
        self._stores = Stores(options.properties)

    def use_credentials(self, source: CredentialSource) -> None:
        """Where credentials come from that replace the configured ones."""
        self._stores.use_credentials(source)

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
        return _references(location, prefix, self._part(store, prefix, part))

    def _part(self, store: Store, prefix: str, part: str) -> Iterator[StoredFile]:
        found = cast("Parts", parsed_json(part))
        for relative in found["whole"]:
            yield from store.files(prefix + relative)
        for relative in found["level"]:
            yield from cast("Level", store.level(prefix + relative, limit=None)).files

    def list_or_cut(self, location: str, part: str | None) -> Iterator[FileReference | ListingPart]:
        """Lists a location or a part of it; of a large one in a store that lists in key order, the first pages."""
        for found in self.list_batches(location, part):
            if isinstance(found, ListingPart):
                yield found
            else:
                yield from file_references(location, found)

    def list_batches(self, location: str, part: str | None) -> Iterator[pa.RecordBatch | ListingPart]:
        """The same as batches."""
        store, prefix = self._base(location)
        range_ = _range(part, prefix)
        if range_ is None or not (isinstance(store, OrderedStore) and store.is_ordered):
            files = store.files(prefix) if part is None else self._part(store, prefix, part)
            while piece := [*islice(files, _PIECE)]:
                yield _batch(location, prefix, piece)
            return
        for found in listed(store, range_):
            if isinstance(found, KeyRange):
                yield ListingPart(json.dumps({"range": found}))
            else:
                yield _batch(location, prefix, found)

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        """By listing the files' folders; in a folder with thousands of names, file by file."""
        store, prefix = self._base(location)
        yield from _references(location, prefix, store.look_up(prefix, paths))

    def store_time(self, location: str) -> datetime:
        """The time by the store's clock: the Date header of a one-key listing; a disk's is this machine's.

        Raises:
            ServiceUnavailableError: it does not tell, as none that fsspec serves by scheme.
        """
        store, prefix = self._base(location)
        return store.now(prefix)

    def take_left_alone(self) -> int:
        """Links to folders, special files, and names that are not text, on local disks and servers."""
        return self._stores.take_left_alone()

    def keeps_versions(self, location: str) -> bool | None:
        """Whether the bucket keeps noncurrent versions; S3 and GCS say so to whoever may read its settings."""
        try:
            store, _ = self._base(location)
            return store.keeps_versions()
        except (NessieGcError, OSError) as error:
            log.debug("cannot tell whether %r keeps versions: %s", location, one_line(error))
            return None

    def take_traffic(self) -> Traffic:
        """Requests, bytes and waiting of this thread's calls; those of reader, lister and deleter together."""
        return taken()

    def close(self) -> None:
        """Closes the clients."""
        self._stores.close()

    def _base(self, location: str) -> tuple[Store, str]:
        place = base_of(location)
        return self._stores.of(place), place.key


def base_of(location: str) -> Place:
    """The place of a location.

    Raises:
        ListingError: it is not a location that can be listed.
    """
    if not location.endswith("/"):
        raise ListingError(f"{location!r} is not a location: it must end in a slash")
    try:
        place = place_of(location)
    except ValueError as error:
        raise ListingError(f"{location!r} cannot be listed: {error}") from error
    if place.scheme == "file" and ".." in place.key.split("/"):
        raise ListingError(f"{location!r} cannot be listed: it contains '..'")
    return place


def _range(part: str | None, prefix: str) -> KeyRange | None:
    """The range of keys that a part is; ``None`` if it is none."""
    if part is None:
        return KeyRange(prefix)
    found = cast("dict[str, Any]", parsed_json(part))
    if "range" in found:
        return KeyRange(*found["range"])
    whole: list[str] = found["whole"]
    return KeyRange(prefix + whole[0]) if len(whole) == 1 and not found["level"] else None


def _references(location: str, prefix: str, files: Iterable[StoredFile]) -> Iterator[FileReference]:
    files = iter(files)
    while piece := [*islice(files, _PIECE)]:
        yield from file_references(location, _batch(location, prefix, piece))


def _batch(location: str, prefix: str, files: Sequence[StoredFile]) -> pa.RecordBatch:
    """Files below a prefix (:data:`LISTED_FILES`), without directory markers."""
    cut = len(prefix)
    rows = [(key[cut:], size, modified) for key, size, modified in files if key.startswith(prefix)]
    if len(rows) < len(files):
        outside = next(file.key for file in files if not file.key.startswith(prefix))
        raise ListingError(f"the listing of {location} returned {outside!r}, which is outside it")
    rows = [row for row in rows if row[0] and (row[1] or not row[0].endswith("/"))]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LISTED_FILES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=LISTED_FILES)
