"""S24 on a real object store that keeps clean keys, whatever is asked for: SeaweedFS stores ``x//y`` as ``x/y``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.testing.servers import skip_or_fail
from nessie_gc_core.testing.servers.s3 import S3Server

ODD, CLEAN = "s3://lake//wh//db/t", "s3://lake/wh/db/t"


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with skip_or_fail():
        server = S3Server()
        server.start()
    yield server
    server.stop()


@pytest.fixture
def bucket(s3: S3Server) -> Any:
    client = boto3.resource(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name=s3.region,
    )
    bucket = client.Bucket(s3.bucket)
    bucket.objects.all().delete()
    return bucket


@pytest.fixture
def catalog(s3: S3Server, tmp_path: Path) -> Iterator[Catalog]:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with load_catalog("prod", type="sql", uri=uri, **s3.properties) as catalog:
        catalog.create_namespace("db")
        yield catalog


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def respell(catalog: Catalog, bucket: Any, name: str, *, location: str) -> set[str]:
    """Makes a table live by a metadata file that spells its paths in an odd way; the keys that it needs."""
    table = catalog.load_table(name)
    key = table.metadata_location.removeprefix("s3://lake/")
    text = bucket.Object(key).get()["Body"].read().decode()
    for folder in ("data", "metadata/snap"):
        text = text.replace(f"{CLEAN}/{folder}", f"{ODD}/{folder}")
    changed = text.replace(f'"location":"{table.location()}"', f'"location":"{location}"')
    assert "//wh//" in changed
    needed = {found.key for found in bucket.objects.filter(Prefix=f"{table.location().removeprefix('s3://lake/')}/")}
    catalog.drop_table(name)
    bucket.Object(f"{key}.v2.metadata.json").put(Body=changed.encode())
    catalog.register_table(name, f"s3://lake/{key}.v2.metadata.json")
    return needed - {key} | {f"{key}.v2.metadata.json"}


def collect(s3: S3Server, folder: Path, engine: str) -> dict[str, Any]:
    access = [part for key, value in s3.properties.items() for part in ("-I", f"{key}={value}")]
    config = folder / "nessie-gc.toml"
    properties = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in s3.properties.items())
    config.write_text(
        f'[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\nuri = "sqlite:///{folder}/catalog.db"\n'
        f"[repository.properties]\n{properties}"
    )
    ages = ["--min-age", "PT0S", "--no-age-floor"]
    command = [sys.executable, "-m", "nessie_gc_core", "gc", "--config", str(config), "--inmemory", "--json", *ages]
    run = subprocess.run([*command, "--engine", engine, *access], capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    return dict(json.loads(run.stdout))


@pytest.mark.server
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("location", [CLEAN, ODD])
def test_s24_files_that_are_live_by_an_odd_spelling_stay(
    s3: S3Server, bucket: Any, catalog: Catalog, tmp_path: Path, engine: str, location: str
) -> None:
    """Another table shares the folder, and spells it as the store does."""
    table = catalog.create_table("db.t", rows(1).schema, location=CLEAN)
    for number in range(3):
        table.append(rows(number))
    needed = respell(catalog, bucket, "db.t", location=location)
    other = catalog.create_table("db.other", rows(1).schema, location=f"{CLEAN}/other")
    other.append(rows(1))
    bucket.Object("wh/db/t/other/data/orphan.parquet").put(Body=b"left over")

    report = collect(s3, tmp_path, engine)

    left = {found.key for found in bucket.objects.all()}
    assert needed <= left
    assert [1] == other.scan().to_arrow().column("n").to_pylist()
    assert "wh/db/t/other/data/orphan.parquet" not in left
    assert ([], 0) == (report["unknown"], report["exit_code"])
    if location == CLEAN:  # the server lists nothing at the odd one
        assert 0 == report["lost"]["files"]
