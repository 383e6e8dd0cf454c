"""S34: what a manifest, its list or its snapshot says of how much there is, is held to it."""

from __future__ import annotations

import io
import json
import zlib
from typing import Any

import fastavro
import pytest
from iceberg_lake import (
    ADDED,
    DELETED,
    EXISTING,
    Entry,
    Snapshot,
    Table,
    avro_bytes,
    counted_list_bytes,
    manifest_bytes,
    manifest_list_bytes,
    manifest_schema,
)
from nessie_gc_iceberg_files import IcebergContentToFiles
from nessie_gc_iceberg_files.avro import check_container, read_records
from nessie_gc_iceberg_files.entries import live_entries
from nessie_gc_iceberg_files.fields import read_fields
from nessie_gc_iceberg_files.manifests import live_files

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.manifests import Manifest

CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
FOUR = [Entry("/a", ADDED), Entry("/b", EXISTING), Entry("/c", EXISTING), Entry("/d", DELETED)]


def long(number: int) -> bytes:
    out, value = bytearray(), number << 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def announcing(data: bytes, count: int) -> bytes:
    """The same file with one block, which announces another number of records; all of it has the same length."""
    (found, start, end) = check_container(data).blocks[0]
    head = len(long(found) + long(end - start))
    return data[: start - head] + long(count) + data[start - head + len(long(found)) :]


def live(data: bytes, **told: Any) -> list[str]:
    return [path for batch in live_files("m.avro", data, **told) for path in batch.column("path").to_pylist()]


def walked(reader: IcebergContentToFiles, path: str) -> list[str]:
    """The data files of a manifest list."""
    listed = reader.expand(ReachableFile(path=path, kind=FileKind.MANIFEST_LIST))
    return [file.path for manifest in listed for file in reader.expand(manifest)]


# ---- blocks -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 2, 3, 5])
def test_a_block_that_announces_another_number_of_records_than_it_has_is_unreadable(codec, version, count):
    data = announcing(manifest_bytes(FOUR, version=version, codec=codec), count)
    with pytest.raises(UnreadableFileError):
        live(data)


@pytest.mark.parametrize("count", [0, 2, 3, 5])
def test_so_it_is_on_every_path_that_reads_one(count):
    data = announcing(manifest_bytes(FOUR), count)
    with pytest.raises(UnreadableFileError):
        read_records("m.avro", data)
    with pytest.raises(UnreadableFileError):
        read_fields("m.avro", data, frozenset({"status", "data_file.file_path"}))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_manifest_list_is_held_to_its_blocks_too(reader, put, count):
    data = announcing(manifest_list_bytes(["/m1", "/m2"]), count)
    with pytest.raises(UnreadableFileError):
        list(reader.expand(ReachableFile(path=put("snap.avro", data), kind=FileKind.MANIFEST_LIST)))


def test_records_that_no_block_announces_are_no_part_of_a_block():
    one, two = manifest_bytes(FOUR[:1], codec="null"), manifest_bytes(FOUR, codec="null")
    ((_, start, _), (_, first, last)) = check_container(one).blocks[0], check_container(two).blocks[0]
    header = one[: start - len(long(1)) - len(long(check_container(one).blocks[0][2] - start))]
    block = two[first:last]
    whole = header + long(1) + long(len(block)) + block + header[-16:]
    with pytest.raises(UnreadableFileError, match="does not end with its last record"):
        live(whole)


def test_what_python_and_pyiceberg_leave_of_a_checksum_is_checked():
    data = manifest_bytes(FOUR, codec="deflate")
    (_, _, end) = check_container(data).blocks[0]
    assert FOUR[0].path in live(data)
    with pytest.raises(UnreadableFileError, match="damaged"):
        live(data[: end - 1] + bytes([data[end - 1] ^ 1]) + data[end:])


def test_a_block_of_raw_deflate_needs_no_checksum_but_may_have_nothing_else_behind_it():
    data = manifest_bytes(FOUR, codec="deflate")
    (count, start, end) = check_container(data).blocks[0]
    header, marker = data[: start - len(long(count) + long(end - start))], data[-16:]
    inflater = zlib.decompressobj(wbits=-15)
    inflater.decompress(data[start:end])
    block = data[start : end - len(inflater.unused_data)]
    assert ["/a", "/b", "/c"] == live(header + long(count) + long(len(block)) + block + marker)
    with pytest.raises(UnreadableFileError, match="damaged"):
        live(header + long(count) + long(len(block) + 1) + block + b"?" + marker)


def test_the_checksum_of_snappy_is_checked():
    data = manifest_bytes([Entry("/unlike-all-else")], codec="snappy")
    assert ["/unlike-all-else"] == live(data)
    with pytest.raises(UnreadableFileError, match="checksum"):
        live(data.replace(b"/unlike", b"/unmike"))


