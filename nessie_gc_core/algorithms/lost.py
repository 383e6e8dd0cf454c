"""Lost files: which states need a file that is not stored, and which references show them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.expand_files import ExpandFiles
from nessie_gc_core.algorithms.keyed import KeyVersionFiles
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, to_micros, to_rows
from nessie_gc_core.model.relations import CONTENT_VERSIONS, EXPANDED_FILES, FILE_KEYS, PROBLEM, SPELLING
from nessie_gc_core.model.repository import ContentVersion

NEEDED_BY = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("content_key", pa.string(), nullable=False),
        pa.field("reference", pa.string()),
        pa.field("states", pa.int64(), nullable=False),
        pa.field("latest", pa.string(), nullable=False),
    ]
)
"""Lost files, one row for each table and each reference whose head needs them.

``reference`` is null for live states that no head shows, only the history of references; ``states`` counts the live
states of the row, of which ``latest`` is the last (:class:`NeedingState`, as text).
"""

_NAMED_BY = pa.schema([pa.field("named_by", pa.string()), pa.field("by_state", pa.bool_())])
"""What names a file: the path of another file, or a state of a content."""
_STATE_FILES = pa.schema([*EXPANDED_FILES, *_NAMED_BY])
_STATES = pa.schema([*CONTENT_VERSIONS, *_NAMED_BY])
_CLIMBED = pa.schema([NEEDED_BY.field("path"), NEEDED_BY.field("kind"), *_NAMED_BY])
_EDGES = pa.schema([pa.field("at", pa.string()), *_NAMED_BY])
_FIRST_EDGES = pa.schema([*FILE_KEYS, NEEDED_BY.field("kind"), *_NAMED_BY])
_HEADS = pa.schema([pa.field("held", pa.string(), nullable=False), pa.field("reference", pa.string(), nullable=False)])
NEEDING = pa.schema(
    [
        *(NEEDED_BY.field(name) for name in ("path", "kind", "content_key")),
        CONTENT_VERSIONS.field("content_id"),
        _HEADS.field("held"),
        _NAMED_BY.field("named_by"),
    ]
)
"""Lost files, each with the live states that need it, as text, and what these states are to references."""
_MOST_LEVELS = 16
"""Formats whose files name each other over more levels than this are not followed to their end."""


class NeedingState(NamedTuple):
    """A live state of a content that needs a lost file."""

    micros: int
    """When its commit was made, in microseconds since the epoch; 0 where nobody knows."""
    commit_id: str
    """The commit that made it."""
    snapshot_id: int | None
    """Its snapshot."""
    content_key: str
    """The name of its content."""
    content_id: str
    """The identity of its content."""
    metadata_location: str | None
    """Its metadata file."""

    def text(self) -> str:
        """As text that sorts by time."""
        return f"{self.micros:020d}{json.dumps(self[1:])}"

    @classmethod
    def of(cls, text: str) -> NeedingState:
        """The other way round."""
        return cls(int(text[:20]), *json.loads(text[20:]))

    @property
    def held(self) -> str:
        """What the state is to a reference that shows it."""
        return json.dumps([self.content_id, self.metadata_location, self.snapshot_id])


def state_of(version: ContentVersion) -> NeedingState:
    """The state that a content version is."""
    return NeedingState(
        micros=0 if version.commit_time is None else to_micros(version.commit_time),
        commit_id=version.commit_id,
        snapshot_id=version.snapshot_id,
        content_key=version.content_key,
        content_id=version.content_id,
        metadata_location=version.metadata_location,
    )


def needing_states(
    lost: Dataset,
    versions: Dataset,
    index: UnitIndex,
    choice: ConnectorChoice,
    readers: Sequence[type[ContentToFiles]],
) -> Dataset:
    """Which states need lost files (:data:`NEEDING`): what names them is read once more, and followed upwards.

    Args:
        lost: the files, distinct (:data:`REACHABLE_FILES`).
        versions: the live content versions (:data:`CONTENT_VERSIONS`).
        index: the sweep units.
        choice: the connectors' options.
        readers: of the contents that occur.
    """
    return _climb(lost, _named_files(versions, index, choice, readers).checkpoint()).flat_map(_Held()).checkpoint()


def needed_by(needing: Dataset, heads: Iterable[tuple[str, ContentVersion]], engine: Engine) -> Dataset:
    """Which tables and references break (:data:`NEEDED_BY`).

    Args:
        needing: :data:`NEEDING`.
        heads: names of references with the contents that they show.
        engine: that of the relation.
    """
    shown = engine.dataset(to_batches(((state_of(v).held, name) for name, v in heads), _HEADS), _HEADS)
    found = needing.left_join(shown.distinct(_HEADS.names), ["held"])
    measures = {"states": ("count", "held"), "latest": ("max", "named_by")}
    return found.aggregate(["path", "kind", "content_key", "reference"], measures, NEEDED_BY)


def _named_files(
    versions: Dataset, index: UnitIndex, choice: ConnectorChoice, readers: Sequence[type[ContentToFiles]]
) -> Dataset:
    """All files of some versions, each as often as it is named, with what names it."""
    types = sorted(type_ for reader in readers for type_ in reader.content_types)
    states = versions.where("content_type", types).flat_map(_States()).spread(["metadata_location"], together=True)
    read = states.flat_map(ReadVersions(choice, carried=_NAMED_BY))
    files = read.flat_map(KeyVersionFiles(index, carried=_NAMED_BY)).checkpoint()
    for reader in readers:
        for kind in reader.expandable_kinds:
            mine = files.where("kind", [kind]).where("content_type", sorted(reader.content_types))
            frontier = mine.spread(["path"]).distinct(["path"]).flat_map(_NamedByItself()).checkpoint()
            if frontier.count():
                files = files.union(frontier.flat_map(ExpandFiles(choice, index, carried=_NAMED_BY)).checkpoint())
    return files.where("kind", [PROBLEM, SPELLING], negate=True)


def _climb(lost: Dataset, files: Dataset) -> Dataset:
    """Lost files with the states that need them (:data:`_CLIMBED`), distinct."""
    first = files.present("unit").select(_FIRST_EDGES)
    now = lost.left_join(first, list(FILE_KEYS.names)).present("named_by").select(_CLIMBED).distinct(_CLIMBED.names)
    edges = files.flat_map(_Edge()).distinct(_EDGES.names).checkpoint()
    found = now.where("by_state", [True])
    for _ in range(_MOST_LEVELS):
        below = now.where("by_state", [False]).flat_map(_StepUp()).checkpoint()
        if not below.count():
            break
        now = below.left_join(edges, ["at"]).present("named_by").select(_CLIMBED).distinct(_CLIMBED.names)
        found = found.union(now.where("by_state", [True]))
    return found.distinct(_CLIMBED.names)


class _States:
    """Content versions, each named by itself."""

    schema = _STATES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from to_batches((row for batch in batches for row in self._rows(batch)), self.schema)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        rows = to_rows(batch, *CONTENT_VERSIONS.names)
        for row, version in zip(rows, rows_to_versions(batch), strict=True):
            yield (*row, state_of(version).text(), True)


class _NamedByItself:
    """Files, whose children will be named by them."""

    schema = _STATE_FILES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, *EXPANDED_FILES.names))
        yield from to_batches(((*row, row[0], False) for row in rows), self.schema)


class _Edge:
    """Files to what names them."""

    schema = _EDGES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from to_batches((row for b in batches for row in to_rows(b, "path", *_NAMED_BY.names)), self.schema)


class _StepUp:
    """Lost files with the file that they have been followed to, which is how far they have got."""

    schema = pa.schema([_CLIMBED.field("path"), _CLIMBED.field("kind"), _EDGES.field("at")])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from to_batches((row for b in batches for row in to_rows(b, "path", "kind", "named_by")), self.schema)


class _Held:
    """Lost files with a state, to what that state is to references."""

    schema = NEEDING

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "path", "kind", "named_by"))
        yield from to_batches((self._row(row) for row in rows), self.schema)

    def _row(self, row: Row) -> Row:
        state = NeedingState.of(str(row[2]))
        return (row[0], row[1], state.content_key, state.content_id, state.held, row[2])
