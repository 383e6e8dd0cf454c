"""A real Nessie and a plain catalog over one folder: one run, from one configuration file, as a user would write it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from cli_runs import go_home
from click.testing import CliRunner
from lakes.nessie import NessieCommits
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from nessie_gc_core.cli.main import cli
from nessie_gc_core.testing.servers import NessieServer

ROWS = pa.table({"id": [1, 2, 3]})
pytestmark = pytest.mark.server


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    (tmp_path / "warehouse").mkdir()
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with load_catalog("orders", type="sql", uri=uri, warehouse=f"file://{tmp_path}/warehouse") as catalog:
        catalog.create_namespace("sales")
        yield catalog


def content(table: Table) -> dict[str, object]:
    """A table as Nessie's contents name it."""
    return {
        "type": "ICEBERG_TABLE",
        "metadataLocation": table.metadata_location,
        "snapshotId": table.metadata.current_snapshot_id,
        "schemaId": 0,
        "specId": 0,
        "sortOrderId": 0,
    }


def files(folder: Path) -> set[Path]:
    return {path for path in (folder / "warehouse").rglob("*") if path.is_file()}


def test_s01_what_nessie_alone_needs_stays_in_the_places_of_a_plain_catalog(
    nessie: NessieServer, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = go_home(tmp_path, monkeypatch)
    table = catalog.create_table("sales.orders", schema=ROWS.schema)
    (before,) = files(tmp_path)
    table.append(ROWS)
    with NessieCommits(nessie.uri) as commits:
        commits.put("main", {(f"orders-{tmp_path.name}",): content(table)}, message="the state of today")
    nessie_needs = files(tmp_path) - {before}
    catalog.drop_table("sales.orders")
    again = catalog.create_table("sales.orders", schema=ROWS.schema, location=table.location())
    again.append(ROWS)
    needed = files(tmp_path) - {before}
    dead = Path(table.location().removeprefix("file://"), "data", "left-behind.parquet")
    dead.write_bytes(b"nobody needs it")
    for path in files(tmp_path):
        os.utime(path, (time.time() - 10 * 86_400,) * 2)
    (home / "nessie-gc.toml").write_text(
        f"""
        engine = "local"
        allow = ["file://{tmp_path}/warehouse"]

        [[repositories]]
        name = "nessie"
        uri = "{nessie.uri}"

        [[repositories]]
        label = "orders"
        name = "iceberg-catalog"
        type = "sql"
        uri = "sqlite:///{tmp_path}/catalog.db"
        catalog_name = "orders"
        """
    )
    result = CliRunner().invoke(cli, ["gc", "--json"])
    report = json.loads(result.stdout)
    assert needed == files(tmp_path)
    assert nessie_needs < needed
    assert (2, []) == (report["deleted"]["files"], report["unknown"])
    assert ["nessie", "iceberg-catalog"] == [each["repository"].partition(":")[0] for each in report["repositories"]]
