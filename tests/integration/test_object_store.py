"""The whole job on an object store: Nessie's own catalog writes tables to S3, the command line collects them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.testing.servers import NessieServer, skip_or_fail
from nessie_gc_core.testing.servers.s3 import S3Server


@dataclass(frozen=True)
class Lake:
    s3: S3Server
    nessie: NessieServer
    catalog: Catalog

    def keys(self) -> set[str]:
        client = boto3.client(
            "s3",
            endpoint_url=self.s3.endpoint,
            aws_access_key_id=self.s3.access_key,
            aws_secret_access_key=self.s3.secret_key,
            region_name=self.s3.region,
        )
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self.s3.bucket, Prefix="rest/")
        return {found["Key"] for page in pages for found in page.get("Contents", ())}

    def gc(self, *options: str, properties: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        access = [
            part for key, value in (properties or self.s3.properties).items() for part in ("-I", f"{key}={value}")
        ]
        command = [sys.executable, "-m", "nessie_gc_core", "gc", "-u", self.nessie.uri, "--inmemory", "--json"]
        ages = ["--min-age", "PT0S", "--no-age-floor", "--allow", f"s3a://{self.s3.bucket}/rest"]
        run = subprocess.run(
            [*command, *ages, "--engine", "local", *access, *options], capture_output=True, text=True, check=False
        )
        assert run.stdout, run.stderr
        return run.returncode, json.loads(run.stdout)


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[S3Server, NessieServer]]:
    with ExitStack() as stack:
        with skip_or_fail():
            s3 = stack.enter_context(S3Server())
            options = "nessie.catalog.service.s3.default-options"
            properties = {
                "nessie.catalog.default-warehouse": "wh",
                "nessie.catalog.warehouses.wh.location": f"s3://{s3.bucket}/rest",
                f"{options}.endpoint": s3.endpoint,
                f"{options}.path-style-access": "true",
                f"{options}.region": s3.region,
                f"{options}.access-key": "urn:nessie-secret:quarkus:lake-key",
                "lake-key.name": s3.access_key,
                "lake-key.secret": s3.secret_key,
            }
            nessie = stack.enter_context(NessieServer(properties=properties))
        yield s3, nessie


@pytest.fixture
def lake(servers: tuple[S3Server, NessieServer]) -> Lake:
    s3, nessie = servers
    catalog = load_catalog("lake", type="rest", uri=f"{nessie.iceberg_uri}/main", **s3.properties)
    return Lake(s3, nessie, catalog)


def _rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


@pytest.mark.server
def test_only_what_no_reference_needs_leaves_the_bucket(lake: Lake) -> None:
    lake.catalog.create_namespace_if_not_exists("db")
    table = lake.catalog.create_table("db.t", schema=_rows(1).schema)
    table.append(_rows(1, 2))
    table.overwrite(_rows(3))
    before = lake.keys()

    code, dry = lake.gc("-c", "1", "--dry-run")
    assert (0, before) == (code, lake.keys()), dry
    code, report = lake.gc("-c", "1")
    assert 0 == code, report

    gone = before - lake.keys()
    assert gone
    assert dry["would_delete"]["files"] == report["deleted"]["files"] == len(gone)
    assert [3] == lake.catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()
    code, again = lake.gc("-c", "1")
    assert (0, 0) == (code, again["deleted"]["files"])


@pytest.mark.server
def test_what_may_not_be_deleted_is_a_failure_with_its_name(lake: Lake) -> None:
    lake.catalog.create_namespace_if_not_exists("db")
    table = lake.catalog.create_table("db.denied", schema=_rows(1).schema)
    table.append(_rows(1))
    table.overwrite(_rows(2))
    before = lake.keys()

    code, report = lake.gc("-c", "1", properties=lake.s3.read_only_properties)

    assert (1, before) == (code, lake.keys())
    assert report["failed"]["files"] > 0
    assert report["deleted"]["files"] == 0
    assert all(file["path"].startswith("s3") and file["reason"] for file in report["failed_files"])