def test_another_marker_between_blocks_is_unreadable():
    data = bytearray(manifest_bytes(FOUR * 100, sync_interval=500))
    data[check_container(bytes(data)).blocks[3][2] + 5] ^= 1
    with pytest.raises(UnreadableFileError, match="damaged or truncated"):
        live(bytes(data))


# ---- what manifest lists say --------------------------------------------------------------------------
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("type_", ["int", "long"])
def test_a_manifest_that_has_what_its_list_counts_is_read(reader, put, early, type_):
    manifest = {"path": put("m.avro", manifest_bytes(FOUR)), "added": 1, "existing": 2, "deleted": 1}
    assert ["/a", "/b", "/c"] == walked(
        reader, put("snap.avro", counted_list_bytes(manifest, early=early, type_=type_))
    )


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    "entries",
    [
        pytest.param(FOUR[1:], id="one that was added is missing"),
        pytest.param([FOUR[0], *FOUR[2:]], id="one that existed is missing"),
        pytest.param([*FOUR[:2], Entry("/c", DELETED), FOUR[3]], id="one bit makes one deleted"),
        pytest.param([], id="none"),
    ],
)
def test_a_manifest_with_fewer_live_entries_than_its_list_counts_is_unreadable(reader, put, early, entries):
    manifest = {"path": put("m.avro", manifest_bytes(entries)), "added": 1, "existing": 2, "deleted": 1}
    path = put("snap.avro", counted_list_bytes(manifest, early=early))
    with pytest.raises(UnreadableFileError, match="live entries but its list counts 3"):
        walked(reader, path)


def test_its_entries_are_not_given_to_services_either(reader):
    manifest = Manifest(path="/no", length=0, added_files=3, existing_files=0, deleted_files=0)
    with pytest.raises(UnreadableFileError, match="list counts 3"):
        list(live_entries(manifest, manifest_bytes(FOUR[:2])))


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param({}, id="no counts"),
        pytest.param({"added": 1}, id="some counts"),
        pytest.param({"added": 1, "existing": 0, "deleted": 0}, id="ClickHouse counts one"),
        pytest.param({"added": 1, "existing": 2, "deleted": 62}, id="deleted entries are counted that were dropped"),
    ],
)
def test_a_list_that_counts_too_little_or_nothing_takes_no_file(reader, put, counts):
    manifest = {"path": put("m.avro", manifest_bytes(FOUR)), **counts}
    assert ["/a", "/b", "/c"] == walked(reader, put("snap.avro", counted_list_bytes(manifest, early=True)))


def test_files_of_the_table_that_are_counted_as_existing_in_its_newest_manifest_are_no_damage(reader, put):
    """ClickHouse does so in format version 1."""
    data = manifest_bytes([Entry("/a"), Entry("/b")], version=1)
    manifest = {"path": put("m.avro", data), "length": len(data), "added": 1, "existing": 17, "deleted": 0}
    assert ["/a", "/b"] == walked(reader, put("snap.avro", counted_list_bytes(manifest, early=True)))
    cut_off = {**manifest, "length": len(data) + 1}
    with pytest.raises(UnreadableFileError):
        walked(reader, put("snap2.avro", counted_list_bytes(cut_off, early=True)))


# ---- shorter than its list says (rewrite_table_path) --------------------------------------------------
def test_a_shorter_manifest_is_whole_if_it_has_exactly_what_its_list_counts(reader, put):
    data = manifest_bytes(FOUR)
    manifest = {"path": put("m.avro", data), "length": len(data) + 100, "added": 1, "existing": 2, "deleted": 1}
    assert ["/a", "/b", "/c"] == walked(reader, put("snap.avro", counted_list_bytes(manifest)))
    said = Manifest(path="m", length=len(data) + 100, added_files=1, existing_files=2, deleted_files=1)
    assert ["/a", "/b", "/c"] == [entry.path for entry in live_entries(said, data)]


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"added": 1, "existing": 2},
        {"added": 1, "existing": 2, "deleted": 2},
        {"added": 0, "existing": 1, "deleted": 0},
        {"added": 2, "existing": 2, "deleted": 1},
    ],
)
def test_a_shorter_manifest_with_other_entries_is_unreadable(reader, put, counts):
    data = manifest_bytes(FOUR)
    manifest = {"path": put("m.avro", data), "length": len(data) + 100, **counts}
    with pytest.raises(UnreadableFileError, match="bytes instead of"):
        walked(reader, put("snap.avro", counted_list_bytes(manifest, early=True)))


