"""A real Nessie and a plain catalog over one folder: one run, from one configuration file, as a user would write it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from cli_runs import go_home
from click.testing import CliRunner
from expiry_lakes import ExpiryLake, needed, overwrite
from lakes.nessie import NessieCommits
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from nessie_gc_core.cli.main import cli
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.run import Run
from nessie_gc_core.testing.servers import NessieServer

ROWS = pa.table({"id": [1, 2, 3]})


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


@pytest.mark.server
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


# ---- expiry beside another catalog ----------------------------------------------------------------------
@pytest.fixture
def other(expiry_lake: ExpiryLake) -> Iterator[Catalog]:
    """A second catalog over the same warehouse."""
    uri = f"sqlite:///{expiry_lake.folder}/other.db"
    with load_catalog("other", type="sql", uri=uri, warehouse=f"file://{expiry_lake.warehouse}") as catalog:
        catalog.create_namespace("db")
        yield catalog


def beside(lake: ExpiryLake, other: Catalog) -> Run:
    """A run over the lake's catalog, which is chosen, and the other one."""
    repository = IcebergCatalogConnector.from_options({"catalog_name": "other", "uri": other.properties["uri"]})
    lake.age()
    return replace(lake.services(), others=(repository,), chosen=True).run()


@pytest.mark.parametrize("dry_run", [True, False])
def test_s01_expired_snapshots_that_another_catalog_needs_keep_their_files(
    expiry_lake: ExpiryLake, other: Catalog, dry_run: bool
) -> None:
    table = expiry_lake.table(overwrites=2)
    other.register_table("db.as_it_was", table.metadata_location)
    theirs = needed(other.load_table("db.as_it_was"))
    for _ in range(3):
        overwrite(table)
    parameters = ExpireSnapshotsParameters(older_than="PT0S", dry_run=dry_run)
    report = ExpireSnapshotsService(parameters).run(beside(expiry_lake, other))
    assert theirs <= expiry_lake.files()
    assert 0 < report.collection.outcomes[Outcome.WOULD_DELETE if dry_run else Outcome.DELETED].files
    if not dry_run:
        assert 1 == len(expiry_lake.snapshots())
        assert expiry_lake.files() == theirs | expiry_lake.needed()
    assert (0 if dry_run else 2) == len(list(expiry_lake.store.live_sets()))


def test_orphans_of_one_catalog_that_another_needs_stay(expiry_lake: ExpiryLake, other: Catalog) -> None:
    table = expiry_lake.table(overwrites=1)
    folder = Path(table.location().removeprefix("file://"), "data")
    theirs = other.create_table("db.theirs", ROWS.schema, properties={"write.data.path": f"file://{folder}"})
    theirs.append(ROWS)
    (folder / "nobody.parquet").write_bytes(b"left over")
    RemoveOrphanFilesService(RemoveOrphanFilesParameters(table="db.t", dry_run=False)).run(beside(expiry_lake, other))
    assert expiry_lake.needed() | {each for each in needed(theirs) if str(folder) in each} == expiry_lake.files()
