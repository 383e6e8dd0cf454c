"""Expand files: what expandable files name, read once each, and passed on by columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from nessie_gc_core.algorithms.keyed import TO_KEY, carrying, keyed
from nessie_gc_core.algorithms.reach import Places, ReachedFrom
from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import ContentToFiles, SupportsExpandBatches, prefers
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.authorities import without_credentials
from nessie_gc_core.model.batches import BATCH_ROWS, Row, given_rows, named_files, to_batches, to_rows
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import EXPANDED_FILES, NAMED_FILES, PROBLEM
from nessie_gc_core.model.text import one_line

_NO_PLACE = (None, None, None)
"""The length, unit and key of what is a problem."""
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
    """The file without credentials, if its path and location are text that relations, stores and databases can hold.

    Raises:
        UnreadableFileError: they are not (JSON can hold half a character); the fault is in the file that names it.
    """
    for text in (file.path, file.location or ""):
        if "\0" in text or not (text.isascii() or _is_text(text)):
            raise UnreadableFileError(parent, f"it names {text!r}, which is not a valid path")
    path = without_credentials(file.path)
    location = None if file.location is None else without_credentials(file.location)
    return file if (path, location) == (file.path, file.location) else replace(file, path=path, location=location)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def names_of(reader: ContentToFiles, file: ReachableFile) -> Iterator[pa.RecordBatch]:
    """What an expandable file names (:data:`NAMED_FILES`), as valid paths; where it breaks off, the rest comes first.

    Raises:
        UnreadableFileError: it names something that is not a valid path; or whatever the reader raises.
    """
    if isinstance(reader, SupportsExpandBatches) and prefers(reader, "expand_batches", "expand"):
        for batch in reader.expand_batches(file):
            yield from _checked_batch(batch, file.path)
        return
    for piece in in_pieces((checked(child, file.path) for child in reader.expand(file)), PIECE):
        yield from named_files(piece)


def _checked_batch(batch: pa.RecordBatch, parent: str) -> Iterator[pa.RecordBatch]:
    """The rows of a batch up to the first one that relations cannot hold."""
    batch = given_rows(batch, NAMED_FILES)
    batch.validate(full=True)
    if batch.column("path").null_count or batch.column("kind").null_count:
        raise UnreadableFileError(parent, "it names a file without a path or a kind")
    paths = batch.column("path").to_pylist()
    odd = next((at for at, path in enumerate(paths) if "\0" in path), None)
    if any("@" in path or path.count(":") > 1 for path in paths):
        plain = pa.array(map(without_credentials, paths), batch.schema.field("path").type)
        batch = batch.set_column(batch.schema.get_field_index("path"), batch.schema.field("path"), plain)
    yield batch.slice(0, odd)
    if odd is not None:
        raise UnreadableFileError(parent, f"it names {paths[odd]!r}, which is not a valid path")


class ExpandFiles:
    """Expandable files to the files they name (:data:`EXPANDED_FILES`)."""

    schema = EXPANDED_FILES

    def __init__(
        self,
        choice: ConnectorChoice,
        index: UnitIndex,
        *,
        carried: pa.Schema | None = None,
        places: Places | None = None,
    ) -> None:
        """Takes what finds readers and units.

        Args:
            choice: the connectors' options.
            index: the sweep units.
            carried: further columns of a file, which everything that it names gets as well.
            places: what says where files are, if it is wanted which places are reached from where.
        """
        self._choice = choice
        self._index = index
        self._places = places
        self._carried, self.schema = carrying(EXPANDED_FILES, carried)

    @property
    def elsewhere(self) -> bool:
        """Whether another process of this machine may run it: all connectors are installed, and it only reads."""
        return self._choice.is_of_installed

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads each file; one that cannot be read completely becomes a row of kind PROBLEM."""
        with OpenConnectors(self._choice) as connectors:
            read = read_ahead(
                _jobs(batches, self._carried),
                partial(self._read, connectors),
                at_once=lambda job: self._choice.reads_at_once(job.file.path),
                size=lambda job: job.file.length or 0,
            )
            with closing(read):
                yield from self._keyed(read)

    def _read(self, connectors: OpenConnectors, job: _Job) -> Iterator[_Expanded]:
        """What a file names; where it cannot be read completely, the last says why."""
        try:
            opened = replace(job.file, path=self._index.rules.to_open(job.file.path))
            with connectors.reader(job.content_type) as reader:
                for batch in names_of(reader, opened):
                    yield _Expanded(job, batch)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises, what hangs on this file is unknown
            yield _Expanded(job, problem=why_unreadable(error))
        METER.expanded(1)

    def _keyed(self, read: Iterator[_Expanded]) -> Iterator[pa.RecordBatch]:
        """Every child once, with its places, in batches of bounded size; the problems; what is reached."""
        children, type_ = _Children(self.schema), ""
        reached = None if self._places is None else ReachedFrom(self._places)
        for expanded in read:
            job, type_ = expanded.job, expanded.job.content_type
            if expanded.named is not None:
                children.add(job, expanded.named)
                if reached is not None:
                    reached.add(job.file.path, *(expanded.named.column(each).to_pylist() for each in ("path", "kind")))
            if children.rows >= BATCH_ROWS:
                yield from keyed(self._index, children.take(), self.schema)
            if expanded.problem is not None:
                row = (job.file.path, PROBLEM, job.content_type, *_NO_PLACE, expanded.problem, None, *job.carried)
                yield from to_batches([row], self.schema)
        if children.rows:
            yield from keyed(self._index, children.take(), self.schema)
        if reached is not None:
            yield from to_batches(reached.rows(type_, len(self._carried)), self.schema)


