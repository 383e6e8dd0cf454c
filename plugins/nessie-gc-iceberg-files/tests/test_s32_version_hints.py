"""S32: what a version hint names, and metadata that a tool writes from a table of another format."""

from __future__ import annotations

import json

import pytest
from nessie_gc_iceberg_files.version_hints import metadata_of_hint

from nessie_gc_core.connectors import SupportsVersionHints
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.files import TRANSLATED

FOLDER = "s3://lake/wh/t/metadata/"
HINT = FOLDER + "version-hint.text"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"2", ["v2.metadata.json", "v2.gz.metadata.json", "v2.metadata.json.gz", "2.metadata.json"]),
        (b" 12\n", ["v12.metadata.json", "v13.metadata.json", "v13.gz.metadata.json"]),
        (b"007", ["v007.metadata.json", "v7.metadata.json", "v8.metadata.json"]),
        (b"\xef\xbb\xbf3", ["v3.metadata.json"]),
        (b"00002-3fa85f64", ["00002-3fa85f64.metadata.json", "00002-3fa85f64.gz.metadata.json"]),
        (b"v1730000000", ["v1730000000.metadata.json"]),
        (b"00002-3fa85f64.metadata.json", ["00002-3fa85f64.metadata.json"]),
        (b"00002-3fa85f64.metadata.json.gz", ["00002-3fa85f64.metadata.json.gz"]),
    ],
)
def test_s32_a_hint_is_a_number_or_a_name(text: bytes, names: list[str]) -> None:
    assert {FOLDER + name for name in names} <= set(metadata_of_hint(HINT, text))


@pytest.mark.parametrize("path", ["s3://lake/wh/t/metadata/v1.metadata.json", "/wh/t/metadata/v1.metadata.json"])
def test_s32_a_hint_may_be_a_path(path: str) -> None:
    assert [path] == metadata_of_hint(HINT, path.encode())


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"1 2", b"../v1.metadata.json", b"<html>", b"a" * 600, b"-1;"])
def test_s32_other_contents_are_unreadable(text: bytes) -> None:
    with pytest.raises(UnreadableFileError, match="version-hint"):
        metadata_of_hint(HINT, text)


def metadata_file(put, name: str, **fields: object) -> str:
    written = {"format-version": 2, "location": "s3://lake/wh/t", "table-uuid": "u", "last-updated-ms": 1000, **fields}
    return put(name, json.dumps(written).encode())


def snapshots(*ids: int) -> dict[str, object]:
    listed = [{"snapshot-id": each, "manifest-list": f"s3://lake/{each}.avro"} for each in ids]
    return {"current-snapshot-id": ids[-1], "snapshots": listed}


def test_s32_the_reader_reads_hints(reader, put) -> None:
    hint, path = put("version-hint.text", b"1"), metadata_file(put, "v1.metadata.json")
    assert isinstance(reader, SupportsVersionHints)
    assert path in reader.hinted(hint)
    with pytest.raises(MissingFileError):
        reader.hinted(path + ".nobody")


@pytest.mark.parametrize(
    ("found", "live", "is_apart"),
    [
        ({"last-updated-ms": 2001}, {}, True),  # later
        ({}, {"table-uuid": "w"}, True),
        ({"last-updated-ms": 1500, **snapshots(1, 7)}, snapshots(1, 2), True),  # both went on
        ({"last-updated-ms": 1500, **snapshots(1)}, snapshots(1, 2), False),
        ({"last-updated-ms": 1500, **snapshots(1)}, {**snapshots(2), "snapshot-log": [{"snapshot-id": 1}]}, False),
        ({"last-updated-ms": 1500}, snapshots(1, 2), False),  # it has no files
        ({"last-updated-ms": 900, **snapshots(7)}, snapshots(1, 2), False),  # older than all that is remembered
        (
            {"last-updated-ms": 900, **snapshots(7)},
            {**snapshots(1, 2), "metadata-log": []},
            True,
        ),  # it remembers nothing
        ({"last-updated-ms": 2000, **snapshots(2)}, snapshots(1, 2), False),  # the same
    ],
)
def test_s32_the_reader_says_whether_live_metadata_knows_a_state(reader, put, found, live, *, is_apart: bool) -> None:
    log = [{"metadata-file": "s3://lake/wh/t/metadata/v0.metadata.json", "timestamp-ms": 1000}]
    hinted = metadata_file(put, "v1.metadata.json", **found)
    known = metadata_file(put, "00000-a.metadata.json", **{"metadata-log": log, "last-updated-ms": 2000, **live})
    assert is_apart == reader.is_apart(hinted, known)


def test_s32_the_reader_knows_what_the_metadata_log_names(reader, put) -> None:
    hinted = metadata_file(put, "v1.metadata.json", **{"last-updated-ms": 1500, **snapshots(7)})
    log = [{"metadata-file": hinted, "timestamp-ms": 1500}, {"metadata-file": "s3://x/v0.json", "timestamp-ms": 1}]
    known = metadata_file(put, "00000-a.metadata.json", **{"metadata-log": log, "last-updated-ms": 2000})
    assert not reader.is_apart(hinted, known)


def test_s32_metadata_without_a_time_cannot_be_compared(reader, put) -> None:
    odd = metadata_file(put, "v2.metadata.json", **{"last-updated-ms": "yesterday"})
    with pytest.raises(UnreadableFileError, match="last-updated-ms"):
        reader.is_apart(odd, metadata_file(put, "v1.metadata.json"))


@pytest.mark.parametrize(
    ("more", "is_translated"),
    [
        ({"properties": {"XTABLE_METADATA": "{}"}}, True),
        ({"current-snapshot-id": 1, "summary": {"XTABLE_METADATA": "{}"}}, True),
        ({"current-snapshot-id": 1, "summary": {}}, False),
        ({}, False),
    ],
)
def test_s32_metadata_that_a_tool_writes_from_another_format_says_so(
    reader, put, version_of, more, *, is_translated: bool
) -> None:
    snapshot = {"snapshot-id": 1, "manifest-list": "s3://lake/l.avro", "summary": more.get("summary", {})}
    fields = {"format-version": 2, "location": "s3://lake/wh/t", "snapshots": [snapshot], **more}
    path = put("00001-a.metadata.json", json.dumps(fields).encode())
    found = [file for file in reader.files(version_of(path)) if file.kind == TRANSLATED]
    assert is_translated == bool(found)
    assert {"s3://lake/wh/t"} >= {file.location for file in found}
