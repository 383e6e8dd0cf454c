"""What manifest lists and manifests name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iceberg_lake import (
    DELETED,
    EQUALITY_DELETES,
    EXISTING,
    MANIFEST_LIST_SCHEMA,
    POSITION_DELETES,
    Entry,
    avro_bytes,
    manifest_bytes,
    manifest_list_bytes,
)
from nessie_gc_iceberg_files import IcebergContentToFiles
from nessie_gc_iceberg_files.avro import check_container
from nessie_gc_iceberg_files.manifests import live_files

from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile

CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
ENTRIES = [
    Entry("s3://b/t/data/added.parquet"),
    Entry("s3://b/t/data/existing.parquet", EXISTING),
    Entry("s3://b/t/data/deleted.parquet", DELETED),
    Entry("s3://b/t/data/p.parquet", content=POSITION_DELETES),
    Entry("s3://b/t/data/e.parquet", content=EQUALITY_DELETES),
    Entry("s3://b/t/data/dv.puffin", content=POSITION_DELETES, file_format="puffin"),
]
LIVE = [
    ("DATA", "s3://b/t/data/added.parquet"),
    ("DATA", "s3://b/t/data/existing.parquet"),
    ("POSITION_DELETES", "s3://b/t/data/p.parquet"),
    ("EQUALITY_DELETES", "s3://b/t/data/e.parquet"),
    ("DELETION_VECTOR", "s3://b/t/data/dv.puffin"),
]


def expanded(reader, path, kind):
    return [(str(file.kind), file.path) for file in reader.expand(ReachableFile(path=path, kind=kind))]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [2, 3])
def test_a_manifest_names_its_live_files_by_kind(reader, put, codec, version):
    path = put("m.avro", manifest_bytes(ENTRIES, version=version, codec=codec))
    assert LIVE == expanded(reader, path, "MANIFEST")


def test_version_1_manifests_hold_data_only(reader, put):
    entries = [Entry("/a"), Entry("/b", EXISTING), Entry("/c", DELETED)]
    path = put("m.avro", manifest_bytes(entries, version=1))
    assert [("DATA", "/a"), ("DATA", "/b")] == expanded(reader, path, "MANIFEST")


@pytest.mark.parametrize("codec", CODECS)
def test_a_manifest_list_names_its_manifests(reader, put, codec):
    path = put("snap.avro", manifest_list_bytes(["/wh/m1.avro", "/wh/m 2#?.avro"], codec=codec))
    expected = [("MANIFEST", "/wh/m1.avro"), ("MANIFEST", "/wh/m 2#?.avro")]
    assert expected == expanded(reader, path, "MANIFEST_LIST")


def test_an_empty_manifest_list_names_nothing(reader, put):
    assert [] == expanded(reader, put("snap.avro", manifest_list_bytes([])), "MANIFEST_LIST")


@pytest.mark.parametrize("kind", ["MANIFEST_LIST", "MANIFEST"])
def test_a_missing_file_is_missing(reader, tmp_path, kind):
    with pytest.raises(MissingFileError):
        expanded(reader, f"{tmp_path}/no.avro", kind)


def test_a_file_of_another_kind_expands_to_nothing(reader):
    assert [] == expanded(reader, "/wh/t/data/x.parquet", "DATA")


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_cut_off_manifest_is_unreadable_before_its_first_file(codec):
    data = manifest_bytes(ENTRIES * 20, codec=codec, sync_interval=500)
    boundaries = _block_boundaries(data)
    for size in set(range(0, len(data), 7)) | {b + d for b in boundaries for d in (-1, 1, 2) if b + d < len(data)}:
        if size in boundaries:
            continue
        with pytest.raises(UnreadableFileError):
            next(live_files("m.avro", data[:size]))


def _block_boundaries(data: bytes) -> set[int]:
    sync = data[-16:]
    found, start = set(), 0
    while (at := data.find(sync, start)) >= 0:
        start = at + 16
        found.add(start)
    return found


@given(position=st.integers(min_value=0), flip=st.integers(min_value=1, max_value=255))
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_damaged_manifest_never_raises_anything_but_unreadable(position, flip):
    data = bytearray(manifest_bytes(ENTRIES, codec="null"))
    data[position % len(data)] ^= flip
    try:
        list(live_files("m.avro", bytes(data)))
    except UnreadableFileError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an Avro file"),
        (b"PAR1", "not an Avro file"),
        (b"AGS1....", "encrypted"),
        (manifest_bytes(ENTRIES) + b"x", "truncated"),
        (manifest_list_bytes(["/m"]), "no field 'status'"),
        (manifest_bytes([Entry("")]), "path ''"),
        (manifest_bytes([Entry("/x", status=3)]), "status 3"),
        (manifest_bytes([Entry("/x", content=9)]), "content 9"),
        (manifest_bytes(ENTRIES).replace(b"deflate", b"deflatf"), "deflatf"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_unreadable(reader, put, data, reason):
    with pytest.raises(UnreadableFileError, match=reason):
        expanded(reader, put("m.avro", data), "MANIFEST")


@pytest.mark.parametrize("odd", [Entry(""), Entry("/x", status=3), Entry("/x", content=9)])
def test_files_before_an_invalid_entry_are_named_before_its_error(odd):
    found: list[str] = []
    batches = live_files("m.avro", manifest_bytes([*ENTRIES, odd, Entry("/after")]))
    with pytest.raises(UnreadableFileError):
        found.extend(path for batch in batches for path in batch.column("path").to_pylist())
    assert found == [path for _, path in LIVE]


def test_a_manifest_list_with_a_null_path_is_unreadable(reader, put):
    fields = [{"name": "manifest_path", "type": ["null", "string"]}, *MANIFEST_LIST_SCHEMA["fields"][1:]]
    row = {"manifest_path": None, "manifest_length": 1, "partition_spec_id": 0, "key_metadata": None}
    data = avro_bytes({**MANIFEST_LIST_SCHEMA, "fields": fields}, [row])
    with pytest.raises(UnreadableFileError):
        expanded(reader, put("snap.avro", data), "MANIFEST_LIST")


def test_the_container_check_counts_all_records():
    blocks = check_container(manifest_bytes(ENTRIES * 20, sync_interval=500)).blocks
    assert len(blocks) > 3
    assert 120 == sum(count for count, _, _ in blocks)


def test_many_small_manifests_are_read_quickly(reader, put):
    data = manifest_bytes([Entry(f"s3://bucket/warehouse/db/t/data/{n:036d}.parquet") for n in range(50)])
    paths = [put(f"m{n}.avro", data) for n in range(200)]
    start = time.perf_counter()
    assert 10_000 == sum(len(expanded(reader, path, "MANIFEST")) for path in paths)
    assert time.perf_counter() - start < 2  # about 0.15 s on an idle machine


def test_a_manifest_shorter_than_its_list_says_is_unreadable(tmp_path: Path) -> None:
    whole = manifest_bytes([Entry(path=f"file:///t/{number}") for number in range(2000)], sync_interval=1000)
    marker = whole[-16:]
    path = tmp_path / "m.avro"
    # cut exactly after a block, where nothing in the file itself shows it
    path.write_bytes(whole[: whole.index(marker, len(whole) // 2) + 16])
    reader = IcebergContentToFiles.from_options({})
    cut_off = ReachableFile(path=str(path), kind=FileKind.MANIFEST, length=len(whole))
    with pytest.raises(UnreadableFileError, match="bytes instead of"):
        list(reader.expand(cut_off))
    assert list(reader.expand(ReachableFile(path=str(path), kind=FileKind.MANIFEST)))
