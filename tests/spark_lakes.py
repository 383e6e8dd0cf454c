"""Tables of every Iceberg format version that Spark writes, and which files Spark says that a state needs."""

from __future__ import annotations

import json
from pathlib import Path

from nessie_gc_core.demo.lake import Lake
from nessie_gc_core.demo.verify import State

NAMESPACE = "formats"
VIEWS = ("shop.revenue", f"{NAMESPACE}.seen")


def write_every_format(lake: Lake) -> None:
    """Writes the namespace ``formats``."""
    lake.spark.sql(f"CREATE NAMESPACE nessie.{NAMESPACE}")
    for version in (1, 2, 3):
        _write_table(lake, version)
    _write_held_snapshots(lake)
    _write_statistics(lake)
    lake.spark.sql(f"CREATE VIEW nessie.{NAMESPACE}.seen AS SELECT id FROM nessie.{NAMESPACE}.v2")
    lake.spark.sql(f"CREATE OR REPLACE VIEW nessie.{NAMESPACE}.seen AS SELECT id, part FROM nessie.{NAMESPACE}.v2")


def _write_table(lake: Lake, version: int) -> None:
    """Appends, a row delete (files in v1, position deletes in v2, deletion vectors in v3), an overwrite of a part."""
    table = f"nessie.{NAMESPACE}.v{version}"
    mode = "copy-on-write" if version == 1 else "merge-on-read"
    properties = f"'format-version' = '{version}', 'write.delete.mode' = '{mode}'"
    _run(
        lake,
        f"CREATE TABLE {table} (id BIGINT, part STRING) USING iceberg PARTITIONED BY (part)"
        f" TBLPROPERTIES ({properties})",
        f"INSERT INTO {table} SELECT id, 'a' FROM range(100)",
        f"INSERT INTO {table} SELECT id, 'b' FROM range(100)",
        f"DELETE FROM {table} WHERE id < 10",
        f"DELETE FROM {table} WHERE part = 'b'",
        f"INSERT INTO {table} VALUES (1, 'c')",
    )


def _write_held_snapshots(lake: Lake) -> None:
    """An Iceberg tag and an Iceberg branch hold snapshots that the table's main branch has left behind."""
    table = f"nessie.{NAMESPACE}.held"
    _run(
        lake,
        f"CREATE TABLE {table} (id BIGINT) USING iceberg",
        f"INSERT INTO {table} VALUES (1)",
        f"ALTER TABLE {table} CREATE TAG first",
        f"ALTER TABLE {table} CREATE BRANCH audit",
        f"INSERT INTO {table}.branch_audit VALUES (2)",
        f"INSERT OVERWRITE {table} VALUES (3)",
    )


def _write_statistics(lake: Lake) -> None:
    """Statistics and partition statistics, of a snapshot that is current and of one that is not."""
    table = f"{NAMESPACE}.measured"
    _run(
        lake,
        f"CREATE TABLE nessie.{table} (id BIGINT, part STRING) USING iceberg PARTITIONED BY (part)",
        f"INSERT INTO nessie.{table} VALUES (1, 'a'), (2, 'b')",
        f"CALL nessie.system.compute_table_stats('{table}')",
        f"CALL nessie.system.compute_partition_stats('{table}')",
        f"INSERT INTO nessie.{table} VALUES (3, 'a')",
        f"CALL nessie.system.compute_table_stats('{table}')",
        f"CALL nessie.system.compute_partition_stats('{table}')",
    )


def _run(lake: Lake, *statements: str) -> None:
    for statement in statements:
        lake.spark.sql(statement)


def spark_files(lake: Lake, state: State) -> set[str]:
    """The metadata file, all that Spark lists for the snapshots that a reference inside it holds, their statistics."""
    if state.key in VIEWS:
        return {state.metadata_location}
    table = state.sql_name
    held = [row[0] for row in lake.spark.sql(f"SELECT DISTINCT snapshot_id FROM {table}.refs").collect()]
    queries = [f"SELECT manifest_list FROM {table}.snapshots WHERE snapshot_id IN ({', '.join(map(str, held))})"]
    for snapshot in held:
        queries.append(f"SELECT path FROM {table}.manifests VERSION AS OF {snapshot}")
        queries.append(f"SELECT file_path FROM {table}.files VERSION AS OF {snapshot}")
    listed = [row[0] for row in lake.spark.sql(" UNION ".join(queries)).collect()] if held else []
    return {state.metadata_location, *listed, *statistics(state.metadata_location, held)}


def statistics(metadata_location: str, snapshots: list[int]) -> list[str]:
    """Statistics files of the snapshots; no metadata table of Spark's lists them."""
    metadata = json.loads(Path(metadata_location.removeprefix("file:")).read_text())
    entries = metadata.get("statistics", []) + metadata.get("partition-statistics", [])
    return [entry["statistics-path"] for entry in entries if entry["snapshot-id"] in snapshots]
