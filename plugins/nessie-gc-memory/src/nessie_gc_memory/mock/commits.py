"""The commits of a computed lake as records, for whoever puts them into a real repository."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.repository import ICEBERG_TABLE, ReferenceKind
from nessie_gc_memory.mock.history import Head, MockHistory, Snapshot
from nessie_gc_memory.mock.layout import MockLayout, Role
from nessie_gc_memory.mock.spec import MockLakeSpec


def commit_records(spec: MockLakeSpec) -> Iterator[dict[str, Any]]:
    """What has to be done one after the other for the history of a lake, apart from later changes.

    There are two kinds of records. ``{"create": "branch-1", "type": "BRANCH", "from": "main"}`` creates a reference at
    the head of another one. ``{"commit": "main", "contents": [{"key": ["mock", "t000001"], "content": {...}}]}`` puts
    contents to a branch, spelled as in Nessie's REST API. A server decides on the ids of commits and contents.

    Args:
        spec: the lake.

    Raises:
        ConfigurationError: its tables are not Iceberg tables, so no repository knows their type.
    """
    if spec.content_type != ICEBERG_TABLE:
        raise ConfigurationError(
            f"tables of the type {spec.content_type} cannot be committed: "
            f"give the lake the option content_type={ICEBERG_TABLE}"
        )
    return _records(spec)


def _records(spec: MockLakeSpec) -> Iterator[dict[str, Any]]:
    history = MockHistory(spec)
    layout = MockLayout(spec, history)
    created: dict[int, list[Head]] = {}
    for number, head in enumerate(history.heads()):
        if number:
            created.setdefault(history.base(number), []).append(head)
    each = spec.tables_per_commit
    for last in range(each - 1, spec.commits * each, each):
        yield _commit("main", Snapshot(0, last), history, layout)
        for head in created.get(last, ()):
            yield {"create": head.name, "type": head.kind.value, "from": "main"}
            if head.kind is ReferenceKind.BRANCH:
                for position in range(last + each, head.position + 1, each):
                    yield _commit(head.name, Snapshot(head.line, position), history, layout)


def _commit(branch: str, commit: Snapshot, history: MockHistory, layout: MockLayout) -> dict[str, Any]:
    contents = [
        {
            "key": list(layout.key(history.table_of(snapshot))),
            "content": {
                "type": ICEBERG_TABLE,
                "metadataLocation": layout.path(layout.block(snapshot, Role.METADATA)),
                "snapshotId": history.snapshot_id(snapshot),
                "schemaId": 0,
                "specId": 0,
                "sortOrderId": 0,
            },
        }
        for snapshot in history.put_by(commit)
    ]
    return {"commit": branch, "contents": contents}
