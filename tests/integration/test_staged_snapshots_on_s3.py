"""S25 on a real object store: a snapshot that was staged for an audit stays, and what nobody needs goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from catalogs_on_s3 import collect, rows
from pyiceberg.catalog import Catalog

from nessie_gc_core.testing.servers.s3 import S3Server


def stage_last(catalog: Catalog, bucket: Any, name: str) -> str:
    """Makes the newest snapshot of a table one that is staged, as write-audit-publish does; its manifest list's key."""
    table = catalog.load_table(name)
    key = table.metadata_location.removeprefix("s3://lake/")
    metadata = json.loads(bucket.Object(key).get()["Body"].read())
    *_, before, staged = sorted(metadata["snapshots"], key=lambda snapshot: snapshot["sequence-number"])
    staged["summary"]["wap.id"] = "audit-me"
    metadata["current-snapshot-id"] = before["snapshot-id"]
    metadata["refs"]["main"]["snapshot-id"] = before["snapshot-id"]
    metadata["snapshot-log"] = [e for e in metadata["snapshot-log"] if e["snapshot-id"] != staged["snapshot-id"]]
    bucket.Object(f"{key}.v2.metadata.json").put(Body=json.dumps(metadata).encode())
    catalog.drop_table(name)
    catalog.register_table(name, f"s3://lake/{key}.v2.metadata.json")
    return str(staged["manifest-list"]).removeprefix("s3://lake/")


@pytest.mark.server
@pytest.mark.parametrize("given_up", [False, True])
def test_s25_a_staged_snapshot_stays_unless_an_option_gives_it_up(
    s3: S3Server, bucket: Any, catalog: Catalog, tmp_path: Path, *, given_up: bool
) -> None:
    """The policy keeps the head only, and the catalog's connector is told to give up what is merely listed."""
    table = catalog.create_table("db.t", rows(1).schema, location="s3://lake/wh/db/t")
    for number in range(3):
        table.append(rows(number))
    old = table.metadata.snapshots[0].manifest_list.removeprefix("s3://lake/")
    staged = stage_last(catalog, bucket, "db.t")
    option = ["--connector-option", "content-to-files:iceberg:ignore_staged_snapshots=true"] if given_up else []

    report = collect(s3, tmp_path, "local", "-c", "1", *option, settings="keep_listed_snapshots = false")

    left = {found.key for found in bucket.objects.all()}
    assert (False, not given_up) == (old in left, staged in left)
    assert 0 == report["exit_code"]
    assert catalog.load_table("db.t").scan().to_arrow().num_rows == 2
