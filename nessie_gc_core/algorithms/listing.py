"""List: what is stored in the sweep units, flat, in many tasks, each file once (S4, S5)."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.read_ahead import More, read_ahead
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import (
    FileLister,
    ListingPart,
    SupportsCutListing,
    SupportsLeftAlone,
    SupportsListBatches,
    SupportsSplitListing,
    prefers,
)
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import ListingError, SafetyError
from nessie_gc_core.model.batches import (
    Row,
    constant,
    file_references,
    given_rows,
    in_schema,
    listed_files,
    merged,
    to_batches,
    to_micros,
    to_tuples,
)
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import HADOOP_FILE_SYSTEMS, LocationRules
from nessie_gc_core.model.marks import mark_of, marks_of
from nessie_gc_core.model.relations import LISTED_FILES, LISTING_TASKS, STORED_FILES, UNKNOWN_TIME
from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)

_PIECE = 1_000
"""How many files of a listing are handed on at once."""
_BY_ROWS = ("list_files", "list_part", "list_or_cut")
_SPECIAL = r"^[./]|/\.|//|\\|^$"
"""Paths of which the canonical form may be another one (S3, S5)."""
_SPECIAL_OR_SIDECAR = _SPECIAL + r"|\.crc$"
TASKS_PER_CORE = 4
"""A listing is cut into about this many tasks for every core of an engine with workers elsewhere."""
TASKS_IN_PROCESS = 16
"""The number of tasks in one process, whose tasks wait for stores in the same threads."""


class ListFiles:
    """Listing tasks to stored files (:data:`STORED_FILES`)."""

    schema = STORED_FILES

    def __init__(self, choice: ConnectorChoice, rules: LocationRules) -> None:
        self._choice = choice
        self._rules = rules

    @property
    def elsewhere(self) -> bool:
        """Whether another process of this machine may run it: all connectors are installed, and it only reads."""
        return self._choice.is_of_installed

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Lists each task; one that fails becomes a row with a problem, which stops its unit."""
        tasks = (task for batch in batches for task in to_tuples(batch, _Task))
        with OpenConnectors(self._choice) as connectors:
            pieces = read_ahead(
                tasks,
                lambda task: self._list(connectors, task),
                at_once=lambda task: self._choice.reads_at_once(task.location),
                kind="list",
            )
            with closing(pieces):
                yield from merged(pieces)

    def _list(self, connectors: OpenConnectors, task: _Task) -> Iterator[pa.RecordBatch | More[_Task]]:
        """The rows of a task, in batches, and further tasks where the lister cuts it; one thread lists it."""
        unit, location = task.unit, task.location
        try:
            with connectors.lister_alone(location) as lister:
                if isinstance(lister, SupportsLeftAlone):
                    lister.take_left_alone()  # what a listing left out that then broke off is not this one's
                for found in _listed(lister, location, task.part):
                    if isinstance(found, ListingPart):
                        yield More(task._replace(part=found.name))
                    else:
                        yield from self._stored(given_rows(found, LISTED_FILES), task)
                        METER.listed(found.num_rows)
                if isinstance(lister, SupportsLeftAlone):
                    left_alone = (unit, "", location, None, 0, 0, None, 0, False, None, None, 1, None)
                    yield from to_batches(itertools.repeat(left_alone, lister.take_left_alone()), STORED_FILES)
        except Exception as error:  # noqa: BLE001 - a listing that breaks off must not look like an empty one
            problem = (unit, "", location, None, 0, 0, None, 0, False, None, one_line(error), 0, None)
            yield from to_batches([problem], STORED_FILES)

    def _stored(self, files: pa.RecordBatch, task: _Task) -> Iterator[pa.RecordBatch]:
        """Listed files as rows of the relation: by columns, but for those that need a closer look."""
        hadoop = task.unit.partition(":")[0] in HADOOP_FILE_SYSTEMS
        special = pc.match_substring_regex(files.column("path"), _SPECIAL_OR_SIDECAR if hadoop else _SPECIAL)
        special = pc.fill_null(special, fill_value=True)
        if not pc.any(special).as_py():
            yield _stored_batch(files, task)
            return
        yield _stored_batch(files.filter(pc.invert(special)), task)
        looked_at = file_references(task.location, files.filter(special))
        keyed = ((self._key(file, task.prefix), file) for file in looked_at)
        rows = (stored_row(task.unit, key, file, sidecar_owner(key) if hadoop else None) for key, file in keyed)
        yield from to_batches(rows, STORED_FILES)

    def _key(self, file: FileReference, prefix: str) -> str:
        """The key of a listed file below its unit's root; stops the unit if the file is outside it (S5)."""
        if not file.path:
            raise ListingError(f"the listing of {file.location} returned {file.path!r}, which is outside it")
        canonical, base = self._rules.canonical(file.location + file.path), self._rules.canonical_prefix(file.location)
        if not canonical.startswith(base):
            raise ListingError(f"the listing of {file.location} returned {file.path!r}, which is outside it")
        return prefix + canonical[len(base) :]


