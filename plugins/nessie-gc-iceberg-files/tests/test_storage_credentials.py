"""Other credentials for some places, and credentials that run out during a run."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime

import pytest
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.places import place_of
from nessie_gc_iceberg_files.s3_store import S3Store
from nessie_gc_iceberg_files.storage_credentials import STORAGE_CREDENTIALS, StorageCredentials

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import DeleteOutcome, FileReference

OURS = {"s3.access-key-id": "ours", "s3.secret-access-key": "our-secret", "s3.session-token": "our-token"}
THEIRS = {"s3.access-key-id": "theirs", "s3.secret-access-key": "their-secret"}


def having(*entries, **properties):
    listed = [{"prefix": prefix, "config": config} for prefix, config in entries]
    return {**properties, STORAGE_CREDENTIALS: json.dumps(listed)}


def at(properties, path):
    return StorageCredentials(properties).at(place_of(path))


def test_the_longest_prefix_that_ends_at_a_slash_counts():
    region = {"s3.region": "eu-central-1"}
    deep = {"s3.access-key-id": "deep", "s3.secret-access-key": "s"}
    properties = having(
        ("s3://lake/wh/t", THEIRS), ("s3://lake/wh/t/deep/", deep), ("s3://other", deep), **OURS, **region
    )
    assert {**THEIRS, **region} == at(properties, "s3://lake/wh/t/data/f")
    assert {**THEIRS, **region} == at(properties, "s3a://lake/wh/t/")
    assert {**deep, **region} == at(properties, "s3://lake/wh/t/deep/f")
    assert {**deep, **region} == at(properties, "s3://other/f")
    for path in ("s3://lake/wh/t2/f", "s3://lake/wh/f", "s3://lake2/wh/t/f", "gs://lake/wh/t/f", "/lake/wh/t/f"):
        assert {**OURS, **region} == at(properties, path)


def test_other_properties_of_a_place_leave_the_credentials_as_they_are():
    properties = having(("s3://other/", {"s3.region": "us-west-2"}), **OURS)
    assert {**OURS, "s3.region": "us-west-2"} == at(properties, "s3://other/f")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{hidden", "not valid JSON"),
        ("{}", "not a list"),
        ('[{"prefix": "s3://a/"}]', "entry 1 does not consist of"),
        ('[{"prefix": "s3://a/", "config": {"s3.access-key-id": 1}}]', "config of entry 1"),
        ('[{"prefix": "a/b", "config": {}}]', "'a/b', is not a location"),
        ('[{"prefix": "file:///a/", "config": {}}]', "'file:///a/', is not on S3"),
        ('[{"prefix": "s3://a/", "config": {"py-io-impl": "hidden"}}]', "'py-io-impl', which is not a property"),
    ],
)
def test_a_list_of_another_form_is_refused_without_its_secrets(text, reason):
    with pytest.raises(ConfigurationError, match=re.escape(reason)) as caught:
        IcebergFileLister.from_options({"properties": {STORAGE_CREDENTIALS: text}})
    assert "hidden" not in str(caught.value)


@pytest.mark.server
def test_each_place_is_reached_with_its_own_credentials(s3_server):
    server = s3_server
    writer = {name: server.properties[name] for name in ("s3.access-key-id", "s3.secret-access-key")}
    store = S3Store("lake", server.properties)
    for table in ("ours", "ours2"):
        store._client.put_object(Bucket="lake", Key=f"by-prefix/{table}/f", Body=b"x")
    store.close()
    properties = having(("s3://lake/by-prefix/ours", writer), **server.read_only_properties)
    with IcebergFileDeleter.from_options({"properties": properties}) as deleter:
        for table, expected in (("ours", "DELETED"), ("ours2", "FAILED")):
            location = f"s3://lake/by-prefix/{table}/"
            (outcome,) = deleter.delete_files(location, [FileReference(location=location, path="f", size=1)])
            assert expected == str(outcome.status), outcome.reason
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        assert ["ours2/f"] == [file.path for file in lister.list_files("s3://lake/by-prefix/")]


PROCESS = """
import json, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
counted = Path(sys.argv[1])
number = len(counted.read_text()) if counted.exists() else 0
counted.write_text("x" * (number + 1))
ends = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
print(json.dumps({"Version": 1, "AccessKeyId": sys.argv[2], "SecretAccessKey": sys.argv[3], "Expiration": ends}))
"""


@pytest.mark.server
def test_credentials_that_run_out_are_fetched_anew_during_a_run(s3_server, tmp_path, monkeypatch):
    program, counted, config = tmp_path / "credentials.py", tmp_path / "counted", tmp_path / "config"
    program.write_text(PROCESS)
    keys = f"{s3_server.access_key} {s3_server.secret_key}"
    config.write_text(f"[profile gc]\ncredential_process = {sys.executable} {program} {counted} {keys}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    properties = {
        "s3.endpoint": s3_server.endpoint,
        "s3.region": s3_server.region,
        "s3.profile-name": "gc",
    }
    location = "s3://lake/refreshed/"
    with IcebergFileDeleter.from_options({"properties": properties}) as deleter:
        began = datetime.now(UTC)
        outcomes: list[DeleteOutcome] = []
        while (datetime.now(UTC) - began).total_seconds() < 3:
            outcomes += deleter.delete_files(location, [FileReference(location=location, path="f", size=1)])
    assert {"DELETED"} == {str(outcome.status) for outcome in outcomes}
    assert 2 <= len(counted.read_text())
