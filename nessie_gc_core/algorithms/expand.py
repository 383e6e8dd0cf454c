"""Expand: from content versions to all files they need, every immutable file read once per run."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.algorithms.storable import UNKNOWN_REASON, unknown_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import MissingFileError, UnknownLocationError, UnreadableFileError
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, to_rows
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM, REACHABLE_FILES, SPELLING, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)

_TO_EXPAND = ("path", "kind", "content_type", "length")
PIECE = 5_000
"""How many of the files that a version or a file names are handed on at once."""
REMEMBERED_CHILDREN = 200_000
"""How many children a task remembers to yield each once; more only means more rows for ``distinct``."""


def why_unreadable(error: BaseException) -> str:
    """Why a file cannot be read, as one line that does not name it again."""
    reason = error.reason.strip() if isinstance(error, UnreadableFileError) else ""
    said = reason.splitlines()[0] if reason else one_line(error)
    return said.encode(errors="backslashreplace").decode()


def checked(file: ReachableFile, parent: str) -> ReachableFile:
    """The file, if its path and location are text that relations, stores and databases can hold.

    Raises:
        UnreadableFileError: they are not (JSON can hold half a character); the fault is in the file that names it.
    """
    for text in (file.path, file.location or ""):
        if "\0" in text or not (text.isascii() or _is_text(text)):
            raise UnreadableFileError(parent, f"it names {text!r}, which is not a valid path")
    return file


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _carrying(schema: pa.Schema, carried: pa.Schema | None) -> tuple[tuple[str, ...], pa.Schema]:
    """The names of further columns, and a schema with these columns."""
    return ((), schema) if carried is None else (tuple(carried.names), pa.schema([*schema, *carried]))


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
        self._carried, self.schema = _carrying(VERSION_FILES, carried)

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
        yield (named_by(version), PROBLEM, original, None, version.location, id_, UNKNOWN_REASON, False, False)
        return
    try:
        for named in reader().files(to_open(version, rules)):
            file = checked(named, named_by(version))
            yield (file.path, file.kind, type_, file.length, file.location, id_, None, None, file.shared)
    except MissingFileError as error:
        yield (error.path, PROBLEM, type_, None, None, id_, why_unreadable(error), True, False)
    except Exception as error:  # noqa: BLE001 - whatever a reader raises, this version is unknown, not dead
        yield (named_by(version), PROBLEM, type_, None, None, id_, why_unreadable(error), False, False)


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


class KeyVersionFiles:
    """Files of content versions with their unit and key (:data:`EXPANDED_FILES`); problems are left out."""

    schema = EXPANDED_FILES

    def __init__(self, index: UnitIndex, *, carried: pa.Schema | None = None) -> None:
        """Takes the sweep units, and further columns that stay as they are."""
        self._index = index
        self._carried, self.schema = _carrying(EXPANDED_FILES, carried)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks each path up."""
        columns = (*_TO_EXPAND, *self._carried)
        rows = (row for batch in batches for row in to_rows(batch, *columns) if row[1] != PROBLEM)
        files = ((_file(*row[:4]), str(row[2]), row[4:]) for row in rows)
        found = ((*row, *more) for file, type_, more in files for row in keyed(self._index, file, type_))
        yield from to_batches(found, self.schema)


