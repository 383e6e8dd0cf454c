"""Which hosts a location may name (S28)."""

from __future__ import annotations

import pytest

from nessie_gc_core.model.hosts import TRUSTED_HOSTS, host_refusal, is_azure

EMULATOR = "DefaultEndpointsProtocol=http;AccountName=dev;AccountKey=a==;BlobEndpoint=http://127.0.0.1:10000/dev;"


@pytest.mark.parametrize(
    "location",
    [
        "/wh/t/",
        "file:///wh/t/",
        "s3://lake/t/",
        "s3a://a_bucket.with-dots.1/t/",
        "gs://lake/t/",
        "abfss://c@account.dfs.core.windows.net/t/",
        "ABFSS://c@Account.DFS.core.windows.net/t/",
        "wasbs://$root@account.blob.core.windows.net/",
        "abfs://c@account.dfs.core.chinacloudapi.cn/t/",
        "abfs://c@account.dfs.core.usgovcloudapi.net/t/",
        "abfs://c@account.dfs.core.cloudapi.de/t/",
        "abfs://c@account.z07.dfs.storage.azure.net/t/",
        "abfs://c@account.privatelink.dfs.core.windows.net/t/",
        "abfss://a workspace@onelake.dfs.fabric.microsoft.com/t/",
        "abfs://c/t/",
        "hdfs:/wh/t",
        "hdfs:///wh/t",
    ],
)
def test_buckets_and_the_hosts_of_clouds_need_no_configuration(location: str) -> None:
    assert host_refusal(location, {}) is None


@pytest.mark.parametrize(
    "location",
    [
        "abfss://c@account/t/",
        "abfss://c@account.dfs.evil.example/t/",
        "abfss://c@dfs.core.windows.net/t/",
        "abfss://c@account.table.core.windows.net/t/",
        "abfss://c@account.dfs.core.windows.net./t/",
        "abfss://c@account.dfs.core.windows.net\\.evil.example/t/",
        "abfss://c@account.dfs.core.windows.net%2eevil.example/t/",
        "abfss://c@account.dfs.core.windows。net/t/",
        "abfss://c?@account.dfs.core.windows.net/t/",
        "abfss://../t/",
        "abfss://@account.dfs.core.windows.net/t/",
        "abfss://c@/t/",
        "s3:///t/",
        "s3:/t/",
        "s3://a b/t/",
        "s3://a\n.evil.example/t/",
        "s3://a..b/t/",
        "s3://-/t/",
        "hdfs://namenode/t/",
        "http://evil.example/t/",
    ],
)
def test_any_other_host_is_refused_in_one_line(location: str) -> None:
    refusal = host_refusal(location, {})
    assert refusal is not None
    assert 1 == len(refusal.splitlines())


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        ("abfss://c@lake.corp.example/t/", {"adls.account-host": "lake.corp.example"}),
        ("abfss://c@lake.corp.example/t/", {"adls.sas-token.lake.corp.example": "secret"}),
        ("abfss://c@lake.corp.example/t/", {"adls.connection-string.Lake.corp.example": "BlobEndpoint=x"}),
        ("abfss://c@lake.corp.example:444/t/", {TRUSTED_HOSTS: "nn:8020, Lake.corp.example:444"}),
        ("abfss://c@127.0.0.1:10000/t/", {"adls.connection-string": EMULATOR}),
        ("abfss://c@dev/t/", {"adls.connection-string": EMULATOR}),
        ("abfss://c@dev/t/", {"adls.account-host": "127.0.0.1:10000", "adls.account-name": "dev"}),
        (
            "abfss://c@our.dfs.stack.example/t/",
            {"adls.connection-string": "AccountName=our;EndpointSuffix=stack.example"},
        ),
        ("hdfs://nn.corp.example/t/", {"hdfs.host": "nn.corp.example"}),
        ("hdfs://nn.corp.example:8020/t/", {"hdfs.host": "nn.corp.example"}),
        ("hdfs://nn.corp.example:9000/t/", {"hdfs.host": "nn.corp.example", "hdfs.port": "9000"}),
        ("mine://cluster-1/t/", {TRUSTED_HOSTS: "cluster-1"}),
        ("sftp://Files.corp.example/t/", {"fsspec.sftp": '{"host": "files.Corp.example"}'}),
        ("sftp://files.corp.example:2222/t/", {"fsspec.sftp": '{"host": "files.corp.example", "port": 2222}'}),
        ("ssh://files.corp.example/t/", {"fsspec.ssh": '{"host": "files.corp.example"}'}),
        ("tos://bucket/t/", {}),
        ("oci://bucket@namespace/t/", {}),
    ],
)
def test_a_host_of_the_configuration_is_trusted(location: str, properties: dict[str, str]) -> None:
    assert host_refusal(location, properties) is None


@pytest.mark.parametrize(
    ("properties", "is_sent"),
    [
        ({"adls.sas-token": "secret"}, False),
        ({"adls.sas-token": "secret", "adls.sas-token.ours": "secret"}, False),
        ({"adls.sas-token.account": "secret", "adls.sas-token": "other"}, True),
        ({"adls.sas-token": "secret", "adls.account-name": "account"}, True),
        ({"adls.sas-token": "secret", "adls.account-host": "account.blob.core.windows.net"}, True),
        ({"adls.account-key": "secret"}, True),
    ],
)
def test_s28_a_token_goes_to_the_account_that_it_is_for(properties: dict[str, str], is_sent: bool) -> None:
    refusal = host_refusal("abfss://c@account.dfs.core.windows.net/t/", properties)
    assert is_sent is (refusal is None)
    assert "secret" not in (refusal or "")


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        ("abfss://c@lake.corp.example:444/t/", {"adls.account-host": "lake.corp.example"}),
        ("abfss://c@x.lake.corp.example/t/", {"adls.account-host": "lake.corp.example"}),
        ("abfss://c@account/t/", {"adls.account-name": "account"}),
        ("abfss://c@account/t/", {"adls.sas-token.account": "secret"}),
        ("hdfs://nn.corp.example:1/t/", {"hdfs.host": "nn.corp.example"}),
        ("sftp://files.corp.example:1/t/", {"fsspec.sftp": '{"host": "files.corp.example", "password": "secret"}'}),
        ("sftp://x@files.corp.example/t/", {"fsspec.sftp": '{"host": "files.corp.example", "password": "secret"}'}),
        ("sftp://files.corp.example@evil.example/t/", {"fsspec.sftp": '{"host": "files.corp.example"}'}),
        ("ftp://files.corp.example/t/", {"fsspec.sftp": '{"host": "files.corp.example", "password": "secret"}'}),
        ("sftp://files.corp.example/t/", {"fsspec.sftp": '{"password": "secret"'}),
        ("sftp://files.corp.example/t/", {"fsspec.sftp": '"secret"'}),
        ("oci://bucket@evil.example/t/", {}),
    ],
)
def test_only_exactly_that_host(location: str, properties: dict[str, str]) -> None:
    refusal = host_refusal(location, properties)
    assert refusal is not None
    assert "secret" not in refusal


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("account.blob.core.windows.net", True),
        ("Account.DFS.core.windows.net", True),
        ("onelake.blob.fabric.microsoft.com", True),
        ("account.z07.blob.storage.azure.net", True),
        ("account.blob.core.windows.net:443", False),
        ("account.blob.core.windows.net.evil.example", False),
        ("account.blob.core.windows.net\n", False),
        ("127.0.0.1", False),
        ("", False),
    ],
)
def test_only_names_that_azure_gives_out_are_azures(host: str, expected: bool) -> None:
    assert expected is is_azure(host)
