"""The policy files for S3 allow exactly what the calls need: everything that is asked for, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import boto3
import pytest
from noted_requests import recording
from pyiceberg.catalog import load_catalog
from rights_lake import Bucket, RightsLake, expire_snapshots, find, mark, quarantined, sweep
from rights_of_requests import s3_rights

from nessie_gc_core.testing.servers import MotoServer, running

pytestmark = pytest.mark.server
POLICIES = Path(__file__).parents[2] / "examples" / "rights" / "s3"


def noncurrent_versions(lake: RightsLake) -> None:
    found = lake.collect("noncurrent-versions", "--noncurrent-versions", "delete")
    assert 2 == found["deleted"]["files"], found


USES: dict[str, Callable[[RightsLake], None]] = {
    "mark": mark,
    "find": find,
    "sweep": sweep,
    "quarantine-folder": partial(quarantined, use="quarantine-folder", place="s3://lake/held/"),
    "quarantine-tags": partial(quarantined, use="quarantine-tags", place="tags:s3://lake/"),
    "quarantine-versions": partial(quarantined, use="quarantine-versions", place="versions:s3://lake/"),
    "noncurrent-versions": noncurrent_versions,
    "expire-snapshots": expire_snapshots,
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RightsLake]:
    folder = tmp_path_factory.mktemp("lake")
    with running(MotoServer) as server, recording(server.endpoint) as record:
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        client = boto3.client("s3", endpoint_url=server.endpoint, region_name=server.region, **keys)
        client.create_bucket(Bucket="lake")
        uri = f"sqlite:///{folder}/catalog.db"
        properties = {"s3.retry.num-retries": "0", **server.properties}
        with load_catalog("prod", type="sql", uri=uri, warehouse="s3://lake/warehouse", **properties) as catalog:
            lake = RightsLake(
                folder=folder,
                bucket=Bucket(
                    url="s3://lake",
                    put=lambda key, data: client.put_object(Bucket="lake", Key=key, Body=data),
                    delete=lambda key: client.delete_object(Bucket="lake", Key=key),
                    keep_versions=lambda on: client.put_bucket_versioning(
                        Bucket="lake", VersioningConfiguration={"Status": "Enabled" if on else "Suspended"}
                    ),
                ),
                catalog=catalog,
                record=record,
                access={**properties, "s3.endpoint": record.endpoint},
            )
            lake.write(*USES)
            yield lake


def allowed(use: str) -> set[tuple[str, str]]:
    """Each action of a policy file, with what it is allowed on."""
    policy = json.loads((POLICIES / f"{use}.json").read_text(encoding="utf-8"))
    return {
        (action, resource)
        for statement in policy["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def by_folder(arn: str) -> str:
    """The bucket, or the pattern for the folder of an object."""
    bucket, slash, key = arn.partition("/")
    return f"{bucket}/{key.partition('/')[0]}/*" if slash else bucket


@pytest.mark.parametrize("use", USES)
def test_a_policy_allows_what_is_asked_for_and_nothing_else(lake: RightsLake, use: str) -> None:
    lake.bucket.keep_versions("versions" in use)
    lake.record.take()
    USES[use](lake)
    asked = {(action, by_folder(resource)) for action, resource in s3_rights(lake.record.take())}
    assert allowed(use) == asked


def test_every_policy_is_tested() -> None:
    assert {path.stem for path in POLICIES.glob("*.json")} == set(USES)
