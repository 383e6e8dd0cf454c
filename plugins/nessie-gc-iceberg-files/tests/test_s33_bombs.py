"""S33: what a file unpacks to has a limit that is stated and can be set; past it, that one file is unreadable."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from iceberg_lake import Entry, Table, avro_bytes, manifest_bytes, manifest_list_bytes, manifest_schema, view_bytes
from nessie_gc_iceberg_files import IcebergContentToFiles
from nessie_gc_iceberg_files.quick_reads import QuickReads
from obstore.store import MemoryStore

from nessie_gc_core.errors import ConfigurationError, UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.repository import ICEBERG_VIEW
from nessie_gc_core.model.unpacking import Limit, TooMuchError

MEBIBYTE = 1024 * 1024


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


def padded(size: int) -> bytes:
    """Metadata of a table, with so many more bytes in it."""
    return json.dumps({**Table(location="/t").fields(), "padding": "x" * size}).encode()


def padded_manifest(size: int, codec: str, entries: int = 1) -> bytes:
    """A manifest whose entries have so many more bytes in them."""
    record: Any = next(iter(fastavro.reader(pa.BufferReader(manifest_bytes([Entry("/a")])))))
    schema = manifest_schema(2)
    schema["fields"].append({"name": "padding", "type": "bytes"})
    return avro_bytes(schema, [{**record, "padding": bytes(size)}] * entries, codec=codec)


def read(options, put, version_of, data, name="1.metadata.json"):
    with IcebergContentToFiles.from_options(options) as reader:
        return [file.location for file in reader.files(version_of(put(name, data)))]


def expand(options, put, data, kind=FileKind.MANIFEST):
    with IcebergContentToFiles.from_options(options) as reader:
        return [file.path for file in reader.expand(ReachableFile(path=put("m.avro", data), kind=kind))]


# ---- limits -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_metadata_that_unpacks_to_more_than_its_limit_is_unreadable(put, version_of, pack):
    data, options = pack(padded(100_000)), {"max_metadata_bytes": 100_000}
    with pytest.raises(UnreadableFileError, match="more than 100,000 bytes; the limit is max_metadata_bytes"):
        read(options, put, version_of, data)
    assert ["/t"] == read({"max_metadata_bytes": 200_000}, put, version_of, data)


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_manifests_that_unpack_to_more_than_their_limit_are_unreadable(put, codec):
    data = padded_manifest(10_000, codec, entries=20)
    with pytest.raises(UnreadableFileError, match="more than 100,000 bytes; the limit is max_manifest_bytes"):
        expand({"max_manifest_bytes": 100_000}, put, data)
    assert ["/a"] * 20 == expand({"max_manifest_bytes": 300_000}, put, data)


def test_manifest_lists_have_a_limit_of_their_own(put):
    data = manifest_list_bytes(["/m"] * 100)
    with pytest.raises(UnreadableFileError, match="the limit is max_manifest_list_bytes"):
        expand({"max_manifest_list_bytes": 100}, put, data, FileKind.MANIFEST_LIST)
    assert ["/m"] * 100 == expand({"max_manifest_bytes": 1}, put, data, FileKind.MANIFEST_LIST)


@pytest.mark.parametrize("codec", ["zstandard", "bzip2"])
def test_what_unpacks_to_more_than_so_many_times_its_size_is_unreadable(put, codec):
    data = padded_manifest(20 * MEBIBYTE, codec)
    with pytest.raises(UnreadableFileError, match="more than 1,000 times its size; the limit is max_unpack_ratio"):
        expand({}, put, data)
    assert ["/a"] == expand({"max_unpack_ratio": 1_000_000}, put, data)


def test_a_little_file_may_unpack_to_sixteen_mebibytes_whatever_the_ratio(put):
    assert ["/a"] == expand({"max_unpack_ratio": 1}, put, padded_manifest(15 * MEBIBYTE, "zstandard"))


def test_views_have_the_limit_of_metadata(put, version_of):
    version = version_of(put("v.json", view_bytes("/v", packed=True)), content_type=ICEBERG_VIEW)
    with IcebergContentToFiles.from_options({"max_metadata_bytes": 50}) as reader:
        with pytest.raises(UnreadableFileError, match="max_metadata_bytes"):
            list(reader.files(version))
        assert reader.named_places(version) is None


def test_json_of_many_small_values_takes_more_memory_than_its_text_and_has_a_limit_as_well(put, version_of):
    text = json.dumps({**Table(location="/t").fields(), "padding": [[]] * 1000}).encode()
    with pytest.raises(UnreadableFileError, match="too many values; the limit is a sixteenth of max_metadata_bytes"):
        read({"max_metadata_bytes": 100_000}, put, version_of, text)
    assert ["/t"] == read({"max_metadata_bytes": 200_000}, put, version_of, text)


@pytest.mark.parametrize("name", ["max_metadata_bytes", "max_manifest_bytes", "max_unpack_ratio"])
def test_a_limit_of_nothing_is_no_limit(name):
    with pytest.raises(ConfigurationError, match=name):
        IcebergContentToFiles.from_options({name: 0})


# ---- what is stored -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [FileKind.MANIFEST_LIST, FileKind.MANIFEST])
@pytest.mark.parametrize("file_io", [{}, {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}])
def test_a_huge_file_that_metadata_names_as_a_manifest_is_not_read(tmp_path, kind, file_io):
    path = tmp_path / "data.parquet"
    path.touch()
    os.truncate(path, 1 << 40)
    limits = {"max_manifest_bytes": 1 << 20, "max_manifest_list_bytes": 1 << 20}
    file = ReachableFile(path=f"file://{path}", kind=kind)
    with (
        IcebergContentToFiles.from_options({"properties": file_io, **limits}) as reader,
        pytest.raises(UnreadableFileError, match="more than 1,048,576 bytes"),
    ):
        list(reader.expand(file))


def test_a_huge_object_is_refused_by_its_size():
    store = MemoryStore()
    store.put("a", b"x" * 100)
    reads = QuickReads(lambda: store)
    limit = Limit(option="max_metadata_bytes", most=99)
    with pytest.raises(TooMuchError, match="max_metadata_bytes"):
        reads.read("a", limit)
    assert b"x" * 100 == reads.read("a", replace(limit, most=100))


# ---- depth --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("deep", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_json_that_is_nested_too_deeply_is_unreadable(put, version_of, deep, pack):
    with pytest.raises(UnreadableFileError, match="nested too deeply"):
        read({}, put, version_of, pack(deep))


def test_so_is_a_schema(put):
    data = manifest_bytes([Entry("/a")], codec="null")
    deep = b'{"type":' * 100_000
    with pytest.raises(UnreadableFileError):
        expand({}, put, b"Obj\x01\x02\x16avro.schema" + _long(len(deep)) + deep + b"\0" + data[-16:])


def _long(number: int) -> bytes:
    out, value = bytearray(), number << 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# ---- memory -------------------------------------------------------------------------------------------
_READS = """
import resource, sys
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_iceberg_files import IcebergContentToFiles
from nessie_gc_iceberg_files.quick_reads import QuickReads
from obstore.store import MemoryStore

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]), int(sys.argv[2])))
version = ContentVersion(content_id="t", content_type=ICEBERG_TABLE, metadata_location=sys.argv[1], snapshot_id=None,
                         content_key="t", commit_id="")
