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
_PLACES = pa.schema([pa.field("content_id", pa.string(), nullable=False), pa.field("unit", pa.string())])


@dataclass(slots=True)
class Touched:
    """What some contents touch, or ever touched."""

    prefixes: set[str] = field(default_factory=set)
    """Canonical prefixes."""
    placed: set[str] = field(default_factory=set)
    """Ids of the contents for which at least one source says where their files are."""

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
    """Finds what contents touch: by their readable versions, the register, their metadata's text and its folder."""

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
        for row in self._named(ids, index).summary().to_pylist():
            touched.placed.add(row["content_id"])
            if row["unit"] is not None:
                touched.prefixes.add(row["unit"])
        again = expand(mine, index, self.choice, self.readers)
        units = again.reachable().aggregate(["unit"], {"files": ("count", "unit")}, _UNITS)
        touched.prefixes.update(str(row["unit"]) for row in units.summary().to_pylist())
        touched.prefixes.update(self._folders(ids, index))
        return touched

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
                yield version.content_id, set(reader.named_places(to_open(version, self._index.rules)) or ())
        except Exception as error:  # noqa: BLE001 - whatever a reader raises, nothing is known of this version
            log.debug("cannot read %s: %s", version.metadata_location, error)

    def _units(self, content_id: str, places: set[str]) -> Iterator[Row]:
        """A row without unit says that places are named; then one for each unit that they touch."""
        units: set[str | None] = set()
        for place in places:
            with contextlib.suppress(UnknownLocationError):  # no place of ours
                units |= {None, *self._index.around(place)}
        yield from ((content_id, unit) for unit in units)
