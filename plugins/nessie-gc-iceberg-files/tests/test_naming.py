"""What a metadata file names is known as long as it is JSON, of whatever format version (S6)."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from iceberg_lake import Table
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model import ICEBERG_TABLE

FUTURE = {
    "format-version": 9,
    "location": "s3://lake/wh/t",
    "properties": {"write.data.path": "s3a://lake/other", "comment": "see a/b and s3 things", "count": 7},
    "layers": [["/local/file"], {"gs://bucket/as/a/key": None}],
}
NAMED = {"s3://lake/wh/t", "s3a://lake/other", "/local/file", "gs://bucket/as/a/key"}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_s06_metadata_of_an_unknown_version_names_its_places(reader, put, version_of, pack):
    path = put("v9.metadata.json", pack(json.dumps(FUTURE).encode()))
    with pytest.raises(UnreadableFileError, match="format version"):
        list(reader.files(version_of(path)))
    assert NAMED <= set(reader.named_places(version_of(path)))
    assert not any(place.startswith(("a/b", "/b")) for place in reader.named_places(version_of(path)))


@pytest.mark.parametrize("data", [b"", b"{", b"\x1f\x8b broken", b"AGS1 encrypted", b'{"location": "s3://lake/w'])
def test_s06_what_is_no_json_names_nothing(reader, put, version_of, data):
    path = put("v1.metadata.json", data)
    assert reader.named_places(version_of(path)) is None


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("s3://b/t/metadata/00000-3fa85f64-5717-4562-b3fc-2c963f66afa6.metadata.json", "s3://b/t/"),
        ("t/metadata/123456-3fa85f64.gz.metadata.json", "t/"),
        ("metadata/00012-3fa85f64.metadata.json.gz", ""),
        ("t/metadata/metadata/00012-3fa85f64.metadata.json", "t/metadata/"),
        ("t/metadata/v1.metadata.json", None),  # a table that no catalog has: its path is what holds it
        ("t/metadata/00001-3fa85f64.metadata.json.crc", None),
        ("t/metadata/more/00001-3fa85f64.metadata.json", None),
        ("t/data/00001-3fa85f64.metadata.json", None),
    ],
)
def test_s20_only_what_a_catalog_calls_its_metadata_shows_a_table(path: str, location: str | None) -> None:
    assert IcebergContentToFiles.stored_names.keys() == {ICEBERG_TABLE}  # a view may live where no catalog lists it
    assert IcebergContentToFiles.stored_names[ICEBERG_TABLE].base_location(path) == location


@pytest.mark.parametrize(
    ("path", "of_others"),
    [
        ("inside/metadata/v12.metadata.json", True),
        ("metadata/v12.gz.metadata.json", True),
        ("metadata/00001-3fa85f64.metadata.json", False),
        ("data/v1.parquet", False),
    ],
)
def test_s20_tables_without_a_catalog_show_by_their_names(path: str, of_others: bool) -> None:
    pattern = IcebergContentToFiles.stored_names[ICEBERG_TABLE].of_others
    assert (re.fullmatch(pattern, path) is not None) == of_others


@pytest.mark.parametrize(
    ("value", "is_kept"), [("false", True), ("FALSE", True), ("0", True), ("true", False), (None, False)]
)
def test_s20_a_table_says_that_others_keep_its_files(reader, put, version_of, value: str | None, is_kept: bool) -> None:
    properties = {} if value is None else {"properties": {"gc.enabled": value}}
    path = put("v1.metadata.json", Table("/wh/t", extra=properties).bytes())
    assert (reader.kept_by_others(version_of(path)) is not None) == is_kept
