"""S34 at random: bits, cuts, doubled and zeroed bytes in metadata, manifest lists and manifests take no live file.

What a mutated file still says is decoded once more, by a full decoder that is held to every byte. Only where that finds
as many live entries (or manifests) under other names, a file may seem to be another one: the mutated file is then a
valid state, and nothing in it shows that it was mutated. Every run makes 3,000 mutations: of three kinds of files, with
six codecs.
"""

from __future__ import annotations

import bz2
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
import zstandard
from damaged_tables import WrittenTable, with_records, written_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nessie_gc_iceberg_files import IcebergContentToFiles
from scenes import START
from thoroughness import examples

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion

IN_MANY_BLOCKS = ["gzip", "zstd"]
"""As PyIceberg writes them, with one record in each block."""
IN_ONE_BLOCK = ["null", "deflate", "snappy", "zstandard"]
Mutation = Callable[[bytes], bytes]


# ---- mutations ----------------------------------------------------------------------------------------
def flipped(data: bytes, *, at: int, bit: int) -> bytes:
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def cut(data: bytes, *, at: int) -> bytes:
    return data[: at % len(data)]


def doubled(data: bytes, *, at: int, size: int) -> bytes:
    at %= len(data)
    return data[:at] + data[at : at + size] * 2 + data[at + size :]


def zeroed(data: bytes, *, at: int, size: int) -> bytes:
    at %= len(data)
    return data[:at] + bytes(len(data[at : at + size])) + data[at + size :]


def removed(data: bytes, *, at: int, size: int) -> bytes:
    at %= len(data)
    return data[:at] + data[at + size :]


PLACES = st.integers(0, 1 << 20)
SIZES = st.sampled_from([1, 1, 2, 3, 8, 50, 500])
MUTATIONS = st.one_of(
    st.builds(partial, st.just(flipped), at=PLACES, bit=st.integers(0, 7)),
    st.builds(partial, st.just(flipped), at=PLACES, bit=st.integers(0, 7)),
    st.builds(partial, st.just(cut), at=PLACES),
    *(st.builds(partial, st.just(each), at=PLACES, size=SIZES) for each in (doubled, zeroed, removed)),
)


# ---- an independent decoder ---------------------------------------------------------------------------
def unsnapped(packed: bytes) -> bytes:
    size, at = 0, 0
    while True:
        size |= (packed[at] & 0x7F) << 7 * at
        at += 1
        if packed[at - 1] < 0x80:
            return bytes(pa.decompress(packed, decompressed_size=size, codec="snappy", asbytes=True))


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda block: zlib.decompressobj(wbits=-15).decompress(block),
    "snappy": lambda block: unsnapped(block[:-4]),
    "zstandard": lambda block: zstandard.ZstdDecompressor().decompressobj().decompress(block),
    "bzip2": bz2.decompress,
}


def records(data: bytes) -> list[Any] | None:
    """The records of an Avro file in which every byte is used; ``None``: there is one that is not."""
    try:
        reader = fastavro.reader(io.BytesIO(data))
        schema, marker = reader.writer_schema, reader._header["sync"]
        stream = io.BytesIO(data[data.index(marker) + 16 :])
        found: list[Any] = []
        while stream.tell() < len(stream.getbuffer()):
            number, size = (int(str(fastavro.schemaless_reader(stream, "long"))) for _ in range(2))
            block = io.BytesIO(UNPACK[reader.codec](stream.read(size)))
            found.extend(fastavro.schemaless_reader(block, schema) for _ in range(number))
            if block.read() or stream.read(16) != marker:
                return None
    except Exception:  # noqa: BLE001 - decoders raise anything on damaged bytes
        return None
    return found


