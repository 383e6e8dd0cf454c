"""List: what is stored in the sweep units, flat, in many tasks, each file once (S4, S5)."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import More, read_ahead
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import (
    FileLister,
    ListingPart,
    SupportsCutListing,
    SupportsLeftAlone,
    SupportsSplitListing,
)
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import ListingError, SafetyError
from nessie_gc_core.model.batches import Row, pieces_to_batches, to_batches, to_micros, to_tuples
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import HADOOP_FILE_SYSTEMS, LocationRules
from nessie_gc_core.model.relations import LISTING_TASKS, STORED_FILES
from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)

_PIECE = 1_000
"""How many rows of a listing are handed on at once."""
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

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Lists each task; one that fails becomes a row with a problem, which stops its unit."""
        tasks = (task for batch in batches for task in to_tuples(batch, _Task))
        with OpenConnectors(self._choice) as connectors:
            pieces = read_ahead(
                tasks,
                lambda task: self._pieces(connectors, task),
                at_once=lambda task: self._choice.reads_at_once(task.location),
                kind="list",
            )
            with closing(pieces):
                yield from pieces_to_batches(pieces, self.schema)

    def _pieces(self, connectors: OpenConnectors, task: _Task) -> Iterator[list[Row] | More[_Task]]:
        """The rows of a task, in pieces, and further tasks where the lister cuts it; one thread lists it."""
        rows: list[Row] = []
        for row in self._list(connectors, task):
            if isinstance(row, More):
                yield row
                continue
            rows.append(row)
            if len(rows) >= _PIECE:
                yield _listed(rows)
                rows = []
        yield _listed(rows)

    def _list(self, connectors: OpenConnectors, task: _Task) -> Iterator[Row | More[_Task]]:
        unit, location = task.unit, task.location
        try:
            with connectors.lister_alone(location) as lister:
                hadoop = unit.partition(":")[0] in HADOOP_FILE_SYSTEMS
                if isinstance(lister, SupportsLeftAlone):
                    lister.take_left_alone()  # what a listing left out that then broke off is not this one's
                for file in _files(lister, location, task.part):
                    if isinstance(file, ListingPart):
                        yield More(task._replace(part=file.name))
                        continue
                    key = self._key(file, location, task.prefix)
                    yield stored_row(unit, key, file, sidecar_owner(key) if hadoop else None)
                if isinstance(lister, SupportsLeftAlone):
                    left_alone = (unit, "", location, None, 0, 0, None, 0, False, None, None, 1)
                    yield from itertools.repeat(left_alone, lister.take_left_alone())
        except Exception as error:  # noqa: BLE001 - a listing that breaks off must not look like an empty one
            yield (unit, "", location, None, 0, 0, None, 0, False, None, one_line(error), 0)

    def _key(self, file: FileReference, location: str, prefix: str) -> str:
        """The key of a listed file below its unit's root; stops the unit if the file is outside it (S5)."""
        if file.location != location or not file.path:
            raise ListingError(f"the listing of {location} returned {file.location}{file.path}, which is outside it")
        path = file.path
        if path[0] not in "./" and "/." not in path and "//" not in path and "\\" not in path:
            return prefix + path  # nothing in it whose canonical form may be another one
        canonical, base = self._rules.canonical(location + file.path), self._rules.canonical_prefix(location)
        if not canonical.startswith(base):
            raise ListingError(f"the listing of {location} returned {file.path!r}, which is outside it")
        return prefix + canonical[len(base) :]


def _listed(rows: list[Row]) -> list[Row]:
    METER.listed(len(rows))
    return rows


class _Task(NamedTuple):
    """What is listed in one go: a location, or a part of it (:data:`LISTING_TASKS`)."""

    unit: str
    location: str
    prefix: str
    part: str | None


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
        return (unit, key, file.location, file.path, size, modified, None, 0, False, None, None, 0)
    return (unit, key, file.location, None, 0, modified, file.path, size, True, owner, None, 0)


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
