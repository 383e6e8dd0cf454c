"""Schemas and partition specs of a table that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from nessie_gc_core.model import Removal
from nessie_gc_core.model.parsing import parsed_json

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_SPEC, _SCHEMA = "partition-spec-id", "schema"


def without_unused(table: Table, io: FileIO, removal: Removal, *, parallelism: int) -> Removal:
    """The same removal, plus the schemas and partition specs that nothing uses afterwards.

    Kept are the current schema and the default spec; what a snapshot that stays names; what any of its manifests names,
    which were written with their schema and spec; and the newest of each, so that no id is ever given out twice:
    writers give the next schema or spec the highest id that is listed, and one more. Sort orders are kept:
    no update of Iceberg's REST catalogs takes one out, and PyIceberg has none either.

    Args:
        table: the table.
        io: reads its manifest lists and manifests.
        removal: the snapshots that go.
        parallelism: how many manifests are read at once.

    Raises:
        Exception: a manifest list or manifest cannot be read; nothing is known then.
    """
    metadata = table.metadata
    schemas = {schema.schema_id for schema in metadata.schemas}
    specs = {spec.spec_id for spec in metadata.partition_specs}
    if len(schemas) < 2 and len(specs) < 2:
        return removal
    kept_schemas, kept_specs = {metadata.current_schema_id, max(schemas)}, {metadata.default_spec_id, max(specs)}
    staying = [each for each in metadata.snapshots if each.snapshot_id not in removal.snapshot_ids]
    kept_schemas.update(each.schema_id for each in staying if each.schema_id is not None)
    with ThreadPoolExecutor(parallelism, thread_name_prefix="unused") as pool:
        lists = pool.map(lambda snapshot: list(_manifests(snapshot, io)), staying)
        manifests = {path: spec for found in lists for path, spec in found}
        kept_specs.update(manifests.values())
        for schema, spec in pool.map(lambda path: _written_with(path, io), manifests):
            kept_schemas.update([] if schema is None else [schema])
            kept_specs.update([] if spec is None else [spec])
            if schema is None:
                kept_schemas.update(schemas)  # written by somebody who does not say
    return removal.with_unused(schemas=schemas - kept_schemas, partition_specs=specs - kept_specs)


def _manifests(snapshot: Snapshot, io: FileIO) -> Iterator[tuple[str, int]]:
    """Paths and partition specs of a snapshot's manifests."""
    yield from ((manifest.manifest_path, manifest.partition_spec_id) for manifest in snapshot.manifests(io))


def _written_with(path: str, io: FileIO) -> tuple[int | None, int | None]:
    """Schema and spec in the header of a manifest."""
    from pyiceberg.avro.file import AvroFile

    with AvroFile[Any](io.new_input(path)) as file:
        said = file.header.meta
    schema = cast("dict[str, Any]", parsed_json(said[_SCHEMA])).get("schema-id") if _SCHEMA in said else None
    return _number(schema), _number(said.get(_SPEC))


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
