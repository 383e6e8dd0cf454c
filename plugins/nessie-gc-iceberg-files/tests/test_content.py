"""What a content version needs at first hand."""

from __future__ import annotations

import pytest
from iceberg_lake import Snapshot, Table, view_bytes
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.repository import ICEBERG_VIEW

S1 = Snapshot(1, "/wh/t/metadata/snap-1.avro")
NAMELESS = Snapshot(1, manifests=[None])  # type: ignore[list-item]  # a manifest has a path
S2 = Snapshot(2, "/wh/t/metadata/snap-2.avro")
S3 = Snapshot(3, "/wh/t/metadata/snap-3.avro")


def found(reader, version):
    return {(str(file.kind), file.path) for file in reader.files(version)}


def test_a_version_needs_its_metadata_and_the_manifest_list_of_its_snapshot(reader, put, version_of):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=[S1, S2], current=2).bytes())
    expected = {("METADATA", path), ("MANIFEST_LIST", S1.manifest_list)}
    assert expected == found(reader, version_of(path, 1))


@pytest.mark.parametrize("extra", [{}, {"current-snapshot-id": None}])
def test_a_new_table_needs_its_metadata_only(reader, put, version_of, extra):
    path = put("v1.metadata.json", Table("/wh/t", extra=extra).bytes())
    assert {("METADATA", path)} == found(reader, version_of(path, -1))


def test_a_named_snapshot_that_the_metadata_lacks_makes_it_unreadable(reader, put, version_of):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=[S1], current=1).bytes())
    with pytest.raises(UnreadableFileError, match="no snapshot 7"):
        found(reader, version_of(path, 7))


def test_every_file_carries_the_raw_location(reader, put, version_of):
    table = Table("s3a://b/%C3%BC ber#?/t", snapshots=[S1], current=1, statistics={1: "/s.puffin"})
    path = put("v1.metadata.json", table.bytes())
    assert {"s3a://b/%C3%BC ber#?/t"} == {file.location for file in reader.files(version_of(path))}


def test_places_that_properties_name_for_new_files_are_shared_and_come_once(reader, put, version_of):
    properties = {
        "write.data.path": "s3://b/all",
        "write.object-storage.path": "s3://b/all",
        "write.folder-storage.path": 7,
        "write.object-storage.enabled": "true",
        "write.parquet.compression-codec": "s3://b/no-place",
    }
    path = put("v1.metadata.json", Table("/wh/t", extra={"properties": properties}).bytes())
    files = list(reader.files(version_of(path, -1)))
    assert [("/wh/t", False), ("s3://b/all", True)] == [(file.location, file.shared) for file in files]
    assert {path} == {file.path for file in files}


def test_s14_branches_and_tags_hold_their_snapshots(reader, put, version_of):
    table = Table("/wh/t", snapshots=[S1, S2, S3], current=3, refs={"main": 3, "audit": 1})
    path = put("v1.metadata.json", table.bytes())
    expected = {("METADATA", path), ("MANIFEST_LIST", S1.manifest_list), ("MANIFEST_LIST", S3.manifest_list)}
    assert expected == found(reader, version_of(path, 3))


def test_s14_an_option_gives_the_protection_up(put, version_of):
    table = Table("/wh/t", snapshots=[S1, S2, S3], current=3, refs={"main": 3, "audit": 1})
    path = put("v1.metadata.json", table.bytes())
    with IcebergContentToFiles.from_options({"ignore_snapshot_refs": "true"}) as reader:
        assert {("METADATA", path), ("MANIFEST_LIST", S3.manifest_list)} == found(reader, version_of(path, 3))


def test_statistics_of_live_snapshots_are_live(reader, put, version_of):
    table = Table(
        "/wh/t",
        snapshots=[S1, S2],
        current=2,
        statistics={1: "/wh/t/old.puffin", 2: "/wh/t/new.puffin"},
        partition_statistics={1: "/wh/t/old.parquet", 2: "/wh/t/new.parquet"},
    )
    path = put("v1.metadata.json", table.bytes())
    expected = {
        ("METADATA", path),
        ("MANIFEST_LIST", S2.manifest_list),
        ("STATISTICS", "/wh/t/new.puffin"),
        ("PARTITION_STATISTICS", "/wh/t/new.parquet"),
    }
    assert expected == found(reader, version_of(path, 2))


def test_version_1_snapshots_may_embed_their_manifests(reader, put, version_of):
    table = Table("/wh/t", version=1, snapshots=[Snapshot(1, manifests=["/wh/t/m0.avro", "/wh/t/m1.avro"])], current=1)
    path = put("v1.metadata.json", table.bytes())
    expected = {("METADATA", path), ("MANIFEST", "/wh/t/m0.avro"), ("MANIFEST", "/wh/t/m1.avro")}
    assert expected == found(reader, version_of(path, 1))


