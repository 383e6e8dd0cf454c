"""Inventories of the clouds in place of a listing, as :mod:`nessie_gc_core.algorithms.file_list_source` reads them."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import FORMATS, TIME, S3Inventory, Stored, checked, read

from nessie_gc_core.algorithms.file_list_columns import S3, known_name, listed_rows
from nessie_gc_core.algorithms.file_list_source import open_file_list, rows_of_lists
from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model.batches import to_micros

ODD = "wh/a b+c%20 #?=:ü日'&.parquet"


def refused(name: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        checked(name)
    assert 1 == len(str(caught.value).splitlines())
    assert str(name) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("format_", FORMATS)
def test_s04_an_inventory_of_s3_has_the_keys_as_they_are(format_: str, tmp_path: Path) -> None:
    inventory = S3Inventory(folder=tmp_path, format=format_)
    manifest = inventory.write([Stored(ODD)], [Stored("//x/", size=0), Stored("y", modified=None)])
    found = read(manifest)
    assert [(f"s3://b/{ODD}", to_micros(TIME), 7), ("s3://b///x/", to_micros(TIME), 0)] == found[:2]
    assert "s3://b/y" == found[2][0]
    assert open_file_list(str(manifest)).made == TIME


@pytest.mark.parametrize("format_", FORMATS)
def test_only_current_versions_count(format_: str, tmp_path: Path) -> None:
    rows = [
        Stored("old", latest=False),
        Stored("gone", deleted=True),
        Stored("now"),
        Stored("x", latest=False, deleted=True),
    ]
    assert ["s3://b/now"] == [path for path, *_ in read(S3Inventory(folder=tmp_path, format=format_).write(rows))]


@pytest.mark.parametrize("format_", FORMATS)
def test_an_inventory_of_current_versions_has_fewer_columns(format_: str, tmp_path: Path) -> None:
    columns = ("bucket", "key", "last_modified_date")
    manifest = S3Inventory(folder=tmp_path, format=format_).write([Stored("a")], columns=columns)
    assert [("s3://b/a", to_micros(TIME), None)] == read(manifest)


def test_a_folder_with_a_manifest_is_that_inventory_and_one_of_days_its_newest(tmp_path: Path) -> None:
    inventory = S3Inventory(folder=tmp_path)
    inventory.write([Stored("old")], made=TIME - timedelta(days=1))
    newest = inventory.write([Stored("new")])
    (tmp_path / "2026-02-01T00-00Z").mkdir()
    (tmp_path / "hive").mkdir()
    for name in (newest, newest.parent, tmp_path):
        assert ["s3://b/new"] == [path for path, *_ in read(name)]


@given(st.text(min_size=1).filter(lambda key: not any(0xD800 <= ord(character) < 0xE000 for character in key)))
def test_s04_every_key_survives_its_encoding(key: str) -> None:
    from dataclasses import replace
    from urllib.parse import quote, quote_plus

    for encoded in (quote_plus(key), quote_plus(key, safe="/"), quote(key)):
        batch = pa.record_batch({"bucket": ["b"], "key": [encoded], "last_modified_date": [TIME.isoformat()]})
        assert [f"s3://b/{key}"] == listed_rows(batch, replace(S3, encoded=True)).column("path").to_pylist()


def test_the_names_of_columns_in_csv_are_those_of_other_formats() -> None:
    names = ["Bucket", "Key", "VersionId", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate"]
    known = ["bucket", "key", "version_id", "is_latest", "is_delete_marker", "size", "last_modified_date"]
    assert known == [known_name(name) for name in names]


# ---- other clouds ----------------------------------------------------------------------------------------
def test_storage_insights_with_and_without_its_manifest(tmp_path: Path) -> None:
    header = "bucket,name,size,updated,timeDeleted"
    rows = ["b,a%20b,7,2026-01-31T12:00:00.123Z,", "b,c,1,2026-01-31T12:00:00Z,2026-01-31T12:00:00Z"]
    text = "\n".join([header, *rows, ""])
    (tmp_path / "r_0.csv").write_text(text)
    manifest = tmp_path / "r_manifest.json"
    config = {"csv_options": {"header_required": True}}
    said = {"snapshot_time": TIME.isoformat(), "shard_count": 1, "report_shards_file_names": ["r_0.csv"]}
    manifest.write_text(json.dumps({"report_config": config, **said}))
    for name in (manifest, tmp_path / "r_0.csv"):
        assert [("gs://b/a%20b", to_micros(TIME), 7)] == read(name)
    config["csv_options"]["header_required"] = False
    fields = {"object_metadata_report_options": {"metadata_fields": text.split("\n", maxsplit=1)[0].split(",")}}
    (tmp_path / "r_0.csv").write_text(text.split("\n", 1)[1])
    manifest.write_text(json.dumps({"report_config": {**config, **fields}, **said}))
    assert [("gs://b/a%20b", to_micros(TIME), 7)] == read(manifest)


def test_the_inventory_of_azure_is_of_the_account_in_its_manifest(tmp_path: Path) -> None:
    header = "Name,Last-Modified,Content-Length,IsCurrentVersion,Snapshot,Deleted,hdi_isfolder"
    rows = ["c/a b", "c/old", "c/snap", "c/gone", "c/folder"]
    flags = ["true,,,", "false,,,", ",2026-01-31T00:00:00Z,,", ",,true,", ",,,true"]
    lines = [f"{name},2026-01-31T12:00:00.123Z,7,{flag}" for name, flag in zip(rows, flags, strict=True)]
    (tmp_path / "Rule.csv").write_text("\n".join([header, *lines, ""]))
    said = {
        "destinationContainer": "inventories",
        "endpoint": "https://account.blob.core.windows.net",
        "files": [{"blob": "2026/Rule/Rule.csv", "size": (tmp_path / "Rule.csv").stat().st_size}],
        "inventoryStartTime": TIME.isoformat(),
        "ruleDefinition": {"format": "csv", "objectType": "blob"},
        "status": "Succeeded",
    }
    (tmp_path / "Rule-manifest.json").write_text(json.dumps(said))
    expected = ("abfss://c@account.blob.core.windows.net/a b", to_micros(TIME), 7)
    assert [expected] == read(tmp_path / "Rule-manifest.json")
    assert "of which account" in refused(tmp_path / "Rule.csv")


# ---- what is refused --------------------------------------------------------------------------------------
def test_s06_an_inventory_that_lacks_a_part_is_none(tmp_path: Path) -> None:
    manifest = S3Inventory(folder=tmp_path).write([Stored("a")], [Stored("b")])
    part = tmp_path / "data" / "311200-1.csv.gz"
    whole = part.read_bytes()
    part.write_bytes(whole + gzip.compress(b""))
    assert "its manifest says" in refused(manifest)
    part.unlink()
    assert "data/311200-1.csv.gz', which is not there" in refused(manifest)


def test_s06_a_part_that_changes_while_it_is_used_is_no_part(tmp_path: Path) -> None:
    manifest = S3Inventory(folder=tmp_path, format="Parquet").write([Stored("a")], [Stored("b")])
    rows = rows_of_lists([open_file_list(str(manifest))])
    next(rows)
    part = tmp_path / "data" / "311200-1.parquet"
    part.write_bytes(part.read_bytes() + b" ")
    with pytest.raises(ListingError, match="completely"):
        list(rows)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"fileSchema": 3}', b"\xff"])
def test_s27_a_manifest_that_is_not_understood_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(text)
    refused(tmp_path / "manifest.json")


def test_s27_files_of_a_manifest_that_may_be_anywhere_are_refused(tmp_path: Path) -> None:
    manifest = S3Inventory(folder=tmp_path).write([Stored("a")])
    manifest.write_text(manifest.read_text().replace("/all/data/", "/all/../"))
    assert "anywhere" in refused(manifest)


def test_s27_keys_of_which_nobody_says_whether_they_are_encoded_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(f"bucket,key,last_modified_date\nb,a,{TIME.isoformat()}\n")
    assert "URL-encoded or not" in refused(path)
    path = tmp_path / "l.jsonl"
    path.write_text(json.dumps({"bucket": "b", "key": "a", "last_modified_date": TIME.isoformat()}) + "\n")
    assert "URL-encoded or not" in refused(path)


WRONG: list[tuple[dict[str, list[Any]], str]] = [
    ({"bucket": ["b"], "key": ["a"]}, "has no column last_modified_date"),
    ({"bucket": ["b"], "key": ["a"], "last_modified_date": [TIME], "version_id": ["v"]}, "no is_latest"),
    ({"bucket": ["b"], "key": ["a"], "last_modified_date": [1]}, "last_modified_date is int64, expected timestamp"),
    ({"bucket": ["b"], "key": ["a"], "last_modified_date": [TIME], "is_latest": ["true"]}, "expected boolean"),
    ({"bucket": ["b"], "key": ["a"], "last_modified_date": [TIME], "record_type": ["CREATE"]}, "is a journal"),
    ({"bucket": [""], "key": ["a"], "last_modified_date": [TIME]}, "is empty in a row"),
    ({"bucket": ["b", "b"], "key": ["a", None], "last_modified_date": [TIME] * 2}, "is empty in a row"),
    ({"bucket": ["b"], "name": ["a"]}, "has no column updated"),
]


@pytest.mark.parametrize(("columns", "reason"), WRONG)
def test_s27_columns_that_are_not_understood_are_refused(
    columns: dict[str, list[Any]], reason: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "l.parquet")
    assert reason in refused(tmp_path / "l.parquet")


def test_a_list_of_a_bucket_without_versions_needs_not_say_which_are_current(tmp_path: Path) -> None:
    columns = {"bucket": ["b"], "key": ["a"], "last_modified_date": [TIME], "version_id": pa.array([None], pa.string())}
    pq.write_table(pa.table(columns), tmp_path / "l.parquet")
    assert [("s3://b/a", to_micros(TIME), None)] == read(tmp_path / "l.parquet")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('"b","a%2","v","true","false","1","2026-01-31T00:00:00Z","e"', "'a%2' is not URL-encoded"),
        ('"b","a%zz","v","true","false","1","2026-01-31T00:00:00Z","e"', "'a%zz' is not URL-encoded"),
        ('"b","%ff","v","true","false","1","2026-01-31T00:00:00Z","e"', "decode"),
        ('"b","a","v","perhaps","false","1","2026-01-31T00:00:00Z","e"', "'perhaps' is neither true nor false"),
        ('"b","a","v","","false","1","2026-01-31T00:00:00Z","e"', "is_latest is empty"),
        ('"b","a","v","true","false","1","2026-01-31"', "columns"),
        ('"b","a","v","true","false","1","2026-01-31","e"', "is not a time"),
    ],
)
def test_s27_lines_that_are_not_understood_are_refused(line: str, reason: str, tmp_path: Path) -> None:
    manifest = S3Inventory(folder=tmp_path).write([Stored("a")])
    part = tmp_path / "data" / "311200-0.csv.gz"
    part.write_bytes(gzip.compress(f"{line}\n".encode()))
    said = json.loads(manifest.read_text())
    said["files"][0]["size"] = part.stat().st_size
    manifest.write_text(json.dumps(said))
    assert reason in refused(manifest)
