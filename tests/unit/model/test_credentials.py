"""Of what a server says of storage, credentials are taken over, and nothing else (S28)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nessie_gc_core.model.credentials import StorageCredential

KEYS = {"s3.access-key-id": "key", "s3.secret-access-key": "secret"}
TOKEN = "ya29.a0AfH6SMBx-token_of_google"


def one(config: dict[str, str], prefix: str | None = None) -> StorageCredential:
    (found,) = StorageCredential.parse(prefix, config)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "s3.endpoint",
        "s3.proxy-uri",
        "s3.profile-name",
        "s3.anonymous",
        "s3.role-arn",
        "s3.signer",
        "s3.signer.uri",
        "s3.path-style-access",
        "client.role-arn",
        "client.credentials-provider",
        "py-io-impl",
        "io-impl",
        "credential-process",
        "gcs.service.host",
        "gcs.session-kwargs",
        "adls.account-host",
        "adls.connection-string",
        "adls.connection-string.account",
        "nessie-gc.trusted-hosts",
        "fsspec.s3",
    ],
)
def test_s28_nothing_but_credentials_is_taken_over(name: str) -> None:
    assert KEYS == one({**KEYS, name: "http://evil.example"}).properties
    assert [] == StorageCredential.parse(None, {name: "http://evil.example"})


def test_a_token_and_a_region_belong_to_the_keys_of_s3() -> None:
    config = {**KEYS, "s3.session-token": "token", "client.region": "eu-central-1"}
    assert {**KEYS, "s3.session-token": "token", "s3.region": "eu-central-1"} == one(config).properties


def test_the_names_of_the_java_client_are_understood() -> None:
    config = {"client.access-key-id": "key", "client.secret-access-key": "secret", "client.session-token": "token"}
    assert {**KEYS, "s3.session-token": "token"} == one(config).properties


@pytest.mark.parametrize("region", ["eu.evil.example", "evil.example/", "-eu", "EU", "", "x@evil"])
def test_s28_a_region_that_would_be_another_host_is_left_out(region: str) -> None:
    assert KEYS == one({**KEYS, "s3.region": region}).properties


@pytest.mark.parametrize(
    "config",
    [
        {"s3.access-key-id": "key"},
        {"s3.secret-access-key": "secret", "s3.session-token": "token"},
        {**KEYS, "s3.access-key-id": ""},
        {**KEYS, "s3.session-token": "token\r\nHost: evil.example"},
        {**KEYS, "s3.secret-access-key": "se cret"},
    ],
)
def test_half_of_the_keys_and_what_no_header_carries_is_nothing(config: dict[str, str]) -> None:
    assert [] == StorageCredential.parse(None, config)


@pytest.mark.parametrize("token", ["/etc/gc/service-account.json", "~/key.json", "google_default", "cache", "", "a b"])
def test_s28_a_token_of_google_is_no_file_and_no_way_to_sign_in(token: str) -> None:
    assert [] == StorageCredential.parse(None, {"gcs.oauth2.token": token})
    assert {"gcs.oauth2.token": TOKEN} == one({"gcs.oauth2.token": TOKEN}).properties


@pytest.mark.parametrize("owner", ["evil.example", "account.dfs.evil.example", "", "a", "Account", "x.y"])
def test_s28_a_token_of_azure_makes_no_host_a_known_one(owner: str) -> None:
    assert [] == StorageCredential.parse(None, {f"adls.sas-token.{owner}": "sig=1"})


@pytest.mark.parametrize("owner", ["account", "account.dfs.core.windows.net", "account.blob.core.windows.net"])
def test_a_token_of_azure_is_for_one_account(owner: str) -> None:
    found = one({f"adls.sas-token.{owner}": "sig=1", "adls.sas-token": "sig=2"})
    assert {f"adls.sas-token.{owner}": "sig=1"} == found.properties


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (KEYS, "s3.session-token-expires-at-ms"),
        ({"gcs.oauth2.token": TOKEN}, "gcs.oauth2.token-expires-at"),
        ({"adls.sas-token.account": "sig=1"}, "adls.sas-token-expires-at-ms.account"),
    ],
)
def test_they_expire_when_the_server_says_so(config: dict[str, str], name: str) -> None:
    assert datetime(2026, 1, 1, tzinfo=UTC) == one({**config, name: "1767225600000"}).expires
    assert None is one(config).expires
    assert None is one({**config, name: "tomorrow"}).expires


@pytest.mark.parametrize(
    ("prefix", "location", "covered"),
    [
        ("s3", "s3://lake/wh/t/", True),
        ("s3", "s3a://lake/wh/t/a", True),
        ("s3", "gs://lake/wh/t/", False),
        ("s3://lake/wh/t", "s3://lake/wh/t/", True),
        ("s3://lake/wh/t", "s3n://lake/wh/t/data/a", True),
        ("s3://lake/wh/t/", "s3://lake/wh/t", True),
        ("s3://lake/wh/t", "s3://lake/wh/t2/", False),
        ("s3://lake/wh/t", "s3://lake/wh/", False),
        ("s3://lake/wh/t", "s3://lake2/wh/t/", False),
    ],
)
def test_s02_a_prefix_ends_at_a_slash(prefix: str, location: str, covered: bool) -> None:
    assert covered == one(KEYS, prefix).covers(location)


def test_what_is_for_another_kind_of_store_than_its_prefix_is_left_out() -> None:
    assert [] == StorageCredential.parse("gs", KEYS)
    assert not one(KEYS, "gs://lake/").covers("gs://lake/t/")


def test_s28_credentials_are_not_shown() -> None:
    assert "secret" not in repr(one(KEYS))
