"""Tables below a warehouse as its listing shows them: folders with metadata files, recognised by their names."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import from_micros, to_batches, to_rows, to_texts, to_tuples
from nessie_gc_core.model.files import StoredNames
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules, folders_of
from nessie_gc_core.model.marks import marked_folder
from nessie_gc_core.model.relations import CONTENT_VERSIONS, STORED_FILES, UNKNOWN_TIME

_FOLDERS = pa.schema([STORED_FILES.field("unit"), pa.field("folder", pa.string(), nullable=False)])
_NEWEST_METADATA = pa.schema([*_FOLDERS, CONTENT_VERSIONS.field("content_type"), pa.field("newest", pa.string())])
_NEWEST_FILES = pa.schema([*_FOLDERS, pa.field("modified", pa.int64())])
_DIGITS = len(str(UNKNOWN_TIME))

Folder = tuple[str, str]
"""A sweep unit, and the key of a folder below it, with a slash at its end; empty: the unit itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTable:
    """A folder that looks like the base location of a content."""

    content_type: str
    """Which type of content, by the names of its metadata."""
    location: str
    """The raw folder, as it is listed."""
    metadata_location: str
    """Raw path of the metadata file that was modified last."""
    modified: datetime
    """When the youngest of its files was modified, by the clock of the store."""


def plan_warehouses(raw: Iterable[str], rules: LocationRules, allowed: AllowedLocations) -> SweepPlan:
    """The limits for listing tables: the depth of a location limits what may be swept, not what may be listed."""
    return plan_units(raw, rules, replace(allowed, min_depth=0))


def find_tables(stored: Dataset, names: Mapping[str, StoredNames]) -> Iterator[FoundTable]:
    """The tables in what was listed; none with a file that has no time, or in a folder that someone else uses too.

    Args:
        stored: :data:`STORED_FILES`.
        names: how files of content types are named.
    """
    named = stored.present("path").flat_map(_MetadataFiles(names))
    keys = [*_FOLDERS.names, "content_type"]
    every = named.aggregate(keys, {"newest": ("max", "newest")}, _NEWEST_METADATA).summary().to_pylist()
    others = stored.present("mark").flat_map(_MarkedFolders()).distinct(_FOLDERS.names).summary().to_pylist()
    marked = {(row["unit"], row["folder"]) for row in others}
    found = [row for row in every if not any(around in marked for around in _around(row["unit"], row["folder"]))]
    files = stored.flat_map(_FilesOf(((row["unit"], row["folder"]) for row in found), names))
    ages = files.aggregate(_FOLDERS.names, {"modified": ("max", "modified")}, _NEWEST_FILES).summary().to_pylist()
    times = {(row["unit"], row["folder"]): from_micros(row["modified"]) for row in ages}
    for row in found:
        path, modified = row["newest"][_DIGITS:], times[row["unit"], row["folder"]]
        location = names[row["content_type"]].base_location(path)
        if modified is not None and location is not None:
            yield FoundTable(
                content_type=row["content_type"], location=location, metadata_location=path, modified=modified
            )


class _MetadataFiles:
    """Stored files to those that are metadata: their tables' folders, and a text that sorts by their times."""

    schema = _NEWEST_METADATA

    def __init__(self, names: Mapping[str, StoredNames]) -> None:
        self._names = dict(names)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "unit", "key", "location", "path", "modified"))
        found = (
            (unit, folder, type_, str(modified).zfill(_DIGITS) + str(location) + str(path))
            for unit, key, location, path, modified in rows
            for type_, names in self._names.items()
            if (folder := names.base_location(str(key))) is not None
        )
        yield from to_batches(found, self.schema)


class _MarkedFolders:
    """Stored files that are marks to the folders that they are about (S32)."""

    schema = _FOLDERS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys = (row for batch in batches for row in to_texts(batch, "unit", "key"))
        found = {(unit, folder) for unit, key in keys if (folder := marked_folder(key)) is not None}
        yield from to_batches(sorted(found), self.schema)


def _around(unit: str, key: str) -> Iterator[Folder]:
    """The folders around a key, and the unit itself."""
    return ((unit, folder) for folder in ("", *folders_of(key)))


class _KeyAndTime(NamedTuple):
    """What is read of a stored file."""

    unit: str
    key: str
    modified: int
    mark: str | None


class _FilesOf:
    """Stored files to the table folders that hold them, each with the time of its youngest file in the task.

    A file that someone else keeps there counts as too young at any age.
    """

    schema = _NEWEST_FILES

    def __init__(self, folders: Iterable[Folder], names: Mapping[str, StoredNames]) -> None:
        self._folders = frozenset(folders)
        self._others = re.compile("|".join(f"(?:{each.of_others})" for each in names.values()) or "(?!)")

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        youngest: dict[Folder, int] = {}
        for batch in batches:
            for file in to_tuples(batch, _KeyAndTime):
                for table in self._around(file.unit, file.key):
                    is_ours = file.mark is None and self._others.fullmatch(file.key, len(table[1])) is None
                    youngest[table] = max(file.modified if is_ours else UNKNOWN_TIME, youngest.get(table, 0))
        yield from to_batches(((*table, modified) for table, modified in youngest.items()), self.schema)

    def _around(self, unit: str, key: str) -> Iterator[Folder]:
        """The folders around a file."""
        return (table for table in _around(unit, key) if table in self._folders)


class Apart:
    """Places, without those that overlap a given one: those inside it, around it, or equal to it."""

    def __init__(self, places: Iterable[str]) -> None:
        """Takes canonical prefixes, each with a slash at its end."""
        self._set = set(places)
        self.left = sorted(self._set)
        """Those that are left."""

    def take_out(self, place: str, *, inside: bool = True) -> list[str]:
        """Removes a canonical prefix and the places around it, and with ``inside`` those inside it; returns them."""
        taken = sorted(self._set.intersection(folders_of(place)))
        for around in taken:
            del self.left[bisect.bisect_left(self.left, around)]
        start = end = bisect.bisect_left(self.left, place)
        while inside and end < len(self.left) and self.left[end].startswith(place):
            end += 1
        taken += self.left[start:end]
        del self.left[start:end]
        self._set.difference_update(taken)
        return taken
