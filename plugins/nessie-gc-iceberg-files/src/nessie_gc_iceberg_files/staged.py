"""Snapshots that write-audit-publish staged: listed, written in full, and not published yet (S25)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nessie_gc_iceberg_files.metadata import WAP_ID, Metadata

_PUBLISHED, _SOURCE = "published-wap-id", "source-snapshot-id"


def staged_snapshot_ids(metadata: Metadata) -> Iterator[int]:
    """The snapshots that have a ``wap.id`` and were never part of the table.

    Left out is what the table shows or showed: ancestors of its current snapshot and of its branches and tags, and
    what its snapshot log names. Left out, too, is what another snapshot was picked from. Where that cannot be told,
    the snapshot counts as staged.
    """
    if not metadata.may_stage:
        return
    snapshots = metadata.snapshots
    staged = {id_: wap_id for id_, fields in snapshots.items() if (wap_id := metadata.summary(fields).get(WAP_ID))}
    if not staged:
        return
    summaries = [metadata.summary(fields) for fields in snapshots.values()]
    shown = _shown(metadata, snapshots)
    for snapshot_id, wap_id in staged.items():
        if snapshot_id not in shown and not _is_published(snapshot_id, wap_id, summaries):
            yield snapshot_id


def _shown(metadata: Metadata, snapshots: Mapping[int, Mapping[str, object]]) -> set[object]:
    """The snapshots that the table, its branches and its tags show or showed."""
    current = metadata.current_snapshot_id()
    walked: set[object] = set()
    for head in (*metadata.held_snapshot_ids(), *(() if current is None else (current,))):
        found: object = head
        while isinstance(found, int) and found not in walked:
            walked.add(found)
            found = snapshots.get(found, {}).get("parent-snapshot-id")
    return walked.union(metadata.logged_snapshot_ids())


def _is_published(snapshot_id: int, wap_id: object, summaries: Sequence[Mapping[str, object]]) -> bool:
    """Whether another snapshot was picked from this one; one with the same ``wap.id`` is not this one."""
    return any(
        summary.get(_PUBLISHED) == wap_id and str(summary.get(_SOURCE, snapshot_id)) == str(snapshot_id)
        for summary in summaries
    )