@pytest.mark.parametrize("name", ["1.gz.metadata.json", "1.metadata.json.gz", "1.metadata.json"])
def test_packed_metadata_is_known_by_its_bytes(reader, put, version_of, name):
    path = put(name, Table("/wh/t", snapshots=[S1], current=1).bytes(packed=True))
    assert {("METADATA", path), ("MANIFEST_LIST", S1.manifest_list)} == found(reader, version_of(path))


@pytest.mark.parametrize("packed", [False, True])
def test_a_view_needs_its_metadata_only(reader, put, version_of, packed):
    path = put("1.metadata.json", view_bytes("/wh/v", packed=packed))
    files = list(reader.files(version_of(path, 1, ICEBERG_VIEW)))
    assert [("METADATA", path, "/wh/v")] == [(file.kind, file.path, file.location) for file in files]


def test_missing_metadata_is_missing(reader, version_of, tmp_path):
    with pytest.raises(MissingFileError):
        found(reader, version_of(f"{tmp_path}/no.metadata.json"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not complete JSON"),
        (b"[]", "not a JSON object"),
        (b'{"format-version": 2', "not complete JSON"),
        (b"\xff\xfe\x00", "not complete JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"AGS1\x00\x00", "encrypted"),
        (Table("/wh/t", snapshots=[S1], current=1).bytes(packed=True)[:-9], "not complete JSON"),
        (Table("/wh/t", version=4).bytes(), "format version is 4"),
        (Table("/wh/t", extra={"format-version": True}).bytes(), "format version is True"),
        (Table("/wh/t", extra={"location": None}).bytes(), "location"),
        (Table("/wh/t", current=9).bytes(), "no snapshot 9"),
        (Table("/wh/t", current=1, snapshots=[Snapshot(1)]).bytes(), "neither a manifest list"),
        (Table("/wh/t", current=1, snapshots=[NAMELESS]).bytes(), "manifests"),
        (Table("/wh/t", current=1, snapshots=[S1], refs={"gone": 8}).bytes(), "no snapshot 8"),
        (Table("/wh/t", current=1, snapshots=[S1], extra={"refs": [1]}).bytes(), "refs"),
        (Table("/wh/t", current=1, extra={"snapshots": {}}).bytes(), "is not a list"),
        (Table("/wh/t", current=1, snapshots=[S1], extra={"statistics": [{"snapshot-id": 1}]}).bytes(), "statistics"),
        (view_bytes("/wh/v"), "of a view"),
    ],
)
def test_metadata_that_makes_no_sense_is_unreadable(reader, put, version_of, data, reason):
    path = put("1.metadata.json", data)
    with pytest.raises(UnreadableFileError, match=reason) as caught:
        found(reader, version_of(path))
    assert not isinstance(caught.value, MissingFileError)
    assert "\n" not in str(caught.value)


def test_a_table_is_no_view(reader, put, version_of):
    path = put("1.metadata.json", Table("/wh/t", version=1).bytes())
    with pytest.raises(UnreadableFileError, match="of a table"):
        found(reader, version_of(path, 1, ICEBERG_VIEW))


@pytest.mark.parametrize("path", [None, "", "relative/1.metadata.json", "file://host/x", "s3:/b/x"])
def test_a_metadata_location_that_points_nowhere_is_unreadable(reader, version_of, path):
    with pytest.raises(UnreadableFileError):
        found(reader, version_of(path))


@pytest.mark.parametrize("folder", ["a#b", "a?b", "a%20b", "a b", "a:b", ".hidden", "ü", "a&b=c"])
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}", "FILE://{}"])
def test_s4_paths_are_raw(reader, put, version_of, folder, form):
    path = form.format(put(f"{folder}/1.metadata.json", Table("/wh/t").bytes()))
    assert {("METADATA", path)} == found(reader, version_of(path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://b/t/metadata/1.metadata.json", True),
        ("s3://b/t/metadata/1.gz.metadata.json", True),
        ("s3://b/t/metadata/1.metadata.json.gz", True),
        ("s3://b/t/metadata/snap-1.avro", False),
        ("s3://b/t/data/1.parquet", False),
    ],
)
def test_metadata_files_are_known_by_their_names(reader, path, expected):
    assert expected == reader.may_be_root(path)


def test_metadata_is_remembered_for_a_group_of_versions_and_not_longer(reader, put, version_of, monkeypatch):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=[S1, S2], current=2).bytes())
    reads, read = [], reader._reader.read

    def counted(path, limit):
        reads.append(path)
        return read(path, limit)

    monkeypatch.setattr(reader._reader, "read", counted)
    with reader.remembering():
        assert ("MANIFEST_LIST", S1.manifest_list) in found(reader, version_of(path, 1))
        assert ("MANIFEST_LIST", S2.manifest_list) in found(reader, version_of(path, 2))
    assert 1 == len(reads)
    put("v1.metadata.json", Table("/wh/t", snapshots=[S3], current=3).bytes())
    for _ in range(2):
        with reader.remembering():
            assert ("MANIFEST_LIST", S3.manifest_list) in found(reader, version_of(path, 3))
    assert 3 == len(reads)
