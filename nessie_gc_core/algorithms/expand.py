"""Expand: from content versions to all files they need, every immutable file read once per run."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import pyarrow as pa

from nessie_gc_core.algorithms.expand_files import PIECE, ExpandFiles, checked, why_unreadable
from nessie_gc_core.algorithms.keyed import KeyVersionFiles, carrying
from nessie_gc_core.algorithms.reach import Places
from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.algorithms.storable import UNKNOWN_REASON, unknown_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import MissingFileError
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, to_rows
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import PROBLEM, REACHABLE_FILES, REACHED, SPELLING, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion

log = logging.getLogger(__name__)

_ONCE = ("path", "announced")


class ReadVersions:
    """Content versions to the files they name directly (:data:`VERSION_FILES`)."""

    schema = VERSION_FILES

    def __init__(self, choice: ConnectorChoice, *, carried: pa.Schema | None = None) -> None:
        """Takes what finds readers.

        Args:
            choice: the connectors' options.
            carried: further columns of a version, which its files get as well.
        """
        self._choice = choice
        self._carried, self.schema = carrying(VERSION_FILES, carried)

    @property
    def elsewhere(self) -> bool:
        """Whether another process of this machine may run it: all connectors are installed, and it only reads."""
        return self._choice.is_of_installed

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads each version; one that cannot be read becomes a row of kind PROBLEM (S18)."""
        rules = self._choice.rules()
        groups = (group for batch in batches for group in _by_metadata(batch, self._carried))
        with OpenConnectors(self._choice) as connectors:

            def read(group: _Versions) -> Iterator[list[Row]]:
                yield from in_pieces(_read_group(group, connectors, rules), PIECE)
                METER.expanded(len(group))

            found = read_ahead(groups, read, at_once=lambda group: self._choice.reads_at_once(named_by(group[0][0])))
            with closing(found):
                yield from to_batches((row for rows in found for row in rows), self.schema)


_Versions = Sequence[tuple[ContentVersion, Row]]
"""Versions, each with what its files get as well."""


def _read_group(versions: _Versions, connectors: OpenConnectors, rules: LocationRules) -> Iterator[Row]:
    """The rows of versions with one metadata file, which their readers may remember for so long."""
    with ExitStack() as stack:
        readers: dict[str, ContentToFiles] = {}

        def reader_of(type_: str) -> ContentToFiles:
            if type_ not in readers:
                readers[type_] = stack.enter_context(connectors.reader(type_))
                stack.enter_context(readers[type_].remembering())
            return readers[type_]

        for version, carried in versions:
            rows = _read_version(version, partial(reader_of, version.content_type), rules)
            yield from ((*row, *carried) for row in rows) if carried else rows


def _read_version(version: ContentVersion, reader: Callable[[], ContentToFiles], rules: LocationRules) -> Iterator[Row]:
    type_, id_ = version.content_type, version.content_id
    original = unknown_type(type_)
    if original is not None:
        yield (named_by(version), PROBLEM, original, None, version.location, id_, UNKNOWN_REASON, False, False, None)
        return
    try:
        for named in reader().files(to_open(version, rules)):
            file = checked(named, named_by(version))
            row = (file.path, file.kind, type_, file.length, file.location, id_, None, None, file.shared)
            yield (*row, file.announced)
    except MissingFileError as error:
        yield (error.path, PROBLEM, type_, None, None, id_, why_unreadable(error), True, False, None)
    except Exception as error:  # noqa: BLE001 - whatever a reader raises, this version is unknown, not dead
        yield (named_by(version), PROBLEM, type_, None, None, id_, why_unreadable(error), False, False, None)


def named_by(version: ContentVersion) -> str:
    """What a version is read from, or else its key."""
    return version.metadata_location or version.content_key


def to_open(version: ContentVersion, rules: LocationRules) -> ContentVersion:
    """The version with its metadata location as connectors can open it."""
    location = version.metadata_location
    return version if location is None else replace(version, metadata_location=rules.to_open(location))