# ---- a table, and what it reaches ---------------------------------------------------------------------
class Lake:
    """A table whose files can be replaced in memory."""

    def __init__(self, table: WrittenTable, reader: IcebergContentToFiles, files: dict[str, bytes]) -> None:
        self.table, self.reader, self.files = table, reader, files
        self.reached = self.walk()

    def __repr__(self) -> str:
        return "Lake()"

    def walk(self, path: str | None = None, data: bytes = b"") -> Counter[str]:
        """What the table reaches, by kind, if one of its files holds something else."""
        held = self.files if path is None else {**self.files, path: data}
        self.reader._reader.read = lambda location, *_: held[location]  # type: ignore[method-assign]
        version = ContentVersion(
            content_id="t",
            content_type=ICEBERG_TABLE,
            metadata_location=self.table.metadata_location,
            snapshot_id=self.table.snapshot_id,
            content_key="db.t",
            commit_id="",
        )
        found = Counter(f"{file.kind} {file.path}" for file in self._walk(version))
        return Counter(dict.fromkeys(found, 1))

    def _walk(self, version: ContentVersion) -> Iterator[ReachableFile]:
        waiting = list(self.reader.files(version))
        seen: set[ReachableFile] = set()
        while waiting:
            file = waiting.pop()
            if file not in seen:
                seen.add(file)
                yield file
                waiting.extend(self.reader.expand(file))

    def path_of(self, kind: str) -> str:
        paths = {
            "metadata": self.table.metadata_location,
            "manifest list": f"file://{self.table.manifest_list}",
            "manifest": f"file://{self.table.manifests[-1]}",
        }
        return paths[kind]


@pytest.fixture(scope="module", params=[*IN_MANY_BLOCKS, *IN_ONE_BLOCK])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    folder = tmp_path_factory.mktemp("damaged") / "wh"
    one_block = request.param in IN_ONE_BLOCK
    table = written_table(folder, START, codec="gzip" if one_block else request.param, appends=5)
    if one_block:
        (manifest,) = table.manifests
        packed = partial(with_records, codec=request.param)
        table.rewrite(manifest, lambda data: packed(data, list))
        length = {"manifest_length": manifest.stat().st_size}
        table.rewrite(
            table.manifest_list, lambda data: packed(data, lambda found: [{**each, **length} for each in found])
        )
    files = {f"file://{path}": path.read_bytes() for path in Path(folder).rglob("metadata/*")}
    with IcebergContentToFiles.from_options({}) as reader:
        yield Lake(table, reader, files)


def count(kind: str, data: bytes) -> int | None:
    """How many manifests a list names, or how many live files a manifest; ``None``: it cannot be decoded."""
    found = records(data)
    if found is None or kind == "manifest list":
        return None if found is None else len(found)
    return sum(entry["status"] != 2 for entry in found)


def check(lake: Lake, kind: str, mutation: Mutation) -> None:
    path = lake.path_of(kind)
    data = mutation(lake.files[path])
    try:
        reached = lake.walk(path, data)
    except UnreadableFileError:
        return  # then the table is frozen
    except KeyError:
        return  # it names a file that does not exist, which is unreadable for everyone but this test
    missing = lake.reached - reached
    if not missing:
        return
    assert all(each.startswith(FileKind.DATA) for each in missing)
    assert kind == "manifest"
    assert (count(kind, lake.files[path]), count(kind, data)) == (5, 5)
    assert len(missing) == len(reached - lake.reached)


@pytest.mark.parametrize("kind", ["metadata", "manifest list", "manifest"])
@given(mutation=MUTATIONS)
@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
def test_s34_no_mutation_takes_a_live_file(lake: Lake, kind: str, mutation: Mutation) -> None:
    check(lake, kind, mutation)


@pytest.mark.parametrize("kind", ["manifest list", "manifest"])
@given(at=PLACES, bit=st.integers(0, 7))
@settings(max_examples=examples(70), deadline=None, suppress_health_check=list(HealthCheck))
def test_s34_where_there_is_a_checksum_no_wrong_bit_makes_another_name_of_one(
    lake: Lake, kind: str, at: int, bit: int
) -> None:
    """PyIceberg leaves three bytes of one behind deflate, and snappy has one; what is not packed has none."""
    path = lake.path_of(kind)
    if b"snappy" not in lake.files[path] and b"deflate" not in lake.files[path]:
        return
    try:
        reached = lake.walk(path, flipped(lake.files[path], at=at, bit=bit))
    except UnreadableFileError:
        return
    assert not lake.reached - reached


def test_the_table_reaches_what_it_should(lake: Lake) -> None:
    assert 5 == sum(each.startswith(f"{FileKind.DATA} ") for each in lake.reached)
    metadata = json.loads(lake.files[lake.table.metadata_location])
    assert 5 == len(metadata["snapshots"])
