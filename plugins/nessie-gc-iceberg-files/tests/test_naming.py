"""What a metadata file names is known as long as it is JSON, of whatever format version (S6)."""

from __future__ import annotations

import gzip
import json

import pytest

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