def _by_metadata(batch: pa.RecordBatch, carried: Sequence[str]) -> Iterator[_Versions]:
    """The versions of a batch, those with the same metadata file together, so that a reader opens it once."""
    more = to_rows(batch, *carried) if carried else itertools.repeat(())
    versions = zip(rows_to_versions(batch), more, strict=False)
    ordered = sorted(versions, key=lambda pair: named_by(pair[0]))
    return (list(group) for _, group in itertools.groupby(ordered, key=lambda pair: named_by(pair[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What expanding some content versions gave."""

    files: Dataset
    """:data:`EXPANDED_FILES`."""
    files_read: int
    """How many distinct files were expanded."""

    def reachable(self) -> Dataset:
        """The files inside sweep units (:data:`REACHABLE_FILES`), with duplicates, under every spelling."""
        return self.files.where("kind", [PROBLEM], negate=True).present("unit").select(REACHABLE_FILES)

    def spellings(self) -> Dataset:
        """Those of them that give another place where a file may be."""
        return self.files.where("kind", [SPELLING]).present("unit").select(REACHABLE_FILES)

    def written(self) -> Dataset:
        """Those of them that give the place of a file as it is written."""
        return self.files.where("kind", [PROBLEM, SPELLING], negate=True).present("unit").select(REACHABLE_FILES)

    def outside(self) -> Dataset:
        """The rows (:data:`EXPANDED_FILES`) of files that are in no unit as they are written, problems included."""
        return self.files.where("kind", [SPELLING, REACHED], negate=True).matching("unit IS NULL")

    def expanded(self) -> Dataset:
        """What was read completely, by path, kind and content type (:data:`EXPANDED_FILES`)."""
        return self.files.anti_join(self.problems(), ["path"])

    def problems(self) -> Dataset:
        """The rows of kind PROBLEM."""
        return self.files.where("kind", [PROBLEM])

    def reached(self) -> Dataset:
        """The rows of kind REACHED."""
        return self.files.where("kind", [REACHED])


class Cache(Protocol):
    """Knows what files name without reading them."""

    def expand(
        self,
        frontier: Dataset,
        kind: str,
        content_types: Sequence[str],
        index: UnitIndex,
        choice: ConnectorChoice,
        places: Places | None = None,
    ) -> tuple[Dataset, int]:
        """What some files of one kind name (:data:`EXPANDED_FILES`), and how many of them had to be read."""


def expand(
    version_files: Dataset,
    index: UnitIndex,
    choice: ConnectorChoice,
    readers: Sequence[type[ContentToFiles]],
    *,
    known: Dataset | None = None,
    cache: Cache | None = None,
    places: Places | None = None,
    progress: Callable[[int, int], None] = lambda done, found: None,
) -> Expansion:
    """Walks down from the files of content versions, level by level, distinct by path at every level.

    Args:
        version_files: :data:`VERSION_FILES`.
        index: the sweep units, for the keys.
        choice: the connectors' options.
        readers: the readers whose contents occur.
        known: :data:`EXPANDED_FILES` of an earlier expansion (:meth:`Expansion.expanded`); what was expanded there, by
            the same reader, as the same kind and to its end, is not expanded again.
        cache: knows what files of the last level name.
        places: what says where files are, if it is wanted which places are reached from where.
        progress: told how many files are expanded, and of how many that were found by then.
    """
    files = version_files.flat_map(KeyVersionFiles(index)).checkpoint()
    files_read = 0
    for reader in readers:
        for kind in reader.expandable_kinds:
            frontier = _frontier(files, reader, kind, known).checkpoint()
            count = frontier.count()
            if count == 0:
                continue
            progress(files_read, files_read + count)
            if cache is not None and kind == reader.expandable_kinds[-1]:
                children, count = cache.expand(frontier, kind, sorted(reader.content_types), index, choice, places)
            else:
                children = frontier.flat_map(ExpandFiles(choice, index, places=places)).checkpoint()
            files_read += count
            progress(files_read, files_read)
            files = files.union(children)
            log.debug("expanded %d files of kind %s", count, kind)
    return Expansion(files=files, files_read=files_read)


def _frontier(files: Dataset, reader: type[ContentToFiles], kind: str, known: Dataset | None) -> Dataset:
    """The files of a kind that are to be expanded, over as many tasks as read at the same time.

    A file of which its parents announce different things is expanded for each of them: one of them is right.
    """
    types = sorted(reader.content_types)
    mine = files.where("kind", [kind]).where("content_type", types)
    if known is None:
        return mine.spread(["path"]).distinct(_ONCE)
    done = known.where("content_type", types).where("kind", [kind])
    return mine.distinct(_ONCE).anti_join(done, ["path"]).spread(["path"])
