"""Where contents that cannot be read completely may have files (S6)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from nessie_gc_core.algorithms.expand import expand, named_by, to_open
from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.algorithms.remembered import Remembered
from nessie_gc_core.algorithms.storable import original_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, version_rows
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion

log = logging.getLogger(__name__)

_UNITS = pa.schema([pa.field("unit", pa.string()), pa.field("files", pa.int64())])
_HOMES = pa.schema([pa.field("content_id", pa.string()), pa.field("location", pa.string())])
_PLACES = pa.schema(
    [
        pa.field("content_id", pa.string(), nullable=False),
        pa.field("unit", pa.string()),
        pa.field("named", pa.bool_(), nullable=False),
    ]
)


@dataclass(slots=True)
class Touched:
    """What some contents touch, or ever touched."""

    prefixes: set[str] = field(default_factory=set)
    """Canonical prefixes."""
    placed: set[str] = field(default_factory=set)
    """Ids of the contents for which at least one source says where their files are."""
    read: set[str] = field(default_factory=set)
    """Ids of the contents that an earlier run read to their end (S31)."""
    silent: set[str] = field(default_factory=set)
    """Ids of the contents with metadata that is text and names no place, so that their files may be anywhere."""

    def add(self, content_id: str, raw: str, index: UnitIndex) -> None:
        """Adds a raw location of a content."""
        try:
            self.prefixes.add(index.rules.canonical_prefix(raw))
        except UnknownLocationError as error:
            log.warning("%s", error)
            return
        self.placed.add(content_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFinder:
    """Finds what contents touch: by their readable versions, the registers, their metadata's text and its folder."""

    engine: Engine
    remembered: Sequence[Remembered]
    """What is known of the contents of each repository."""
    choice: ConnectorChoice
    readers: Sequence[type[ContentToFiles]]

    def find(self, content_ids: Iterable[str], version_files: Dataset, index: UnitIndex) -> Touched:
        """What the contents touch.

        Args:
            content_ids: the contents.
            version_files: what all live versions name at first hand (:data:`VERSION_FILES`).
            index: the sweep units.
        """
        touched, ids = Touched(), sorted(content_ids)
        mine = version_files.where("content_id", ids).checkpoint()
        homes = mine.select(_HOMES).distinct(list(_HOMES.names))
        for row in homes.summary().to_pylist():
            if row["location"] is not None:
                touched.add(row["content_id"], row["location"], index)
        for remembered in self.remembered:
            for content_id, location in remembered.locations_of(ids):
                touched.add(content_id, location, index)
        self.add_reached(ids, touched)
        for row in self._named(ids, index).summary().to_pylist():
            (touched.placed if row["named"] else touched.silent).add(row["content_id"])
            if row["unit"] is not None:
                touched.prefixes.add(row["unit"])
        again = expand(mine, index, self.choice, self.readers)
        units = again.reachable().aggregate(["unit"], {"files": ("count", "unit")}, _UNITS)
        touched.prefixes.update(str(row["unit"]) for row in units.summary().to_pylist())
        touched.prefixes.update(self._folders(ids, index))
        return touched

    def add_reached(self, content_ids: Collection[str], touched: Touched) -> None:
        """Adds what earlier runs saw that the contents need, and which of them they read."""
        for remembered in self.remembered:
            for reached in remembered.reached_of(content_ids):
                if reached.place:
                    touched.prefixes.add(reached.place)
                else:
                    touched.read.add(reached.content_id)

    def add_predecessors(self, content_ids: Collection[str], touched: Touched, index: UnitIndex) -> None:
        """Adds what was seen of contents at the same locations, or of the same names.

        A catalog that cannot read a table may not know its id, so that the table has another one than before.
        """
        at: dict[str, set[str]] = {}
        names: dict[str, str] = {}
        for version in self._versions_of(content_ids):
            names[version.content_id] = version.content_key
            metadata = version.metadata_location
            for raw in filter(None, (version.location, None if metadata is None else home_of_metadata(metadata))):
                place = index.rules.place_prefix_or_none(raw)
                if place is not None:
                    at.setdefault(place, set()).add(version.content_id)
        before: dict[str, set[str]] = {}
        for remembered in self.remembered if at else ():
            for content_id, location in remembered.all_locations():
                if location in at:
                    before.setdefault(content_id, set()).update(at[location])
        for remembered in self.remembered:
            named = list(remembered.earlier_ids(names))
            for content_id, earlier in named:
                before.setdefault(earlier, set()).add(content_id)
            for earlier, location in remembered.locations_of(sorted({earlier for _, earlier in named})):
                touched.add(earlier, location, index)
        found = Touched()
        self.add_reached(sorted(before), found)
        touched.prefixes |= found.prefixes
        touched.read.update(again for content_id in found.read for again in before[content_id])

    def _named(self, content_ids: Collection[str], index: UnitIndex) -> Dataset:
        """The units that the text of the contents' metadata names."""
        read_types = {type_ for reader in self.readers for type_ in reader.content_types}
        found = self._versions_of(content_ids)
        versions = (replace(version, content_type=original_type(version.content_type)) for version in found)
        readable = (version for version in versions if version.content_type in read_types)
        dataset = self.engine.dataset(version_rows(readable), CONTENT_VERSIONS)
        named = dataset.spread(["metadata_location"], together=True).flat_map(_NamedUnits(self.choice, index))
        return named.distinct(list(_PLACES.names))

    def _folders(self, content_ids: Collection[str], index: UnitIndex) -> Iterator[str]:
        """The places above the metadata files. They are likely, but there may be others."""
        for version in self._versions_of(content_ids):
            if version.metadata_location is None or "/" not in version.metadata_location:
                continue  # a name without a folder says nothing
            try:
                yield index.rules.canonical_prefix(home_of_metadata(version.metadata_location))
            except UnknownLocationError as error:
                log.warning("%s", error)

    def _versions_of(self, content_ids: Collection[str]) -> Iterator[ContentVersion]:
        return (version for remembered in self.remembered for version in remembered.versions_of(content_ids))


class _NamedUnits:
    """Content versions to the units that their metadata names, understood or not."""

    schema = _PLACES

    def __init__(self, choice: ConnectorChoice, index: UnitIndex) -> None:
        self._choice = choice
        self._index = index

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            versions = (version for batch in batches for version in rows_to_versions(batch))
            named = read_ahead(
                versions,
                partial(self._named, connectors),
                at_once=lambda version: self._choice.reads_at_once(named_by(version)),
            )
            with closing(named):
                yield from to_batches((row for found in named for row in self._units(*found)), self.schema)

    def _named(self, connectors: OpenConnectors, version: ContentVersion) -> Iterator[tuple[str, set[str]]]:
        """The content, and the places that the version's metadata names."""
        try:
            with connectors.reader(version.content_type) as reader:
                named = reader.named_places(to_open(version, self._index.rules))
                if named is not None:
                    yield version.content_id, set(named)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises, nothing is known of this version
            log.debug("cannot read %s: %s", version.metadata_location, error)

    def _units(self, content_id: str, places: set[str]) -> Iterator[Row]:
        """A row without unit says whether places are named; then one for each unit that they touch."""
        units: set[str | None] = set()
        for place in places:
            with contextlib.suppress(UnknownLocationError):  # no place of ours
                units |= {None, *self._index.around(place)}
        yield from ((content_id, unit, True) for unit in units)
        if not units:
            yield content_id, None, False
