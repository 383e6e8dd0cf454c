"""Orphan files of one table, by the words of Iceberg's procedures, with Spark and without."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from expiry_lakes import ROWS, ExpiryLake, needed, rewrite
from pyiceberg.table import Table

from nessie_gc_core.api import expire_snapshots, remove_orphan_files
from nessie_gc_core.errors import ConfigurationError, IncompleteError, SafetyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [
    "deleted_data_files_count",
    "deleted_position_delete_files_count",
    "deleted_equality_delete_files_count",
    "deleted_manifest_files_count",
    "deleted_manifest_lists_count",
    "deleted_statistics_files_count",
]


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    return expiry_lake


def settings(lake: ExpiryLake) -> dict[str, Any]:
    return {
        "repository": "iceberg-catalog",
        "uri": lake.uri,
        "repository_option": {"catalog_name": "prod"},
        "jdbc_url": f"sqlite:///{lake.folder}/store.db",
        "engine": "local",
    }


def removed(lake: ExpiryLake, **arguments: Any) -> set[str]:
    """Local paths of what the call says."""
    given: dict[str, Any] = {"table": "db.t", "older_than": "P3D", **settings(lake), **arguments}
    found: Any = remove_orphan_files(**given)
    return {path.removeprefix("file://") for path in found.to_arrow()["orphan_file_location"].to_pylist()}


def put(table: Table, name: str, *, days: float = 10) -> str:
    """A file that nothing names, so many days old."""
    path = Path(table.location().removeprefix("file://"), name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left over")
    then = time.time() - days * 86400
    os.utime(path, (then, then))
    return str(path)


# ---- remove_orphan_files ------------------------------------------------------------------------------
def test_orphans_of_one_table_go_and_nothing_else(lake: ExpiryLake) -> None:
    table, other = lake.table(), lake.table("db.u")
    orphan, elsewhere = put(table, "data/orphan.parquet"), put(other, "data/orphan.parquet")
    young = put(table, "data/young.parquet", days=1)
    before = lake.files("db")

    assert {orphan} == removed(lake, dry_run=True)
    assert before == lake.files("db")
    assert {orphan} == removed(lake)

    assert before - {orphan} == lake.files("db")
    assert {elsewhere, young} <= lake.files("db")
    assert lake.needed() <= lake.files()


def test_hidden_files_are_left_alone_but_those_of_partitions_are_not(lake: ExpiryLake) -> None:
    table = lake.table(overwrites=1)
    with table.update_spec() as spec:
        spec.add_field("id", "identity", "_id")
    wanted = {put(table, "data/_id=1/orphan.parquet"), put(table, "data/plain.parquet")}
    for name in ("data/_id_too/orphan.parquet", "data/_temporary/x", ".hidden", "data/_id=1/_part", "data/.tmp/a"):
        put(table, name)

    assert wanted == removed(lake)


def test_a_location_within_the_table_alone_is_looked_at(lake: ExpiryLake) -> None:
    table = lake.table()
    wanted = put(table, "data/a/orphan.parquet")
    put(table, "data/ab/orphan.parquet")

    assert {wanted} == removed(lake, location=f"{table.location()}/data/a")
    with pytest.raises(ConfigurationError, match="is not below the location of"):
        removed(lake, location=f"file://{lake.warehouse}/elsewhere")


def test_tables_in_each_others_locations_and_siblings_keep_their_files(lake: ExpiryLake) -> None:
    outer = lake.table(overwrites=2)
    inner = lake.catalog.create_table("db.inner", ROWS.schema, location=f"{outer.location()}/inner")
    inner.append(ROWS)
    sibling = put(lake.table("db.t2", overwrites=1), "data/orphan.parquet")
    orphan = put(outer, "inner/data/orphan.parquet")
    lake.age()

    assert {orphan} == removed(lake)
    assert needed(lake.load("db.inner")) <= lake.files()
    assert Path(sibling).exists()


def test_a_list_stands_for_the_listing(lake: ExpiryLake, tmp_path: Path) -> None:
    table = lake.table()
    orphan = put(table, "data/orphan.parquet")
    put(table, "data/not-listed.parquet")
    lake.age()
    paths = [path for path in lake.files("db") if "not-listed" not in path]
    then = datetime.now(UTC) - timedelta(days=30)
    rows = {"file_path": [f"file://{path}" for path in paths], "last_modified": [then] * len(paths)}
    pa.parquet.write_table(pa.table(rows), tmp_path / "list.parquet")

    assert {orphan} == removed(lake, file_list=[str(tmp_path / "list.parquet")])


def test_a_path_that_metadata_names_with_another_authority_is_an_error_or_stays(lake: ExpiryLake) -> None:
    table = lake.table(overwrites=1)
    lake.age()
    other = lake.table("db.u", overwrites=1)
    orphan = put(table, "data/orphan.parquet")
    manifests = {"manifest-list": f"hdfs://elsewhere{orphan}"}
    rewrite(lake.load("db.u"), lambda metadata: metadata["snapshots"][0].update(manifests))
    assert other.location()
    lake.services().read_before()

    with pytest.raises(SafetyError, match="of 1 files metadata names its path with another scheme or authority"):
        removed(lake)
    with pytest.raises(IncompleteError, match="could not be read"):  # the manifest list on that other file system
        removed(lake, prefix_mismatch_mode="IGNORE")
    assert Path(orphan).exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"older_than": "PT1H"}, "less than 24 hours ago"),
        ({"older_than": datetime(2026, 1, 1)}, "has no offset"),
        ({"older_than": "soon"}, "`older_than` 'soon' is neither a duration"),
        ({"table": "db.none"}, "the repository has no table 'db.none'"),
        ({"prefix_mismatch_mode": "DELETE"}, "DELETE is refused"),
        ({"equal_schemes": {"a": "b", "b": "a"}}, "form a cycle"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(lake: ExpiryLake, arguments: Mapping[str, object], said: str) -> None:
    put(lake.table(), "data/orphan.parquet")
    before = lake.files("db")
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        removed(lake, **arguments)
    assert before == lake.files("db")


def test_all_files_are_named_however_many_steps_there_are(lake: ExpiryLake) -> None:
    table = lake.table()
    orphans = {put(table, f"data/{number}.parquet") for number in range(5)}

    assert orphans == removed(lake, files_per_step=2)


def test_s27_settings_that_say_dry_run_are_no_default_to_go_over(
    lake: ExpiryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = put(lake.table(), "data/orphan.parquet")
    monkeypatch.setenv("NESSIE_GC_DRY_RUN", "true")

    with pytest.raises(ConfigurationError, match="the settings contain `dry_run`"):
        removed(lake)
    assert Path(orphan).exists()


def test_hidden_is_what_is_hidden_below_the_table_itself(lake: ExpiryLake) -> None:
    outer = lake.table(overwrites=1)
    inner = lake.catalog.create_table("db._inner", ROWS.schema, location=f"{outer.location()}/_inner")
    inner.append(ROWS)
    lake.age()
    orphan = put(inner, "data/orphan.parquet")

    assert {orphan} == removed(lake, table="db._inner")


# ---- expire_snapshots ---------------------------------------------------------------------------------
def test_the_columns_of_the_procedure_count_what_went(lake: ExpiryLake) -> None:
    lake.table()
    lake.table("db.u")
    lake.age()
    before = lake.files()
    arguments = {"table": "db.t", "older_than": datetime.now(UTC), "retain_last": 2, **settings(lake)}

    dry: Any = expire_snapshots(dry_run=True, **arguments)
    assert before == lake.files()
    real: Any = expire_snapshots(**arguments)

    assert COLUMNS == real.to_arrow().column_names
    (row,) = real.to_arrow().to_pylist()
    assert dry.to_arrow().to_pylist() == [row]
    assert len(before - lake.files()) == sum(row.values())
    assert (3, 5) == (row["deleted_data_files_count"], row["deleted_manifest_lists_count"])
    assert 2 == len(lake.snapshots())
    assert 7 == len(lake.snapshots("db.u"))


def test_a_table_that_is_not_there_or_may_not_expire_is_an_error(lake: ExpiryLake) -> None:
    table = lake.table()
    table.manage_snapshots().create_tag(lake.snapshots()[0], "held").commit()
    lake.age()

    with pytest.raises(ConfigurationError, match="the repository has no table"):
        expire_snapshots(table="db.tpyo", **settings(lake))  # codespell:ignore tpyo
    with pytest.raises(SafetyError, match="held still references it"):
        expire_snapshots(table="db.t", snapshot_ids=[lake.snapshots()[0]], **settings(lake))
    assert 7 == len(lake.snapshots())


@pytest.mark.spark
def test_both_calls_give_data_frames_on_spark(lake: ExpiryLake, spark: SparkSession) -> None:
    table = lake.table()
    orphan = put(table, "data/orphan.parquet")
    lake.age()
    given = {name: value for name, value in settings(lake).items() if name != "engine"}

    expired: Any = expire_snapshots(spark, table="db.t", older_than=datetime.now(UTC), **given)
    orphans: Any = remove_orphan_files(spark, table="db.t", **given)

    assert COLUMNS == expired.columns
    assert 6 == expired.first()["deleted_manifest_lists_count"]
    assert [f"file://{orphan}"] == [row.orphan_file_location for row in orphans.collect()]
    assert lake.needed() == lake.files()
