"""A sweep of one table's location, as Iceberg's ``remove_orphan_files`` looks at it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pyarrow as pa

from nessie_gc_core.algorithms.guard import spare
from nessie_gc_core.connectors import SupportsSnapshotExpiry
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.relations import FILE_KEYS, PROBLEM, VERDICTS
from nessie_gc_core.model.verdicts import Verdict
from nessie_gc_core.services.heads import contents_at
from nessie_gc_core.services.needed import Located, Needed
from nessie_gc_core.services.orphans.parameters import PrefixMismatchMode, RemoveOrphanFilesParameters
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.sweep import Purpose

_AUTHORITY = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?")
"""Scheme and authority of a location."""
_HIDDEN_PARTITION = re.compile(r"(^|/)[_.][^/=]*=")
_MISMATCH = "metadata names its path with another scheme or authority"
_PLAIN = pa.schema([pa.field("plain", pa.string(), nullable=False)])


class OneTable(Purpose):
    """Files below the location of one table, or below a part of it; hidden ones are left alone."""

    def __init__(self, run: Run, parameters: RemoveOrphanFilesParameters) -> None:
        self._run = run
        self._parameters = parameters
        self._places: tuple[str, ...] = ()
        """Canonical locations."""

    def restrict(self, located: Located) -> None:
        """Leaves the units of the table.

        Raises:
            ConfigurationError: there is no such table, or the location that was given is none of it.
        """
        rules = located.plan.rules
        raw = self._locations(located)
        places = {place for location in raw if (place := rules.place_prefix_or_none(location)) is not None}
        asked = self._parameters.location
        if asked is not None:
            place = rules.place_prefix_or_none(asked)
            if place is None or not place.startswith(tuple(places)):
                name = self._parameters.table
                raise ConfigurationError(f"`location` {asked!r} is not below the location of {name}: {', '.join(raw)}")
            places = {place}
        self._places = tuple(sorted(places))
        located.plan.keep(places)

    def _locations(self, located: Located) -> list[str]:
        """The raw base locations of the table."""
        name = str(self._parameters.table)
        run, references = self._run, self._run.repository.references()
        heads = (head for each in references for head in contents_at(run.repository, each))
        ids = {each.content_id for each in heads if each.content_key == name}
        if not ids:
            raise ConfigurationError(f"the repository has no table {name!r}; give its full dotted name")
        homes = (row for row in located.homes.to_pylist() if row["content_id"] in ids)
        return sorted({row["location"] for row in homes if row["location"] is not None})

    def chosen(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """The files below the location that are not hidden, and whose path no metadata names in another spelling.

        Raises:
            SafetyError: metadata names such a path with another scheme or authority, and the mode is ERROR.
        """
        mine = verdicts.flat_map(_Below(self._places)).checkpoint()
        hidden = mine.flat_map(_Hidden(self._places, hidden_partitions=True)).count()
        fields = self._partition_fields() if hidden else ()
        mine = mine.flat_map(_Hidden(self._places, fields)).checkpoint()
        dead = mine.where("verdict", [Verdict.UNREFERENCED.value, Verdict.SPARED.value])  # namesakes among the latter
        dead = dead.present("path").flat_map(_PlainPaths())
        named = needed.expansion.files.where("kind", [PROBLEM], negate=True).flat_map(_NamedPaths())
        mismatched = dead.semi_join(named, ["plain"]).checkpoint()
        count = mismatched.count()
        if count and self._parameters.prefix_mismatch_mode is PrefixMismatchMode.ERROR:
            raise SafetyError(
                f"of {count:,} files {_MISMATCH}, such as {mismatched.head(1).to_pylist()[0]['plain']}: declare "
                "equal ones with `equal_schemes` or `equal_authorities`, or keep the files with "
                "`prefix_mismatch_mode` IGNORE"
            )
        return spare(mine, mismatched.select(FILE_KEYS), _MISMATCH) if count else mine

    def _partition_fields(self) -> Collection[str]:
        """The names of the table's partition fields, which may begin like those of hidden files."""
        repository, name = self._run.repository, self._parameters.table
        if not isinstance(repository, SupportsSnapshotExpiry):
            return ()
        mine = (reference for reference in repository.references() if reference.name == name)
        tables = (table for reference in mine for table in repository.tables(reference))
        return {field for table in tables for field in table.partition_fields}


class _Below:
    """Verdicts to those of files below some canonical places."""

    schema = VERDICTS

    def __init__(self, places: tuple[str, ...]) -> None:
        self._places = places

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            paths = map("".join, to_texts(batch, "unit", "key"))
            yield batch.filter(pa.array([path.startswith(self._places) for path in paths], pa.bool_()))


class _Hidden:
    """Verdicts to those of files that are not hidden, or to those in folders that may be of partitions.

    As in Iceberg, a file is hidden where its name, or that of a folder, begins with ``_`` or ``.``, unless the folder
    is that of a partition.
    """

    schema = VERDICTS

    def __init__(
        self, places: Collection[str], partition_fields: Collection[str] = (), *, hidden_partitions: bool = False
    ) -> None:
        self._places = sorted(places, key=len, reverse=True)
        self._partitions = tuple(f"{field}=" for field in partition_fields)
        self._hidden_partitions = hidden_partitions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            paths = map("".join, to_texts(batch, "unit", "key"))
            wanted = [self._is_wanted(self._below(path)) for path in paths]
            yield batch.filter(pa.array(wanted, pa.bool_()))

    def _below(self, path: str) -> str:
        """The path below the deepest of the places."""
        return path[next(len(place) for place in self._places if path.startswith(place)) :]

    def _is_wanted(self, key: str) -> bool:
        if self._hidden_partitions:
            return _HIDDEN_PARTITION.search(key) is not None
        *folders, name = key.split("/")
        hidden = (folder for folder in folders if folder.startswith(("_", ".")))
        return not name.startswith(("_", ".")) and all(folder.startswith(self._partitions) for folder in hidden)


class _PlainPaths:
    """Verdicts to their keys, and their paths without scheme and authority."""

    schema = pa.schema([*FILE_KEYS, *_PLAIN])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_texts(batch, "unit", "key", "location", "path"))
        plain = ((unit, key, _plain(location + path)) for unit, key, location, path in rows)
        yield from to_batches(plain, self.schema)


class _NamedPaths:
    """Files that metadata names (:data:`EXPANDED_FILES`) to their paths without scheme and authority."""

    schema = _PLAIN

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_texts(batch, "path"))
        yield from to_batches(((_plain(path),) for (path,) in rows), self.schema)


def _plain(path: str) -> str:
    return re.sub(r"/{2,}", "/", _AUTHORITY.sub("", path))
