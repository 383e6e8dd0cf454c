"""Tables below a warehouse as its listing shows them: folders in which metadata files lie, told by their names."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import from_micros, to_batches, to_rows
from nessie_gc_core.model.relations import CONTENT_VERSIONS, STORED_FILES, UNKNOWN_TIME

_FOLDERS = pa.schema([STORED_FILES.field("unit"), pa.field("folder", pa.string(), nullable=False)])
_NEWEST_METADATA = pa.schema([*_FOLDERS, CONTENT_VERSIONS.field("content_type"), pa.field("newest", pa.string())])
_NEWEST_FILES = pa.schema([*_FOLDERS, pa.field("modified", pa.int64())])
_DIGITS = len(str(UNKNOWN_TIME))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A folder that looks like the base location of a content."""

    content_type: str
    """Which type of content, by the names of its metadata; there may be another one of another type."""
    location: str
    """The raw folder."""
    metadata_location: str
    """Raw path of the metadata file that was modified last."""
    modified: datetime
    """When the youngest of its files was modified, by the clock of the store."""


def find_tables(stored: Dataset, names: Mapping[str, str]) -> Iterator[FoundTable]:
    """The tables in what was listed (:data:`STORED_FILES`), but for those of which a file has no time.

    ``names`` says of content types how their metadata files are named (``ContentToFiles.metadata_names``).
    """
    named = stored.present("path").flat_map(_MetadataFiles(names))
    keys = [*_FOLDERS.names, "content_type"]
    tables = named.aggregate(keys, {"newest": ("max", "newest")}, _NEWEST_METADATA).summary().to_pylist()
    if not tables:
        return
    files = stored.flat_map(_FilesOf((row["unit"], row["folder"]) for row in tables))
    youngest = files.aggregate(_FOLDERS.names, {"modified": ("max", "modified")}, _NEWEST_FILES).summary().to_pylist()
    times = {(row["unit"], row["folder"]): from_micros(row["modified"]) for row in youngest}
    for row in tables:
        path, modified = row["newest"][_DIGITS:], times[row["unit"], row["folder"]]
        match = _match(path, names[row["content_type"]])
        if modified is not None and match is not None:
            yield FoundTable(
                content_type=row["content_type"],
                location=match["folder"],
                metadata_location=path,
                modified=modified,
            )


def _match(path: str, name: str) -> re.Match[str] | None:
    return re.fullmatch(f"(?P<folder>.+/)(?:{name})", path)


class _MetadataFiles:
    """Stored files to those that are metadata: their tables' folders, and a text that sorts by their times."""

    schema = _NEWEST_METADATA

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "unit", "key", "location", "path", "modified"))
        found = (
            (unit, match["folder"], type_, str(modified).zfill(_DIGITS) + str(location) + str(path))
            for unit, key, location, path, modified in rows
            for type_, name in self._names.items()
            if (match := _match(str(key), name)) is not None
        )
        yield from to_batches(found, self.schema)


class _FilesOf:
    """Stored files to the folders of tables they lie in, each with the time of the youngest file of the task."""

    schema = _NEWEST_FILES

    def __init__(self, folders: Iterable[tuple[str, str]]) -> None:
        self._folders = frozenset(folders)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        youngest: dict[tuple[str, str], int] = {}
        for batch in batches:
            for unit, key, modified in to_rows(batch, "unit", "key", "modified"):
                assert isinstance(modified, int)
                for folder in _above(str(key)):
                    table = str(unit), folder
                    if table in self._folders:
                        youngest[table] = max(modified, youngest.get(table, 0))
        yield from to_batches(((*table, modified) for table, modified in youngest.items()), self.schema)


def _above(key: str) -> Iterator[str]:
    """The folders that a key lies in."""
    return (key[: at + 1] for at, letter in enumerate(key) if letter == "/")


class Apart:
    """Places, of which those go that overlap another one: they lie in it, around it, or are the same."""

    def __init__(self, places: Iterable[str]) -> None:
        """Takes canonical prefixes, each with a slash at its end."""
        self.left = sorted(set(places))
        """Those that are left."""
        self._set = set(self.left)

    def take_out(self, place: str) -> None:
        """Takes out what overlaps a canonical prefix."""
        start = end = bisect.bisect_left(self.left, place)
        while end < len(self.left) and self.left[end].startswith(place):
            end += 1
        gone = {*self.left[start:end], *self._set.intersection(_above(place))}
        if gone:
            self._set -= gone
            self.left = sorted(self._set)
