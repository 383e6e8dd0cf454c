"""S32: rows of real Hive and Glue catalogs that are not called tables, and tables of others in the same folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from catalog_kinds import KINDS, NOW, Servers, opened, rows_of_snapshots, run, write
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from nessie_gc_core.testing.servers import MotoServer, running

pytestmark = pytest.mark.server

MATERIALIZED_VIEW = {
    "presto_view": "true",
    "trino_created_by": "Trino Iceberg connector",
    "comment": "Presto Materialized View",
}


@pytest.fixture(scope="module")
def aws() -> Iterator[MotoServer]:
    with running(MotoServer) as server:
        yield server


def _in_glue(catalog: Any, table: Table, name: str, kind: str, parameters: Mapping[str, str], *, instead: bool) -> None:
    database, old = table.name()
    if instead:
        catalog.glue.delete_table(DatabaseName=database, Name=old)
    where = {"StorageDescriptor": {"Location": table.location()}} if kind != "VIRTUAL_VIEW" else {}
    row = {"Name": name, "TableType": kind, "Parameters": dict(parameters), **where}
    catalog.glue.create_table(DatabaseName=database, TableInput=row)


def _in_hive(catalog: Any, table: Table, name: str, kind: str, parameters: Mapping[str, str], *, instead: bool) -> None:
    database, old = table.name()
    with catalog._client as client:
        row = client.get_table(database, old)
        if instead:
            client.drop_table(database, old, deleteData=False)
        row.tableName, row.tableType, row.parameters = name, kind, dict(parameters)
        if kind == "VIRTUAL_VIEW":
            row.sd.location = None
        client.create_table(row)


Put = Callable[..., None]
METASTORES: Mapping[str, Put] = {"glue": _in_glue, "hive": _in_hive}


def remove(catalog: Any, kind: str, database: str, name: str) -> None:
    if kind == "glue":
        catalog.glue.delete_table(DatabaseName=database, Name=name)
        return
    with catalog._client as client:
        client.drop_table(database, name, deleteData=False)


def storage_of_a_view(catalog: Catalog, writer: Catalog, kind: str) -> Table:
    """The table of a materialized view of Trino: only the view's own row names it."""
    storage = write(catalog, writer, f"mv_{kind}.storage", appends=2)
    named = {**MATERIALIZED_VIEW, "metadata_location": storage.metadata_location}
    METASTORES[kind](catalog, storage, "sales_by_day", "VIRTUAL_VIEW", named, instead=True)
    return storage


@pytest.mark.parametrize("kind", METASTORES)
def test_s32_the_storage_of_a_materialized_view_is_live(kind: str, servers: Servers) -> None:
    made, folder = KINDS[kind](servers), servers.folder
    with opened(made, folder) as (catalog, writer):
        storage = storage_of_a_view(catalog, writer, kind)
        orphan = made.put(f"{storage.location()}/data/orphan.parquet")
        time.sleep(2.1)  # the times of files in S3 are whole seconds
        before = made.files()
        result = run(made, folder, "gc", "--inmemory", *NOW)
        expiry = run(made, folder, "expire-snapshots", "--older-than", "PT0S", *NOW)
        remove(catalog, kind, f"mv_{kind}", "sales_by_day")

    assert (0, {orphan}) == (result.exit_code, before - made.files()), result.output
    assert [2, 4] == rows_of_snapshots(storage)
    (left,) = [each for each in json.loads(expiry.stdout)["tables"] if each["table"].endswith("sales_by_day")]
    assert "does not call it a table" in left["reason"]


@pytest.mark.parametrize("kind", METASTORES)
def test_s32_a_hive_table_in_the_folder_of_an_iceberg_table_freezes_it(kind: str, servers: Servers) -> None:
    made, folder = KINDS[kind](servers), servers.folder
    with opened(made, folder) as (catalog, writer):
        shared = write(catalog, writer, f"backup_{kind}.orders", appends=1)
        alone = write(catalog, writer, f"backup_{kind}.items", appends=1)
        METASTORES[kind](catalog, shared, "orders_backup_", "EXTERNAL_TABLE", {}, instead=False)
        theirs, orphan = (made.put(f"{each.location()}/data/part-0.parquet") for each in (shared, alone))
        time.sleep(2.1)  # the times of files in S3 are whole seconds
        before = made.files()
        result = run(made, folder, "gc", "--inmemory", *NOW)
        remove(catalog, kind, f"backup_{kind}", "orders_backup_")

    assert (0, {orphan}) == (result.exit_code, before - made.files()), result.output
    assert theirs in made.files()
    assert any("HIVE_TABLE" in each["reason"] for each in json.loads(result.stdout)["unread"])