@dataclass(frozen=True, slots=True)
class _Job:
    """A file to expand."""

    file: ReachableFile
    content_type: str
    carried: Row


@dataclass(frozen=True, slots=True)
class _Expanded:
    """What a file names (:data:`NAMED_FILES`), or a part of it, or why the rest is not known."""

    job: _Job
    named: pa.RecordBatch | None = None
    problem: str | None = None


def _jobs(batches: Iterator[pa.RecordBatch], carried: tuple[str, ...]) -> Iterator[_Job]:
    for batch in batches:
        for path, kind, type_, length, announced, *more in to_rows(batch, *TO_KEY, *carried):
            told = None if announced is None else str(announced)
            least = length if isinstance(length, int) else None
            file = ReachableFile(path=str(path), kind=str(kind), length=least, announced=told)
            yield _Job(file, str(type_), tuple(more))


class _Children:
    """The files that were named and are still to be keyed, without those that are remembered."""

    def __init__(self, schema: pa.Schema) -> None:
        further = [schema.field(at) for at in range(len(EXPANDED_FILES), len(schema))]
        self._constant = pa.schema([EXPANDED_FILES.field("content_type"), *further])
        self._schema = pa.schema([*NAMED_FILES, *self._constant])
        self._seen: dict[tuple[str, Row], set[tuple[str, str | None]]] = {}
        self._room = REMEMBERED_CHILDREN
        self._held: list[pa.RecordBatch] = []
        self.rows = 0

    def add(self, job: _Job, named: pa.RecordBatch) -> None:
        """Takes what a file names, but for what was named before."""
        fresh = self._fresh(job, named)
        if not fresh.num_rows:
            return
        values = zip((job.content_type, *job.carried), self._constant, strict=True)
        more = [pa.repeat(pa.scalar(value, field.type), fresh.num_rows) for value, field in values]
        self._held.append(pa.RecordBatch.from_arrays([*fresh.columns, *more], schema=self._schema))
        self.rows += fresh.num_rows

    def _fresh(self, job: _Job, named: pa.RecordBatch) -> pa.RecordBatch:
        """What was not named before; of that, as much is remembered as there is room for."""
        paths, kinds, announced = (named.column(name).to_pylist() for name in ("path", "kind", "announced"))
        seen = {kind: self._seen.get((kind, job.carried), set()) for kind in {*kinds}}
        fresh: list[int] = []
        for at, (kind, file) in enumerate(zip(kinds, zip(paths, announced, strict=True), strict=True)):
            known = seen[kind]
            if file not in known:
                fresh.append(at)
                if self._room > 0:
                    self._room -= 1
                    known.add(file)
        self._seen.update({(kind, job.carried): known for kind, known in seen.items() if known})
        return named if len(fresh) == named.num_rows else named.take(pa.array(fresh, pa.int64()))

    def take(self) -> pa.RecordBatch:
        """All of them, which are held no longer."""
        taken = pa.concat_batches(self._held)
        self._held, self.rows = [], 0
        return taken
