"""The policy files for S3 allow exactly what the calls need: a server obeys them, and a proxy notes every request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from noted_requests import recording
from pyiceberg.catalog import load_catalog
from rights_lake import (
    Bucket,
    RightsLake,
    autotag,
    delete_unreferenced,
    expire_on_nessie,
    expire_snapshots,
    find,
    identify,
    mark,
    nessie_of,
    quarantined,
    sweep,
)
from s3_accounts import POLICIES, account, allowed, asked_for, client, policy, reduced
from store_accounts import StoreAccounts

from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.s3 import S3Server

pytestmark = pytest.mark.server
SWEEP = ("s3:DeleteObject", "s3:GetObject", "s3:ListBucket")
"""Without these, a sweep cannot do its work."""

VERSIONING = "s3:GetBucketVersioning"
PAIR = "pair"
"""The table that one account marks and another one sweeps."""
ON_SPARK = "write"
"""The use that only `test_rights_on_spark.py` tests."""
ALL_RIGHTS = "docs/how-to/rights.md has all rights, and policies with them"


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
    "identify": identify,
    "delete-unreferenced": delete_unreferenced,
    "expire-snapshots": expire_snapshots,
    "expire-on-nessie": expire_on_nessie,
    "autotag": autotag,
}


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """A lake on a server that obeys policies of IAM."""

    lake: RightsLake
    server: S3Server

    def with_policy(self, name: str, policy: Mapping[str, Any]) -> Mapping[str, str]:
        """Properties of a new account with a policy, by the address of the proxy."""
        return account(self.server, self.lake.record.endpoint, name, policy)


@pytest.fixture(scope="module")
def accounts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accounts]:
    folder = tmp_path_factory.mktemp("lake")
    uri = f"sqlite:///{folder}/catalog.db"
    with (
        running(lambda: S3Server(makes_users=True)) as server,
        recording(server.endpoint) as record,
        load_catalog("prod", type="sql", uri=uri, warehouse="s3://lake/warehouse", **server.properties) as catalog,
    ):
        s3 = client(server, "s3")
        bucket = Bucket(
            url="s3://lake",
            put=lambda key, data: s3.put_object(Bucket="lake", Key=key, Body=data),
            delete=lambda key: s3.delete_object(Bucket="lake", Key=key),
            keep_versions=lambda on: s3.put_bucket_versioning(
                Bucket="lake", VersioningConfiguration={"Status": "Enabled" if on else "Suspended"}
            ),
        )
        lake = RightsLake(folder=folder, bucket=bucket, catalog=catalog, record=record, nessie=nessie_of(request))
        lake.write(*USES, PAIR, *(without(right) for right in (*SWEEP, VERSIONING)))
        yield Accounts(lake=lake, server=server)


def without(right: str) -> str:
    """The name of the table and the account for a sweep that lacks a right."""
    return f"without-{right.removeprefix('s3:')}"


@pytest.mark.parametrize("use", USES)
def test_an_account_with_a_policy_can_do_its_work_and_asks_for_nothing_else(accounts: Accounts, use: str) -> None:
    lake = accounts.lake
    lake.log_in(accounts.with_policy(use, policy(use)))
    lake.bucket.keep_versions(on="versions" in use)
    lake.record.take()
    USES[use](lake)
    assert allowed(use) == asked_for(lake.record.take())


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


def test_a_sweep_needs_no_answer_about_versions(accounts: Accounts) -> None:
    name = without(VERSIONING)
    accounts.lake.log_in(accounts.with_policy(name, reduced(policy("sweep"), VERSIONING)))
    assert 2 == accounts.lake.collect(name)["deleted"]["files"]


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


@pytest.mark.parametrize("use", [*USES, ON_SPARK])
def test_a_policy_has_no_statement_that_iam_refuses(use: str) -> None:
    """It refuses one without actions; the server of these tests does not."""
    for statement in policy(use)["Statement"]:
        assert statement["Action"]
        assert statement["Resource"]


def test_every_policy_is_tested() -> None:
    assert {path.stem for path in POLICIES.glob("*.json")} == {*USES, ON_SPARK}