def _stored_batch(files: pa.RecordBatch, task: _Task) -> pa.RecordBatch:
    """Files without sidecars, with their paths as keys (:data:`STORED_FILES`)."""
    rows, paths = files.num_rows, files.column("path")
    keys = pc.binary_join_element_wise(task.prefix, paths, "") if task.prefix else paths
    given = {
        "unit": constant(task.unit, rows, pa.string()),
        "key": keys,
        "location": constant(task.location, rows, pa.string()),
        "size": pc.fill_null(files.column("size"), 0),
        "modified": pc.fill_null(files.column("modified"), UNKNOWN_TIME),
        "sidecar_path": constant(None, rows, pa.string()),
        "sidecar_size": constant(0, rows, pa.int64()),
        "sidecar": pa.repeat(pa.scalar(value=False), rows),
        "owner": constant(None, rows, pa.string()),
        "problem": constant(None, rows, pa.string()),
        "left_alone": constant(0, rows, pa.int64()),
        "mark": marks_of(keys),
    }
    return in_schema(files, STORED_FILES, given)


class _Task(NamedTuple):
    """What is listed in one go: a location, or a part of it (:data:`LISTING_TASKS`)."""

    unit: str
    location: str
    prefix: str
    part: str | None


def _listed(lister: FileLister, location: str, part: str | None) -> Iterator[pa.RecordBatch | ListingPart]:
    """What a lister returns for a location or a part of it (:data:`LISTED_FILES`), in whatever way it can."""
    if isinstance(lister, SupportsListBatches) and all(prefers(lister, "list_batches", name) for name in _BY_ROWS):
        yield from lister.list_batches(location, part)
        return
    files: list[FileReference] = []
    for found in _files(lister, location, part):
        if isinstance(found, ListingPart):
            yield found
            continue
        if found.location != location:
            raise ListingError(f"the listing of {location} returned {found.location}{found.path}, which is outside it")
        files.append(found)
        if len(files) >= _PIECE:
            yield from listed_files(files)
            files = []
    yield from listed_files(files)


def _files(lister: FileLister, location: str, part: str | None) -> Iterator[FileReference | ListingPart]:
    if isinstance(lister, SupportsCutListing):
        return lister.list_or_cut(location, part)
    if part is None:
        return lister.list_files(location)
    if not isinstance(lister, SupportsSplitListing):
        raise ListingError(f"{lister.name} cannot list parts of {location}")
    return lister.list_part(location, part)


def sidecar_owner(key: str) -> str | None:
    """The key of the file whose checksum sidecar this key is; ``None`` if it is not a sidecar."""
    if not key.endswith(".crc"):
        return None
    folder, slash, name = key.rpartition("/")
    if name.startswith(".") and name.endswith(".crc") and len(name) > len(".crc") + 1:
        return folder + slash + name[1 : -len(".crc")]
    return None


def stored_row(unit: str, key: str, file: FileReference, owner: str | None) -> Row:
    """A row of :data:`STORED_FILES`."""
    size = file.size or 0
    modified = to_micros(file.modified)
    if owner is None:
        return (unit, key, file.location, file.path, size, modified, None, 0, False, None, None, 0, mark_of(key))
    return (unit, key, file.location, None, 0, modified, file.path, size, True, owner, None, 0, None)


def listing_tasks(
    units: Iterable[SweepUnit], choice: ConnectorChoice, rules: LocationRules, wanted: int
) -> Iterator[Row]:
    """Cuts the units into tasks (:data:`LISTING_TASKS`), more of them if there are few units."""
    units = list(units)
    tasks = (_whole(unit, location, rules) for unit in units for location in unit.locations)
    parts_each = wanted // max(1, sum(len(unit.locations) for unit in units))
    if parts_each < 2:
        yield from tasks
        return
    with OpenConnectors(choice) as connectors:
        cut = read_ahead(
            tasks,
            lambda task: [task._replace(part=part) for part in _parts(connectors, task.location, parts_each)],
            at_once=lambda task: choice.reads_at_once(task.location),
            kind="list",
        )
        with closing(cut):
            yield from cut


def _whole(unit: SweepUnit, location: str, rules: LocationRules) -> _Task:
    place = rules.place_prefix(location)
    if not place.startswith(unit.root):  # its files would get keys that no metadata finds
        raise SafetyError(f"{location} is {place}, which is not below {unit.root}; correct `path_alias`")
    return _Task(unit.root, location, place[len(unit.root) :], None)


def _parts(connectors: OpenConnectors, location: str, wanted: int) -> list[str | None]:
    try:
        with connectors.lister_alone(location) as lister:
            if isinstance(lister, SupportsSplitListing):
                return list(lister.split_listing(location, wanted))
    except Exception as error:  # noqa: BLE001 - listing it whole will meet the same error, and report it
        log.debug("cannot split the listing of %s: %s", location, error)
    return [None]


def list_units(engine: Engine, units: Iterable[SweepUnit], choice: ConnectorChoice, rules: LocationRules) -> Dataset:
    """Lists all units (:data:`STORED_FILES`), once."""
    wanted = engine.parallelism * TASKS_PER_CORE if engine.distributed else TASKS_IN_PROCESS
    tasks = to_batches(listing_tasks(units, choice, rules, wanted), LISTING_TASKS)
    dataset = engine.dataset(tasks, LISTING_TASKS)
    return dataset.spread(["location", "part"]).flat_map(ListFiles(choice, rules)).checkpoint()
