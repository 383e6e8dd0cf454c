"""New metadata with fewer snapshots is what Iceberg itself would write; whatever is not about them stays."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from iceberg_lake import Snapshot, Table
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import SafetyError, UnreadableFileError, UnwritableFileError

NOW = datetime(2026, 11, 1, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
SCHEMAS = [{"schema-id": number, "type": "struct", "fields": []} for number in range(4)]
SPECS = [{"spec-id": number, "fields": []} for number in range(3)]
ORDERS = [{"order-id": number, "fields": []} for number in range(2)]
OF_EVERY_VERSION = {
    "last-updated-ms": 5000,
    "schemas": SCHEMAS,
    "current-schema-id": 3,
    "partition-specs": SPECS,
    "default-spec-id": 2,
    "last-partition-id": 999,
    "sort-orders": ORDERS,
    "default-sort-order-id": 1,
    "vendor.note": {"ratio": 0.1, "big": 2**63, "text": "ü😀"},
}
OF_VERSIONS: dict[int, dict[str, object]] = {
    1: {"schema": SCHEMAS[3], "partition-spec": []},
    2: {"last-sequence-number": 34},
    3: {
        "last-sequence-number": 34,
        "next-row-id": 2**53 + 1,
        "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "AAA="}],
    },
}


def logged(*snapshot_ids):
    return [{"snapshot-id": id_, "timestamp-ms": 1000 * number} for number, id_ in enumerate(snapshot_ids, start=1)]


def snapshots(*ids, **summaries):
    return [
        Snapshot(id_, f"/t/metadata/snap-{id_}.avro", parent=id_ - 1, summary=summaries.get(f"s{id_}", {}))
        for id_ in ids
    ]


def table(location, *, version=2, ids=(1, 2, 3, 4), current=4, log=(1, 2, 3, 4), refs=None, **extra):
    more = {**OF_EVERY_VERSION, **OF_VERSIONS[version], "snapshot-log": logged(*log), **extra}
    return Table(
        str(location), version=version, snapshots=snapshots(*ids), current=current, refs=refs or {}, extra=more
    )


@pytest.fixture
def without(reader, put, version_of, tmp_path):
    """Writes a table, has snapshots left out of its metadata, and gives both files' fields and the new path."""

    def write(written, *gone, name="t/metadata/00041-a.metadata.json", snapshot_id=None):
        old = put(name, written.bytes(packed=".gz." in name))
        version = version_of(old, written.current if snapshot_id is None else snapshot_id)
        path = reader.write_without(version, gone, folder=f"{tmp_path}/t/metadata/", now=NOW)
        data = Path(path).read_bytes()
        data = gzip.decompress(data) if ".gz." in path else data
        assert written.bytes(packed=".gz." in name)[10:] == Path(old).read_bytes()[10:]
        return written.fields(), json.loads(data), path

    return write


@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_but_snapshots_logs_and_time_stays_as_it_is_in_every_format_version(without, tmp_path, version):
    old, new, _ = without(table(tmp_path / "t", version=version), 2, 3)
    changed = {"snapshots", "snapshot-log", "metadata-log", "last-updated-ms"}
    assert {name: value for name, value in old.items() if name not in changed} == {
        name: value for name, value in new.items() if name not in changed
    }
    assert [old["snapshots"][0], old["snapshots"][3]] == new["snapshots"]
    assert NOW_MS == new["last-updated-ms"]


@pytest.mark.parametrize(
    ("gone", "left"), [((1,), (2, 3, 4)), ((2,), (3, 4)), ((1, 3), (4,)), ((3,), (4,)), ((), (1, 2, 3, 4))]
)
def test_what_the_snapshot_log_says_of_the_time_before_a_gap_goes(without, tmp_path, gone, left):
    _, new, _ = without(table(tmp_path / "t"), *gone)
    assert list(left) == [entry["snapshot-id"] for entry in new["snapshot-log"]]


def test_a_log_that_named_a_snapshot_before_that_is_not_listed_loses_what_comes_before_it(without, tmp_path):
    _, new, _ = without(table(tmp_path / "t", log=(1, 77, 2, 4)), 3)
    assert [2, 4] == [entry["snapshot-id"] for entry in new["snapshot-log"]]


def test_statistics_of_what_is_left_out_are_left_out(without, tmp_path):
    written = table(tmp_path / "t")
    written.statistics = {1: "/t/1.puffin", 4: "/t/4.puffin"}
    written.partition_statistics = {2: "/t/2.parquet", 4: "/t/4.parquet"}
    _, new, _ = without(written, 1, 2)
    assert [[4], [4]] == [
        [each["snapshot-id"] for each in new[name]] for name in ("statistics", "partition-statistics")
    ]


@pytest.mark.parametrize(("most", "left"), [("3", ["b", "c"]), ("1", []), ("0", []), (None, ["a", "b", "c"])])
def test_the_metadata_log_gets_the_file_before_and_stays_as_long_as_it_may_be(without, tmp_path, most, left):
    log = [{"timestamp-ms": number, "metadata-file": name} for number, name in enumerate("abc")]
    properties = {} if most is None else {"write.metadata.previous-versions-max": most}
    _, new, path = without(table(tmp_path / "t", **{"metadata-log": log, "properties": properties}), 1)
    before = {"timestamp-ms": 5000, "metadata-file": str(Path(path).parent / "00041-a.metadata.json")}
    assert left == [entry["metadata-file"] for entry in new["metadata-log"][:-1]]
    assert before == new["metadata-log"][-1]


