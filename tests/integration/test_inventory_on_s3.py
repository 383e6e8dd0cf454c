"""S8 on a real object store: an inventory in a bucket, read with credentials of the environment, is like a listing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from catalogs_on_s3 import collect, rows
from inventories import S3Inventory, Stored
from pyiceberg.catalog import Catalog

from nessie_gc_core.testing.servers.s3 import S3Server


@pytest.fixture
def environment(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pyarrow finds the server and its credentials, here and on executors."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_key)
    monkeypatch.setenv("AWS_REGION", s3.region)


def inventory(bucket: Any, folder: Path, format_: str) -> str:
    """Puts an inventory of a bucket into the same bucket, in two parts; the folder of all its inventories."""
    found = [Stored(each.key, each.last_modified, each.size) for each in bucket.objects.filter(Prefix="wh/")]
    S3Inventory(folder=folder, bucket="lake", format=format_).write(
        found[::2], found[1::2], made=datetime.now(UTC).replace(microsecond=0)
    )
    for file in folder.rglob("*"):
        if file.is_file():
            bucket.upload_file(str(file), f"inventory/lake/all/{file.relative_to(folder)}")
    return "s3://lake/inventory/lake/all"


@pytest.mark.server
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.thorough(engine="spark")
@pytest.mark.usefixtures("environment")
def test_s08_an_inventory_in_a_bucket_finds_what_a_listing_finds(
    s3: S3Server, bucket: Any, catalog: Catalog, tmp_path: Path, engine: str
) -> None:
    table = catalog.create_table("db.t", rows(1).schema, location="s3://lake/wh/db/t")
    table.append(rows(1))
    odd = {f"wh/db/t/data/{name}" for name in ("orphan.parquet", "a b+c%20ü.parquet")}
    for key in odd:
        bucket.Object(key).put(Body=b"left over")
    by_listing = collect(s3, tmp_path, engine, "--dry-run")
    name = inventory(bucket, tmp_path / "inventory", "CSV")

    report = collect(s3, tmp_path, engine, "--file-list", name)

    left = {found.key for found in bucket.objects.filter(Prefix="wh/")}
    assert [1] == table.scan().to_arrow().column("n").to_pylist()
    assert (0, []) == (report["exit_code"], report["unknown"])
    assert odd.isdisjoint(left)
    assert by_listing["unreferenced"] == report["unreferenced"]
    assert by_listing["files_listed"] == report["files_listed"]
    assert any(re.search(r"the file list is [\d.]+ s old", warning) for warning in report["warnings"])