with IcebergContentToFiles.from_options({}) as reader:
    try:
        if sys.argv[1].endswith(".avro"):
            list(reader.expand(ReachableFile(path=sys.argv[1], kind="MANIFEST")))
        else:
            list(reader.files(version))
    except UnreadableFileError as error:
        print(error.reason)
"""


@pytest.mark.parametrize(
    ("name", "made", "limit"),
    [
        ("m.avro", lambda: padded_manifest(800 * MEBIBYTE, "zstandard"), "max_unpack_ratio"),
        ("1.metadata.json.gz", lambda: gzip.compress(bytes(1536 * MEBIBYTE)), "max_metadata_bytes"),
        ("1.metadata.json", lambda: zstd(bytes(1536 * MEBIBYTE)), "max_unpack_ratio"),
    ],
    ids=["manifest", "gzip", "zstd"],
)
def test_memory_is_bounded_by_the_limit_and_not_by_what_a_file_unpacks_to(put, name, made, limit):
    allowed = 1536 * MEBIBYTE  # of address space, half of which Python's libraries reserve
    path = put(name, made())
    run = subprocess.run(
        [sys.executable, "-c", _READS, path, str(allowed)], capture_output=True, text=True, timeout=200, check=False
    )
    assert limit in run.stdout, run.stderr