def test_a_manifest_cut_off_between_two_blocks_is_unreadable_whatever_its_length_is_said_to_be(reader, put):
    data = manifest_bytes([Entry(f"/{n}") for n in range(100)], sync_interval=500)
    cut = data[: check_container(data).blocks[3][2] + 16]
    for length in (0, len(cut), len(data)):
        manifest = {"path": put("m.avro", cut), "length": length, "added": 100, "existing": 0, "deleted": 0}
        path = put("snap.avro", counted_list_bytes(manifest))
        with pytest.raises(UnreadableFileError):
            walked(reader, path)


# ---- what snapshots say -------------------------------------------------------------------------------
def named_lists(reader, put, version_of, summary):
    table = Table(location="/t", snapshots=[Snapshot(7, manifest_list="/l", summary=summary)], current=7)
    files = reader.files(version_of(put("1.metadata.json", table.bytes()), 7))
    return [file for file in files if file.kind == FileKind.MANIFEST_LIST]


def expand_list(reader, put, file, data):
    written = ReachableFile(path=put("snap.avro", data), kind=file.kind, announced=file.announced)
    return (each.path for each in reader.expand(written))


@pytest.mark.parametrize(("kept", "is_whole"), [("0", True), ("1", True), ("2", False)])
def test_a_manifest_list_names_what_its_snapshot_says_was_created_and_kept(reader, put, version_of, kept, is_whole):
    summary = {"manifests-created": "1", "manifests-kept": kept, "manifests-replaced": "9"}
    (file,) = named_lists(reader, put, version_of, summary)
    expand = expand_list(reader, put, file, manifest_list_bytes(["/m1", "/m2"]))
    if is_whole:
        assert ["/m1", "/m2"] == list(expand)
        return
    with pytest.raises(UnreadableFileError, match="names 2 manifests but its snapshot has at least 3"):
        list(expand)


@pytest.mark.parametrize(
    "summary",
    [
        {},
        {"total-data-files": "0", "total-delete-files": "0"},
        {"manifests-created": "5"},
        {"manifests-created": "x", "manifests-kept": "1"},
        {"manifests-created": "-1", "manifests-kept": "1"},
        {"manifests-created": 7, "manifests-kept": "\u0663"},
    ],
)
def test_what_says_nothing_is_not_compared(reader, put, version_of, summary):
    assert [None] == [file.announced for file in named_lists(reader, put, version_of, summary)]


@pytest.mark.parametrize("total", ["total-data-files", "total-delete-files"])
def test_totals_which_drift_only_say_that_there_are_manifests(reader, put, version_of, total):
    (file,) = named_lists(reader, put, version_of, {total: "1000"})
    assert ["/m"] == list(expand_list(reader, put, file, manifest_list_bytes(["/m"])))
    with pytest.raises(UnreadableFileError, match="names 0 manifests but its snapshot has at least 1"):
        list(expand_list(reader, put, file, manifest_list_bytes([])))


# ---- metadata -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["refs", "statistics", "partition-statistics", "snapshots", "properties"])
def test_a_wrong_bit_in_the_name_of_a_decisive_field_is_no_field_that_is_missing(reader, put, version_of, name):
    fields = Table(location="/t", extra={"properties": {}}).fields()
    fields[name[:-1] + chr(ord(name[-1]) ^ 1)] = fields.pop(name)
    with pytest.raises(UnreadableFileError, match="it is damaged"):
        list(reader.files(version_of(put("1.metadata.json", json.dumps(fields).encode()))))


def test_metadata_of_early_writers_lacks_fields_and_is_read(reader, put, version_of):
    fields = Table(location="/t", version=1).fields()
    for name in ("refs", "statistics", "partition-statistics", "snapshots"):
        del fields[name]
    assert ["/t"] == [file.location for file in reader.files(version_of(put("1.json", json.dumps(fields).encode())))]


# ---- schemas that make decoders run for ever ----------------------------------------------------------
def with_field(type_: object) -> dict[str, object]:
    schema = manifest_schema(2)
    return {**schema, "fields": [{"name": "more", "type": type_}, *schema["fields"]]}


@pytest.mark.parametrize(
    ("type_", "value", "reason"),
    [
        ({"type": "array", "items": "null"}, [None] * 9, "an array of values without bytes"),
        ({"type": "map", "values": {"type": "array", "items": "null"}}, {}, "an array of values without bytes"),
        ({"type": "array", "items": {"type": "record", "name": "e", "fields": []}}, [], "values without bytes"),
        (
            {"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]},
            {"next": {"next": None}},
            "a type within itself",
        ),
    ],
)
def test_records_of_any_size_in_a_few_bytes_are_unreadable(type_, value, reason):
    record: Any = next(iter(fastavro.reader(io.BytesIO(manifest_bytes(FOUR)))))
    data = avro_bytes(with_field(type_), [{**record, "more": value}])
    with pytest.raises(UnreadableFileError, match=reason):
        live(data)
    with pytest.raises(UnreadableFileError, match=reason):
        read_records("m.avro", data)