def test_time_does_not_go_back(without, tmp_path):
    _, new, _ = without(table(tmp_path / "t", **{"last-updated-ms": NOW_MS + 1}), 1)
    assert NOW_MS + 1 == new["last-updated-ms"]


@pytest.mark.parametrize(
    ("name", "codec", "beginning", "ending"),
    [
        ("00041-a.metadata.json", None, "00042-", ".metadata.json"),
        ("99999-a.metadata.json", "none", "100000-", ".metadata.json"),
        ("00007-a.gz.metadata.json", "GZIP", "00008-", ".gz.metadata.json"),
        ("v3.metadata.json", None, "00000-", ".metadata.json"),
    ],
)
def test_its_name_is_the_next_one_and_it_is_compressed_as_the_table_says(
    without, tmp_path, name, codec, beginning, ending
):
    properties = {} if codec is None else {"write.metadata.compression-codec": codec}
    _, new, path = without(table(tmp_path / "t", properties=properties), 1, name=f"t/metadata/{name}")
    assert (True, True) == (Path(path).name.startswith(beginning), Path(path).name.endswith(ending))
    assert (ending == ".gz.metadata.json") is (".gz." in path)
    assert [2, 3, 4] == [each["snapshot-id"] for each in new["snapshots"]]


def test_each_file_has_a_name_of_its_own(without, tmp_path):
    written = table(tmp_path / "t")
    assert without(written, 1)[2] != without(written, 1)[2]


@pytest.mark.parametrize("asked", [4, 3, 2, 1])
def test_s14_s25_what_is_current_has_a_name_or_is_staged_is_never_left_out(without, tmp_path, asked):
    """Snapshot 4 is the metadata's own current one, 3 that of the version, 2 has a tag, 1 is staged."""
    written = table(tmp_path / "t", log=(3, 4), refs={"release": 2})
    written.snapshots = [Snapshot(1, "/t/1.avro", summary={"wap.id": "w"}), *snapshots(2, 3, 4)]
    written.snapshots[1] = Snapshot(2, "/t/2.avro")
    with pytest.raises(SafetyError, match=f"needs the snapshot {asked}"):
        without(written, asked, snapshot_id=3)
    assert 1 == len(list((tmp_path / "t/metadata").iterdir()))


def test_what_is_held_is_said_of_the_table(reader, put, version_of, tmp_path):
    written = table(tmp_path / "t", log=(3, 4), refs={"release": 2})
    written.snapshots = [Snapshot(1, "/t/1.avro", summary={"wap.id": "w"}), Snapshot(2, "/t/2.avro"), *snapshots(3, 4)]
    version = version_of(put("t/metadata/00000-a.metadata.json", written.bytes()), 3)
    assert {1, 2, 4} == reader.table_metadata(version, reference="main").held
    with IcebergContentToFiles.from_options({"ignore_staged_snapshots": True, "ignore_snapshot_refs": True}) as other:
        metadata = other.table_metadata(version, reference="main")
        assert metadata is not None
        assert {2, 4} == metadata.held


@pytest.mark.parametrize(
    "nonsense",
    [
        {"last-updated-ms": None},
        {"properties": {"write.metadata.compression-codec": "zstd"}},
        {"properties": {"write.metadata.previous-versions-max": "many"}},
        {"vendor.note": float("nan")},
    ],
)
def test_nothing_is_written_of_metadata_that_cannot_be_written_as_it_is(without, tmp_path, nonsense):
    with pytest.raises(UnreadableFileError):
        without(table(tmp_path / "t", **nonsense), 1)
    assert 1 == len(list((tmp_path / "t/metadata").iterdir()))


def test_a_folder_that_cannot_be_written_to_is_an_error_that_names_the_file(reader, put, version_of, tmp_path):
    version = version_of(put("t/metadata/00000-a.metadata.json", table(tmp_path / "t").bytes()), 4)
    put("file", b"")
    with pytest.raises(UnwritableFileError, match=f"cannot write {tmp_path}/file/00001-"):
        reader.write_without(version, [1], folder=f"{tmp_path}/file/", now=NOW)


def test_a_file_io_of_ones_own_writes_what_it_reads(put, version_of, tmp_path):
    version = version_of(put("t/metadata/00000-a.metadata.json", table(tmp_path / "t").bytes()), 4)
    properties = {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
    with IcebergContentToFiles.from_options({"properties": properties}) as reader:
        path = reader.write_without(version, [1], folder=f"{tmp_path}/t/metadata/", now=NOW)
    assert [2, 3, 4] == [each["snapshot-id"] for each in json.loads(Path(path).read_bytes())["snapshots"]]


def test_what_is_not_there_after_it_was_written_is_an_error(put, version_of, tmp_path):
    version = version_of(put("t/metadata/00000-a.metadata.json", table(tmp_path / "t").bytes()), 4)
    properties = {"py-io-impl": "forgetful_file_io.ForgetfulFileIO"}
    with (
        IcebergContentToFiles.from_options({"properties": properties}) as reader,
        pytest.raises(UnwritableFileError, match="after it was written, it does not exist"),
    ):
        reader.write_without(version, [1], folder=f"{tmp_path}/t/metadata/", now=NOW)
