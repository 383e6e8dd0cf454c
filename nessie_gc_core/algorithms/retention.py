"""Retention: which snapshots, branches and tags of a table may be removed, by the rules of Iceberg's table format.

The rules are those of the specification ("Snapshot Retention Policy", appendix of the table format) as Iceberg's own
``ExpireSnapshots`` has them:

1. Branches and tags older than their maximum age are removed, except ``main``. The age of a ref is that of its
   snapshot. A ref whose snapshot is no longer listed is removed as well.
2. The snapshot of every ref that stays is kept.
3. Each branch keeps its newest ancestors: at least its minimum number, and those that are young enough. The first
   one that is neither ends the walk.
4. A snapshot that is not an ancestor of any ref stays as long as it is young enough for the table.

One rule is our own: the newest position of each streaming writer on a branch stays, and the snapshots from the head of
the branch to it, because the writer walks through them (:mod:`nessie_gc_core.model.stream_positions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model.table_metadata import MAIN, RefType, Removal, Snapshot, SnapshotRef, TableMetadata

MAX_SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
MIN_SNAPSHOTS_TO_KEEP = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE = "history.expire.max-ref-age-ms"
PREVIOUS_VERSIONS_MAX = "write.metadata.previous-versions-max"
_DEFAULTS = {
    MAX_SNAPSHOT_AGE: 5 * 24 * 60 * 60 * 1000,
    MIN_SNAPSHOTS_TO_KEEP: 1,
    MAX_REF_AGE: 2**63 - 1,
    PREVIOUS_VERSIONS_MAX: 100,
}
"""The rules for a table that has no properties for them; the same as in Iceberg."""
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a caller says instead of the properties of a table; what a branch or tag says of itself wins over it."""

    older_than: datetime | None = None
    """Snapshots that were made before this instant may be removed; ``None``: what the table's properties say."""
    retain_last: int | None = None
    """This many snapshots of each branch stay, whatever their age; ``None``: what the table's properties say."""
    max_ref_age: timedelta | None = None
    """Branches and tags that are older than this are removed; ``None``: what the table's properties say."""
    max_position_age: timedelta | None = None
    """Positions of streaming writers that are older than this may be removed; ``None``: none of them."""
    snapshot_ids: frozenset[int] = frozenset()
    """These snapshots are removed too, whatever their age."""


def expired(table: TableMetadata, retention: Retention, now: datetime) -> Removal:
    """What may be removed from a table.

    Args:
        table: the table.
        retention: settings that replace the table's properties.
        now: the time from which ages count, UTC.

    Raises:
        ConfigurationError: a property of the table is not a number.
        SafetyError: a branch or tag that stays holds a snapshot that was asked to go.
    """
    rules = _Rules(table, retention, _milliseconds(now))
    refs = {name: ref for name, ref in table.refs.items() if rules.keeps_ref(name, ref)}
    held = {ref.snapshot_id for ref in refs.values()}
    for asked in sorted(retention.snapshot_ids & held):
        names = ", ".join(sorted(name for name, ref in refs.items() if ref.snapshot_id == asked))
        raise SafetyError(f"snapshot {asked} of {table.content_key} cannot expire: {names} still references it")
    kept = held | rules.kept_by_branches(refs) | rules.unreferenced_and_young(refs)
    kept |= rules.kept_for_positions(refs)
    kept -= retention.snapshot_ids
    removal = Removal(
        snapshot_ids=frozenset(snapshot.snapshot_id for snapshot in table.snapshots) - kept,
        refs=frozenset(table.refs) - frozenset(refs),
    )
    return Removal(
        snapshot_ids=removal.snapshot_ids, refs=removal.refs, metadata_files=_falling_out(table) if removal else ()
    )


def kept_for_positions(table: TableMetadata, retention: Retention, removal: Removal, now: datetime) -> int:
    """How many snapshots more would be removed if no position of a streaming writer stayed.

    Args:
        table: the table.
        retention: as for :func:`expired`.
        removal: what :func:`expired` says.
        now: the time from which ages count, UTC.
    """
    if not any(snapshot.positions for snapshot in table.snapshots):
        return 0
    without = expired(table, replace(retention, max_position_age=timedelta(0)), now)
    return len(without.snapshot_ids - removal.snapshot_ids)