class ExpandFiles:
    """Expandable files to the files they name (:data:`EXPANDED_FILES`)."""

    schema = EXPANDED_FILES

    def __init__(self, choice: ConnectorChoice, index: UnitIndex, *, carried: pa.Schema | None = None) -> None:
        """Takes what finds readers and units.

        Args:
            choice: the connectors' options.
            index: the sweep units.
            carried: further columns of a file, which everything that it names gets as well.
        """
        self._choice = choice
        self._index = index
        self._carried, self.schema = _carrying(EXPANDED_FILES, carried)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads each file; one that cannot be read completely becomes a row of kind PROBLEM."""
        columns = (*_TO_EXPAND, *self._carried)
        rows = (row for batch in batches for row in to_rows(batch, *columns))
        files = ((_file(*row[:4]), str(row[2]), row[4:]) for row in rows)
        with OpenConnectors(self._choice) as connectors:
            read = read_ahead(
                files,
                partial(self._read, connectors),
                at_once=lambda job: self._choice.reads_at_once(job[0].path),
                size=lambda job: job[0].length or 0,
            )
            with closing(read):
                yield from to_batches(self._rows(read), self.schema)

    def _read(self, connectors: OpenConnectors, job: tuple[ReachableFile, str, Row]) -> Iterator[_Expanded]:
        """What a file names, in pieces; where it cannot be read completely, the last says why."""
        file, type_, carried = job
        try:
            opened = replace(file, path=self._index.rules.to_open(file.path))
            with connectors.reader(type_) as reader:
                for piece in in_pieces(reader.expand(opened), PIECE):
                    yield _Expanded(file, type_, carried, piece)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises, what hangs on this file is unknown
            yield _Expanded(file, type_, carried, problem=why_unreadable(error))
        METER.expanded(1)

    def _rows(self, read: Iterator[_Expanded]) -> Iterator[Row]:
        seen: set[tuple[str, str, Row]] = set()
        for expanded in read:
            problem, carried = expanded.problem, expanded.carried
            try:
                for child in expanded.children:
                    name = (child.path, child.kind, carried)
                    if name in seen:
                        continue
                    rows = keyed(self._index, checked(child, expanded.file.path), expanded.content_type)
                    if len(seen) < REMEMBERED_CHILDREN:
                        seen.add(name)
                    yield from ((*row, *carried) for row in rows) if carried else rows
            except UnreadableFileError as error:
                problem = why_unreadable(error)
            if problem is not None:
                yield (expanded.file.path, PROBLEM, expanded.content_type, None, None, None, problem, *carried)


@dataclass(slots=True)
class _Expanded:
    """A file that was expanded, or a piece of what it names."""

    file: ReachableFile
    content_type: str
    carried: Row
    children: list[ReachableFile] = field(default_factory=list)
    problem: str | None = None


def _file(path: object, kind: object, content_type: object, length: object) -> ReachableFile:
    """The file of a row with the columns of ``_TO_EXPAND``."""
    return ReachableFile(path=str(path), kind=str(kind), length=length if isinstance(length, int) else None)


def keyed(index: UnitIndex, file: ReachableFile, content_type: str) -> list[Row]:
    """Rows of :data:`EXPANDED_FILES`, one for each place; a path that cannot be compared is a PROBLEM (S3, S24)."""
    try:
        places = index.places(file.path)
    except UnknownLocationError as error:
        return [(file.path, PROBLEM, content_type, None, None, None, str(error))]
    unit, key = places.written or (None, None)
    rows: list[Row] = [(file.path, file.kind, content_type, file.length, unit, key, None)]
    rows.extend((file.path, SPELLING, content_type, None, *other, None) for other in places.others)
    return rows


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

    def expanded(self) -> Dataset:
        """What was read completely, by path, kind and content type (:data:`EXPANDED_FILES`)."""
        return self.files.anti_join(self.problems(), ["path"])

    def problems(self) -> Dataset:
        """The rows of kind PROBLEM."""
        return self.files.where("kind", [PROBLEM])


class Cache(Protocol):
    """Knows what files name without reading them."""

    def expand(
        self, frontier: Dataset, kind: str, content_types: Sequence[str], index: UnitIndex, choice: ConnectorChoice
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
                children, count = cache.expand(frontier, kind, sorted(reader.content_types), index, choice)
            else:
                children = frontier.flat_map(ExpandFiles(choice, index)).checkpoint()
            files_read += count
            progress(files_read, files_read)
            files = files.union(children)
            log.debug("expanded %d files of kind %s", count, kind)
    return Expansion(files=files, files_read=files_read)


def _frontier(files: Dataset, reader: type[ContentToFiles], kind: str, known: Dataset | None) -> Dataset:
    """The files of a kind that are to be expanded, over as many tasks as read at the same time."""
    types = sorted(reader.content_types)
    mine = files.where("kind", [kind]).where("content_type", types)
    if known is None:
        return mine.spread(["path"]).distinct(["path"])
    done = known.where("content_type", types).where("kind", [kind])
    return mine.distinct(["path"]).anti_join(done, ["path"]).spread(["path"])
