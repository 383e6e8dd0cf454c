"""The policy files for S3 allow exactly what the calls need: a server obeys them, and a proxy notes every request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from noted_requests import recording
from pyiceberg.catalog import load_catalog
from rights_lake import Bucket, RightsLake, expire_snapshots, find, mark, quarantined, sweep
from rights_of_requests import s3_rights
from store_accounts import StoreAccounts

from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.s3 import S3Server

pytestmark = pytest.mark.server
POLICIES = Path(__file__).parents[2] / "examples" / "rights" / "s3"
SWEEP = ("s3:DeleteObject", "s3:GetObject", "s3:ListBucket")
"""Without these, a sweep cannot do its work."""

PAIR = "pair"
"""The table that one account marks and another one sweeps."""
ALL_RIGHTS = "docs/how-to/rights.md has all rights, and policies with them"
UNKNOWN_HERE = ("s3:GetLifecycleConfiguration",)
"""Rights that this server has not, and so cannot grant; without this one there is a warning."""


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


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """A lake on a server that obeys policies of IAM."""

    lake: RightsLake
    server: S3Server

    def client(self, service: str) -> Any:
        """Of the administrator."""
        keys = {"aws_access_key_id": self.server.access_key, "aws_secret_access_key": self.server.secret_key}
        return boto3.client(service, endpoint_url=self.server.endpoint, region_name=self.server.region, **keys)

    def with_policy(self, name: str, policy: Mapping[str, Any]) -> Mapping[str, str]:
        """Properties of a new account with a policy, by the address of the proxy."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(reduced(policy, *UNKNOWN_HERE)))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {
            **self.server.properties,
            "s3.endpoint": self.lake.record.endpoint,
            "s3.access-key-id": key["AccessKeyId"],
            "s3.secret-access-key": key["SecretAccessKey"],
            "s3.retry.num-retries": "0",
        }


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accounts]:
    folder = tmp_path_factory.mktemp("lake")
    uri = f"sqlite:///{folder}/catalog.db"
    with (
        running(lambda: S3Server(makes_users=True)) as server,
        recording(server.endpoint) as record,
        load_catalog("prod", type="sql", uri=uri, warehouse="s3://lake/warehouse", **server.properties) as catalog,
    ):
        keys = {"aws_access_key_id": server.access_key, "aws_secret_access_key": server.secret_key}
        client = boto3.client("s3", endpoint_url=server.endpoint, region_name=server.region, **keys)
        bucket = Bucket(
            url="s3://lake",
            put=lambda key, data: client.put_object(Bucket="lake", Key=key, Body=data),
            delete=lambda key: client.delete_object(Bucket="lake", Key=key),
            keep_versions=lambda on: client.put_bucket_versioning(
                Bucket="lake", VersioningConfiguration={"Status": "Enabled" if on else "Suspended"}
            ),
        )
        lake = RightsLake(folder=folder, bucket=bucket, catalog=catalog, record=record)
        lake.write(*USES, PAIR, *(without(right) for right in SWEEP))
        yield Accounts(lake=lake, server=server)


def policy(use: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((POLICIES / f"{use}.json").read_text(encoding="utf-8"))
    return found


def allowed(use: str) -> set[tuple[str, str]]:
    """Each action of a policy file, with what it is allowed on."""
    return {
        (action, resource)
        for statement in policy(use)["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def by_folder(arn: str) -> str:
    """The bucket, or the pattern for the folder of an object."""
    bucket, slash, key = arn.partition("/")
    return f"{bucket}/{key.partition('/')[0]}/*" if slash else bucket


def without(right: str) -> str:
    """The name of the table and the account for a sweep that lacks a right."""
    return f"without-{right.removeprefix('s3:')}"


def reduced(policy: Mapping[str, Any], *rights: str) -> Mapping[str, Any]:
    """A policy that does not allow some actions."""
    kept = [
        {**each, "Action": [action for action in each["Action"] if action not in rights]}
        for each in policy["Statement"]
    ]
    return {**policy, "Statement": [each for each in kept if each["Action"]]}


@pytest.mark.parametrize("use", USES)
def test_an_account_with_a_policy_can_do_its_work_and_asks_for_nothing_else(accounts: Accounts, use: str) -> None:
    lake = accounts.lake
    lake.log_in(accounts.with_policy(use, policy(use)))
    lake.bucket.keep_versions(on="versions" in use)
    lake.record.take()
    USES[use](lake)
    asked = {(action, by_folder(resource)) for action, resource in s3_rights(lake.record.take())}
    assert allowed(use) == asked


def check(lake: RightsLake, use: str, *, fails: bool) -> list[dict[str, Any]]:
    """The checks of an account that fail."""
    place = f"s3://lake/warehouse/db/{use.replace('-', '_')}"
    found = lake.run("check", "--allow", place, exit_code=int(fails))["checks"]
    (listed,) = (each for each in found if each["name"] == place)
    assert not listed["passed"] or listed["detail"].endswith("; not tried: deleting")
    return [each for each in found if not each["passed"]]


@pytest.mark.parametrize("right", SWEEP)
def test_s06_without_a_right_nothing_is_deleted_and_the_right_is_named(accounts: Accounts, right: str) -> None:
    lake, name = accounts.lake, without(right)
    lake.log_in(accounts.with_policy(name, reduced(policy("sweep"), right)))
    checks = {each["name"]: each["detail"] for each in check(lake, name, fails=right != "s3:DeleteObject")}
    assert all(f"; grant {right}; " in said and said.endswith(ALL_RIGHTS) for said in checks.values()), checks
    report = lake.collect(name, exit_code=1)
    assert 0 == report["deleted"]["files"]
    said = [each["reason"] for field in ("unknown", "unreadable", "failed_files") for each in report[field]]
    assert any(f"; grant {right}" in reason for reason in said), said


def test_mark_and_sweep_have_different_accounts_in_the_storage_and_in_the_database(
    accounts: Accounts, store_accounts: StoreAccounts
) -> None:
    """The live set of one is swept by the other, which cannot make one."""
    lake = accounts.lake
    marking, sweeping = (accounts.with_policy(f"{use}-only", policy(use)) for use in ("mark", "sweep"))
    lake.bucket.keep_versions(on=False)
    lake.log_in(marking, store_accounts.url("nessie_gc_mark"))
    live_set = ("--live-set-id", lake.run("mark")["live_set_id"])
    refused = lake.collect(PAIR, *live_set, command="sweep", exit_code=1)
    assert "permission denied for table nessie_gc_" in refused["error"]
    lake.log_in(sweeping, store_accounts.url("nessie_gc_sweep"))
    assert "permission denied for table nessie_gc_live_sets" in lake.run("mark", exit_code=1)["error"]
    assert 2 == lake.collect(PAIR, *live_set, command="sweep")["deleted"]["files"]


def test_every_policy_is_tested() -> None:
    assert {path.stem for path in POLICIES.glob("*.json")} == set(USES)