class _Rules:
    """The rules for one table at one time; all times are milliseconds."""

    def __init__(self, table: TableMetadata, retention: Retention, now: int) -> None:
        self._snapshots: Mapping[int, Snapshot] = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots}
        self._now = now
        age = _property(table, MAX_SNAPSHOT_AGE)
        self._older_than = now - age if retention.older_than is None else _milliseconds(retention.older_than)
        self._keep = _property(table, MIN_SNAPSHOTS_TO_KEEP) if retention.retain_last is None else retention.retain_last
        ref_age = retention.max_ref_age
        self._ref_age = _property(table, MAX_REF_AGE) if ref_age is None else ref_age // _MILLISECOND
        position_age = retention.max_position_age
        self._positions_since = None if position_age is None else now - position_age // _MILLISECOND

    def keeps_ref(self, name: str, ref: SnapshotRef) -> bool:
        """Whether a branch or tag stays."""
        if name == MAIN:
            return True
        snapshot = self._snapshots.get(ref.snapshot_id)
        most = self._ref_age if ref.max_ref_age_ms is None else ref.max_ref_age_ms
        return snapshot is not None and self._now - snapshot.timestamp_ms <= most

    def kept_by_branches(self, refs: Mapping[str, SnapshotRef]) -> set[int]:
        """The newest snapshots of each branch."""
        return {id_ for ref in refs.values() if ref.type is RefType.BRANCH for id_ in self._kept_by(ref)}

    def _kept_by(self, ref: SnapshotRef) -> Iterator[int]:
        age, least = ref.max_snapshot_age_ms, ref.min_snapshots_to_keep
        older_than = self._older_than if age is None else self._now - age
        for number, snapshot in enumerate(ancestors(self._snapshots, ref.snapshot_id)):
            if number >= (self._keep if least is None else least) and snapshot.timestamp_ms < older_than:
                return
            yield snapshot.snapshot_id

    def kept_for_positions(self, refs: Mapping[str, SnapshotRef]) -> set[int]:
        """The snapshots through which streaming writers find their positions."""
        branches = (ref for ref in refs.values() if ref.type is RefType.BRANCH)
        return {id_ for ref in branches for id_ in self._up_to_positions(ref)}

    def _up_to_positions(self, ref: SnapshotRef) -> Iterator[int]:
        """From the head of a branch to the last of the newest positions that stay."""
        known, since = set[str](), self._positions_since
        passed: list[int] = []
        for snapshot in ancestors(self._snapshots, ref.snapshot_id):
            passed.append(snapshot.snapshot_id)
            if snapshot.positions - known and (since is None or snapshot.timestamp_ms >= since):
                yield from passed
                passed.clear()
            known |= snapshot.positions

    def unreferenced_and_young(self, refs: Mapping[str, SnapshotRef]) -> set[int]:
        """Snapshots that no ref leads to and that are not old enough to be removed."""
        referenced: set[int] = set()
        for ref in refs.values():
            if ref.type is RefType.TAG:
                referenced.add(ref.snapshot_id)
                continue
            referenced.update(snapshot.snapshot_id for snapshot in ancestors(self._snapshots, ref.snapshot_id))
        return {
            id_
            for id_, snapshot in self._snapshots.items()
            if id_ not in referenced and snapshot.timestamp_ms >= self._older_than
        }


def ancestors(snapshots: Mapping[int, Snapshot], snapshot_id: int | None) -> Iterator[Snapshot]:
    """A snapshot and its ancestors, newest first, up to the first one that is not listed; a cycle is walked once.

    Args:
        snapshots: ids with the snapshots that are listed.
        snapshot_id: where to begin; ``None``: there is none.
    """
    seen: set[int] = set()
    while snapshot_id is not None and snapshot_id not in seen:
        seen.add(snapshot_id)
        snapshot = snapshots.get(snapshot_id)
        if snapshot is None:
            return
        yield snapshot
        snapshot_id = snapshot.parent_id


def _falling_out(table: TableMetadata) -> tuple[str, ...]:
    """The oldest files of the metadata log, which holds so many at most, and one more after the next commit."""
    most = max(_property(table, PREVIOUS_VERSIONS_MAX), 1)
    return tuple(table.metadata_log[: max(len(table.metadata_log) + 1 - most, 0)])


def _property(table: TableMetadata, name: str) -> int:
    """A number among the table's properties.

    Raises:
        ConfigurationError: it is not a number, or is negative.
    """
    text = table.properties.get(name)
    if text is None:
        return _DEFAULTS[name]
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise ConfigurationError(f"the property {name} of {table.content_key} is {text!r}: set a number")
    return number


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MILLISECOND
