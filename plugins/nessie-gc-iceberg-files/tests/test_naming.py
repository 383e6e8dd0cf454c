"""What a metadata file names is known as long as it is JSON, of whatever format version (S6)."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import UnreadableFileError

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
    ("name", "found"),
    [
        ("metadata/00000-3fa85f64-5717-4562-b3fc-2c963f66afa6.metadata.json", True),
        ("metadata/123456-3fa85f64.gz.metadata.json", True),
        ("metadata/00012-3fa85f64.metadata.json.gz", True),
        ("metadata/v1.metadata.json", False),  # a table that no catalog has: its path is what holds it
        ("metadata/00001-3fa85f64.metadata.json.crc", False),
        ("metadata/more/00001-3fa85f64.metadata.json", False),
        ("data/00001-3fa85f64.metadata.json", False),
    ],
)
def test_s20_only_what_a_catalog_calls_its_metadata_shows_a_table(name: str, found: bool) -> None:
    for pattern in IcebergContentToFiles.metadata_names.values():
        assert (re.fullmatch(pattern, name) is not None) == found
