"""History: which states held a file that nothing needs any more. For people: it never decides what is live.

All commits of all references are walked, those that the policies gave up included; each commit once, so that what
several references share is told of one of them. What cannot be read is left out: nothing is concluded from what is
missing here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.expand_files import ExpandFiles
from nessie_gc_core.algorithms.keyed import KeyVersionFiles
from nessie_gc_core.algorithms.storable import storable, storable_text
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import Row, rows_to_versions, to_batches, to_micros, to_rows, version_row
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import CONTENT_VERSIONS, FILE_KEYS, PROBLEM
from nessie_gc_core.model.repository import ContentVersion, LogEntry, OperationKind, Reference

HELD_BY = pa.schema([pa.field("held_by", pa.string())])
"""The state that held something last, as text that sorts by time (:class:`Holder`)."""
HISTORY_VERSIONS = pa.schema([*CONTENT_VERSIONS, *HELD_BY])
"""Content versions of all commits, each with the state that held it last."""
HELD_FILES = pa.schema([*FILE_KEYS, pa.field("kind", pa.string()), *HELD_BY])
"""Files inside sweep units that some state held, each with the last one, and what it was to that state."""

ENDED_STATES = pa.schema(
    [
        pa.field("reference", pa.string(), nullable=False),
        pa.field("content_key", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("commit_id", pa.string(), nullable=False),
        pa.field("micros", pa.int64(), nullable=False),
    ]
)
"""Snapshots that commits of a reference have and no live one, each with the last such commit and its time."""

_VERSION_KEYS = ["content_id", "content_type", "metadata_location", "snapshot_id"]
_SNAPSHOT_KEYS = ["content_id", "snapshot_id"]


class Holder(NamedTuple):
    """A state of a content at a commit, or in an earlier live set."""

    micros: int
    """When the commit was made, in microseconds since the epoch."""
    reference: str
    """A reference on which the commit is; empty: none any more, but an earlier live set has the state."""
    commit_id: str
    """The last commit at which the state was visible there."""
    content_key: str
    """Under which name."""
    snapshot_id: int | None
    """Its snapshot."""
    policy: str
    """The cut-off policy of the reference."""

    def text(self) -> str:
        """As text that sorts by time, latest last; what a reference has comes before what an old live set has."""
        return f"{int(bool(self.reference))}{self.micros:020d}{json.dumps(self[1:])}"

    @classmethod
    def of(cls, text: str) -> Holder:
        """The other way round."""
        return cls(int(text[1:21]), *json.loads(text[21:]))


def walk_history(engine: Engine, commits: AllCommits, policies: ReferencePolicies, remembered: Dataset) -> Dataset:
    """The content versions of all commits (:data:`HISTORY_VERSIONS`), some of them several times.

    Args:
        engine: where they go.
        commits: the commits.
        policies: the policy of each reference, for people.
        remembered: the versions of earlier live sets (:data:`CONTENT_VERSIONS`).
    """
    held = commits.of_each(lambda reference, entries: _held(reference, entries, policies))
    walked = engine.dataset(to_batches(held, HISTORY_VERSIONS), HISTORY_VERSIONS)
    return walked.union(remembered.flat_map(_HeldNowhere()))


class _HeldNowhere:
    """Content versions of earlier live sets, to the same with the state that held them last."""

    schema = HISTORY_VERSIONS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        versions = (version for batch in batches for version in rows_to_versions(batch))
        yield from to_batches((_row(version, _nowhere(version), "", "") for version in versions), self.schema)


def _held(reference: Reference, entries: Iterator[LogEntry], policies: ReferencePolicies) -> Iterator[Row]:
    """The states that the commits of a reference put, each with the commit before the next change of its key."""
    policy = policies.for_reference(reference.name).text
    last: dict[str, LogEntry] = {}
    changed: set[str] = set()
    head: LogEntry | None = None
    for entry in entries:
        head = head or entry
        last.update(dict.fromkeys(changed, entry))  # the commit before the change still had what was there
        changed.clear()
        for operation in entry.operations or ():
            key, content = operation.content_key, operation.content
            if operation.kind is OperationKind.PUT and content is not None:
                yield _row(storable(content), last.get(key, head), reference.name, policy)
            if operation.kind is not OperationKind.UNCHANGED:
                changed.add(key)


def _nowhere(version: ContentVersion) -> LogEntry:
    """The commit that an earlier live set names for a version; no reference may have it any more."""
    time = version.commit_time or datetime.fromtimestamp(0, UTC)
    return LogEntry(commit_id=version.commit_id, parent_id=None, commit_time=time, operations=None)


def _row(version: ContentVersion, held_at: LogEntry, reference: str, policy: str) -> Row:
    time = to_micros(held_at.commit_time)
    commit = storable_text(held_at.commit_id)
    holder = Holder(time, storable_text(reference), commit, version.content_key, version.snapshot_id, policy)
    return (*version_row(version), holder.text())


def ended_states(history: Dataset, live: Dataset) -> Dataset:
    """The snapshots that no live commit has, but another one of a reference (:data:`ENDED_STATES`).

    Args:
        history: :data:`HISTORY_VERSIONS`.
        live: the live content versions (:data:`CONTENT_VERSIONS`).
    """
    dead = history.present("snapshot_id").anti_join(live, _SNAPSHOT_KEYS)
    return _latest(dead, HISTORY_VERSIONS, _SNAPSHOT_KEYS).flat_map(_Ended())


class _Ended:
    """States with their holder, to what people know them by; those that no reference has are left out."""

    schema = ENDED_STATES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "snapshot_id", "held_by"))
        held = ((snapshot, Holder.of(str(text))) for snapshot, text in rows)
        ended = ((h.reference, h.content_key, snapshot, h.commit_id, h.micros) for snapshot, h in held if h.reference)
        yield from to_batches(ended, self.schema)


def held_files(
    history: Dataset,
    live: Dataset,
    known: Dataset,
    index: UnitIndex,
    choice: ConnectorChoice,
    readers: Sequence[type[ContentToFiles]],
) -> Dataset:
    """The files that states held which are not live, and no live state holds (:data:`HELD_FILES`), distinct.

    Args:
        history: :data:`HISTORY_VERSIONS`.
        live: the live content versions (:data:`CONTENT_VERSIONS`).
        known: what live states reach (:data:`EXPANDED_FILES`); it is not expanded again.
        index: the sweep units.
        choice: the connectors' options.
        readers: of the contents that occur.
    """
    types = sorted(type_ for reader in readers for type_ in reader.content_types)
    dead = history.where("content_type", types).anti_join(live, _VERSION_KEYS)
    latest = _latest(dead, HISTORY_VERSIONS, _VERSION_KEYS)
    versions = (
        latest.spread(["metadata_location"], together=True).flat_map(ReadVersions(choice, carried=HELD_BY)).checkpoint()
    )
    files = versions.flat_map(KeyVersionFiles(index, carried=HELD_BY)).checkpoint()
    for reader in readers:
        for kind in reader.expandable_kinds:
            mine = files.where("kind", [kind]).where("content_type", sorted(reader.content_types))
            frontier = _latest(mine, files.schema, ["path"]).anti_join(known, ["path"]).spread(["path"]).checkpoint()
            if frontier.count():
                children = frontier.flat_map(ExpandFiles(choice, index, carried=HELD_BY)).checkpoint()
                files = files.union(children)
    found = files.where("kind", [PROBLEM], negate=True).present("unit").select(HELD_FILES)
    return _latest(found, HELD_FILES, list(FILE_KEYS.names)).checkpoint()


def _latest(rows: Dataset, schema: pa.Schema, keys: Sequence[str]) -> Dataset:
    """One row for each combination of the keys: with the greatest of every other column."""
    measures = {name: ("max", name) for name in schema.names if name not in keys}
    nullable = pa.schema([field if field.name in keys else field.with_nullable(nullable=True) for field in schema])
    return rows.aggregate(list(keys), measures, nullable)
