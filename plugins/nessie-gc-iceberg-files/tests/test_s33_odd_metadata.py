"""S33: metadata is read however it is packed; its times are no reason not to."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from iceberg_lake import Snapshot, Table, view_bytes

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.repository import ICEBERG_VIEW


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


NAMES = [
    f"1{suffix}" for suffix in (".metadata.json", ".zstd.metadata.json", ".metadata.json.zstd", ".metadata.json.zst")
]


@pytest.mark.parametrize("name", [*NAMES, "1.metadata.json.gz"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd, lambda data: zstd(data[:50]) + zstd(data[50:])])
def test_tables_and_views_are_unpacked_by_their_first_bytes_whatever_their_names(reader, put, version_of, name, pack):
    path = put(name, pack(Table(location="/t").bytes()))
    assert ["/t"] == [file.location for file in reader.files(version_of(path))]
    assert "/t" in (reader.named_places(version_of(path)) or ())
    view = version_of(put(name, pack(view_bytes("/v"))), content_type=ICEBERG_VIEW)
    assert ["/v"] == [file.location for file in reader.files(view)]


@pytest.mark.parametrize("name", NAMES)
def test_what_has_such_a_name_may_be_what_a_version_points_to(reader, name):
    assert reader.may_be_root(f"s3://b/t/metadata/{name}")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_is_cut_off_or_damaged_is_unreadable(reader, put, version_of, pack):
    whole = pack(Table(location="/t").bytes())
    for data in (whole[:-1], whole[: len(whole) // 2], whole + b"?", whole[:20] + bytes(4) + whole[24:]):
        with pytest.raises(UnreadableFileError):
            list(reader.files(version_of(put("1.metadata.json", data))))


def test_times_in_microseconds_are_times_to_the_reader_too(reader, put, version_of):
    micros = {"timestamp-ms": 1_795_833_721_519_437}
    fields = {"last-updated-ms": micros["timestamp-ms"], "snapshot-log": [{**micros, "snapshot-id": 1}]}
    table = Table(location="/t", snapshots=[Snapshot(1, "/l")], current=1, extra=fields)
    version = version_of(put("1.metadata.json", table.bytes()), 1)
    assert ["/t", "/l"] == [file.path if file.kind != "METADATA" else file.location for file in reader.files(version)]
    metadata = reader.table_metadata(version, reference="main")
    assert ((micros["timestamp-ms"], 1),) == metadata.snapshot_log
