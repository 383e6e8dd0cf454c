"""Makes and deletes Iceberg's tags in a table, in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nessie_gc_core.model import TableMetadata
from nessie_gc_iceberg_catalog.commits import TableCommits

_FOR_EVER = 2**63 - 1
"""The age in milliseconds at which a tag expires: whoever made it deletes it, and no snapshot expiry."""

if TYPE_CHECKING:
    from pyiceberg.table.update import TableRequirement, TableUpdate


def change_tags(
    commits: TableCommits, table: TableMetadata, *, made: Mapping[str, int], deleted: Mapping[str, int]
) -> None:
    """Changes tags, each on condition that it is as expected; errors are those of ``SupportsTableTags``."""
    what = f"changing tags of {table.content_key}"
    commits.commit(table, what, _requirements(made, deleted), lambda loaded: _updates(made, deleted))


def _requirements(made: Mapping[str, int], deleted: Mapping[str, int]) -> Iterator[TableRequirement]:
    """No new name is there, and each tag that goes is at its snapshot."""
    from pyiceberg.table.update import AssertRefSnapshotId

    for name in made:
        yield AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": None})
    for name, snapshot_id in deleted.items():
        yield AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": snapshot_id})


def _updates(made: Mapping[str, int], deleted: Mapping[str, int]) -> Iterator[TableUpdate]:
    from pyiceberg.table.update import RemoveSnapshotRefUpdate, SetSnapshotRefUpdate

    for name, snapshot_id in made.items():
        fields = {"ref-name": name, "type": "tag", "snapshot-id": snapshot_id, "max-ref-age-ms": _FOR_EVER}
        yield SetSnapshotRefUpdate.model_validate(fields)
    for name in deleted:
        yield RemoveSnapshotRefUpdate.model_validate({"ref-name": name})
