from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from nessie_gc_core.algorithms.inventory_manifest import ManifestPart, parse_manifest

S3: dict[str, Any] = {
    "sourceBucket": "lake",
    "destinationBucket": "arn:aws:s3:::inventories",
    "version": "2016-11-30",
    "creationTimestamp": "1769860800123",
    "fileFormat": "CSV",
    "fileSchema": "Bucket, Key, Size, LastModifiedDate",
    "files": [
        {"key": "in/lake/all/data/1.csv.gz", "size": 2147483647, "MD5checksum": "f11166069f1990abeb9c97ace9cdfabc"}
    ],
}
GCS: dict[str, Any] = {
    "report_config": {"csv_options": {"delimiter": ",", "header_required": True}, "display_name": "lake"},
    "records_processed": "5",
    "snapshot_time": "2026-01-31T12:00:00.123Z",
    "shard_count": "2",
    "report_shards_file_names": ["r_0.csv", "r_1.csv"],
}
AZURE: dict[str, Any] = {
    "destinationContainer": "inventories",
    "endpoint": "https://account.blob.core.windows.net",
    "files": [{"blob": "2026/01/31/12-00-00/Rule_1/Rule_1.csv", "size": 12710092}],
    "inventoryCompletionTime": "2026-01-31T13:00:00Z",
    "inventoryStartTime": "2026-01-31T12:00:00.123Z",
    "ruleDefinition": {"format": "csv", "objectType": "blob", "schedule": "daily"},
    "ruleName": "Rule_1",
    "status": "Succeeded",
}
TIME = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)


def parsed(said: dict[str, Any], **changed: Any) -> Any:
    return parse_manifest(json.dumps({**said, **changed}).encode())


def test_the_manifest_of_s3_says_where_its_files_are_in_the_bucket_and_beside_the_manifest() -> None:
    manifest = parsed(S3)
    part = ManifestPart(key="in/lake/all/data/1.csv.gz", beside="../data/1.csv.gz", size=2147483647)
    assert ("inventories", [part], "csv", TIME) == (manifest.bucket, manifest.parts, manifest.format, manifest.made)
    assert (["Bucket", "Key", "Size", "LastModifiedDate"], True) == (manifest.columns, manifest.encoded)


@pytest.mark.parametrize("format_", ["ORC", "Parquet"])
def test_only_keys_in_csv_of_s3_are_encoded(format_: str) -> None:
    manifest = parsed(S3, fileFormat=format_, fileSchema="whatever")
    assert (format_.lower(), None, False) == (manifest.format, manifest.columns, manifest.encoded)


def test_storage_insights_has_its_files_beside_the_manifest() -> None:
    manifest = parsed(GCS)
    assert (None, "csv", TIME, None, False) == (
        manifest.bucket,
        manifest.format,
        manifest.made,
        manifest.columns,
        manifest.encoded,
    )
    assert ["r_0.csv", "r_1.csv"] == [part.beside for part in manifest.parts]
    config = {"csv_options": {}, "object_metadata_report_options": {"metadata_fields": ["bucket", "name", "updated"]}}
    assert ["bucket", "name", "updated"] == parsed(GCS, report_config=config).columns
    assert "parquet" == parsed(GCS, report_config={"parquet_options": {}}).format


def test_azure_says_the_host_of_its_account_and_when_it_began() -> None:
    manifest = parsed(AZURE)
    assert ("inventories", "account.blob.core.windows.net", TIME) == (manifest.bucket, manifest.host, manifest.made)
    assert [("2026/01/31/12-00-00/Rule_1/Rule_1.csv", "Rule_1.csv")] == [(p.key, p.beside) for p in manifest.parts]


@pytest.mark.parametrize(
    ("said", "changed", "reason"),
    [
        ({}, {}, "not the manifest of an inventory"),
        (S3, {"files": []}, "names no files"),
        (S3, {"fileFormat": "Avro"}, "'Avro'; expected csv, orc, parquet"),
        (S3, {"creationTimestamp": "yesterday"}, "yesterday"),
        (S3, {"creationTimestamp": str(10**30)}, "not understood"),
        (S3, {"files": [{"key": "a/b"}]}, "it lacks 'size'"),
        (S3, {"files": [{"key": "a/b", "size": "1"}]}, "'1' is not the size"),
        (S3, {"files": 3}, "not understood"),
        (GCS, {"shard_count": "3"}, "names 2 files, and says that there are 3"),
        (GCS, {"report_config": {"csv_options": {"delimiter": ";"}}}, "';'"),
        (GCS, {"report_config": {"csv_options": {}}}, "lacks 'object_metadata_report_options'"),
        (GCS, {"snapshot_time": "at noon"}, "at noon"),
        (AZURE, {"status": "Pending"}, "Pending"),
        (AZURE, {"endpoint": "https://a/b@c"}, "endpoint"),
        (AZURE, {"ruleDefinition": {"format": "csv", "objectType": "container"}}, "container"),
    ],
)
def test_s27_what_is_not_understood_is_refused(said: dict[str, Any], changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parsed(said, **changed)
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"[]", b"3", b"\xff", b'{"fileSchema"'])
def test_s27_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"manifest|JSON|decode|Expecting"):
        parse_manifest(text)


def test_a_manifest_that_is_nested_too_deeply_is_not_understood() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_manifest(b"[" * 100_000)
