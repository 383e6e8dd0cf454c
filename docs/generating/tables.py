"""The tables in which services store their findings."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from generating.text import code, table
from nessie_gc_core.model.asset_runs import ASSET_RUNS
from nessie_gc_core.model.assets import ASSETS, HANDLED_ASSETS, AssetReason, AssetType, TypeFrom
from nessie_gc_core.model.lost_files import LOST_FILES
from nessie_gc_core.model.tables import BUCKETS

_INTRO = """# Tables

Services write these Iceberg tables; see [how to use them](../how-to/unreferenced-assets.md). A missing table is
created, and columns of a later version are added to an existing one. Times are UTC, to the microsecond; sizes are
bytes; paths are *raw*, the exact text from a listing. If the value of a required column is not known, it is an empty
string.

"""
_ASSETS = {
    "tableName": "dotted key of the table or view whose location contains the file; empty if none is known",
    "timestamp": "when the run listed the references",
    "asset": "identity of the file: the first 16 bytes of the SHA-256 of its path",
    "snapshotId": "the last known snapshot that used it",
    "assetType": "the type of the file",
    "path": "its whole path",
    "name": "the last element of its path",
    "runid": "number of the run",
    "run": "identity of the run, a UUID",
    "location": "the location in which it was listed; its path begins with it",
    "sizeBytes": "its size",
    "modified": "when it was modified; null if the store does not report it",
    "typeFrom": "source of the type: a state that used the file (`walk`), or only its name (`name`)",
    "reason": "why nothing needs it; null without `history`",
    "lastReference": "a reference whose commits had it; one of several",
    "lastCommit": "the last commit there that needed it",
    "lastCommitTime": "when that commit was made",
    "policy": "the cut-off policy that excludes that commit",
    "firstSeen": "when a complete run first saw it",
    "lastSeen": "when this run saw it",
}
_RUNS = {
    "runid": "number of the run, unique",
    "run": "identity of the run, a UUID",
    "status": "`STARTED` or `COMPLETE`, a row each",
    "timestamp": "when the run listed the references",
    "repository": "identity of the repository",
    "liveSet": "id of the live set",
    "engine": "the engine that it ran on",
    "settings": "the policies and limits of the run, as a JSON object",
    "assets": "number of assets that it saw",
    "sizeBytes": "their total size",
    "unknown": "number of unknown locations",
}
_HANDLED = {
    "deletion": "identity of the deletion, a UUID",
    "timestamp": "when it began",
    "asset": "identity of the file",
    "outcome": "its [outcome](report.md#outcomes)",
    "reason": "why it stayed, or could not be deleted",
    "tableName": "as in the table of assets",
    "assetType": "as in the table of assets",
    "path": "as in the table of assets",
    "sizeBytes": "as in the table of assets",
    "runid": "number of the latest run that had seen it",
}
_LOST = {
    "run": "identity of the run, a UUID",
    "timestamp": "when the run listed the references",
    "tableName": "dotted key of the table or view that needs it",
    "assetType": "the type of the file",
    "path": "its whole path, as in the metadata",
    "name": "the last element of its path",
    "reference": "a reference whose head needs it; null if only the history of references needs it",
    "states": "number of live states of the table there that need it",
    "snapshotId": "the snapshot of the last of them",
    "lastCommit": "the commit that made the last of them",
    "lastCommitTime": "when that commit was made",
}


def page() -> str:
    """The page."""
    return _INTRO + "\n".join(_sections())


def _sections() -> Iterator[str]:
    yield "## Unreferenced assets\n"
    yield "One row for each file that a run of `identify-unreferenced` saw. The first eight columns are those of"
    yield f"Nessie's first collector. Partitioned by `bucket({BUCKETS}, tableName)`.\n"
    yield _columns(ASSETS, _ASSETS)
    yield f"\n`assetType` is one of {_listed(AssetType)}. `typeFrom` is one of {_listed(TypeFrom)}. `reason` is one of"
    yield f"{_listed(AssetReason)}.\n"
    yield "## Runs\n"
    yield "A second table, named after the first plus `_runs`. Assets count once their run is `COMPLETE`.\n"
    yield _columns(ASSET_RUNS, _RUNS)
    yield "\n## Deleted assets\n"
    yield "`delete-unreferenced --report-table` adds one row for each asset that enough runs had seen.\n"
    yield _columns(HANDLED_ASSETS, _HANDLED)
    yield "\n## Lost files\n"
    yield "`identify-unreferenced --lost-table` adds one row for each file that is needed but not stored, each table"
    yield "that needs it, and each reference whose head shows such a state.\n"
    yield _columns(LOST_FILES, _LOST)


def _listed(values: type[AssetType] | type[TypeFrom] | type[AssetReason]) -> str:
    return ", ".join(code(value.value) for value in values)


def _columns(schema: pa.Schema, texts: dict[str, str]) -> str:
    assert list(texts) == schema.names
    types = {pa.string(): "string", pa.int64(): "long", pa.binary(): "binary"}
    rows = (
        (code(field.name), types.get(field.type, "timestamptz"), "no" if field.nullable else "yes", texts[field.name])
        for field in schema
    )
    return table(("column", "type", "required", "meaning"), rows)
