"""The projecting decoder gives what a full decoder gives, or says that it cannot."""

from __future__ import annotations

import io
import itertools
import json

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iceberg_lake import Entry, avro_bytes, manifest_bytes
from nessie_gc_iceberg_files import avro
from nessie_gc_iceberg_files.manifests import _MANIFEST as COLUMNS
from nessie_gc_iceberg_files.options import MANIFEST_LIMIT
from nessie_gc_iceberg_files.projection import NotProjectable, Projection

from nessie_gc_core.errors import UnreadableFileError

INT = st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1))
LONG = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
BYTES = st.one_of(st.binary(max_size=8), st.binary(min_size=60, max_size=70), st.binary(min_size=200, max_size=300))
TEXT = st.one_of(
    st.text(max_size=8),
    st.text(st.sampled_from("aß🧊"), min_size=30, max_size=80),
    st.integers(250, 400).map("a".__mul__),
)
LEAVES = [
    ("int", INT),
    ("long", LONG),
    ("boolean", st.booleans()),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", BYTES),
    ("string", TEXT),
    ("null", st.none()),
]


@st.composite
def types(draw, depth=2):  # noqa: PLR0911 - one way out for each kind of type
    """An Avro type, and a strategy of its values."""
    kinds = ["leaf", "leaf", "fixed", "enum"] + (["optional", "array", "map", "record"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    name = f"n{draw(st.shared(st.builds(itertools.count), key='names')).__next__()}"
    if kind == "leaf":
        return draw(st.sampled_from(LEAVES))
    if kind == "fixed":
        size = draw(st.integers(1, 20))
        return {"type": "fixed", "name": name, "size": size}, st.binary(min_size=size, max_size=size)
    if kind == "enum":
        return {"type": "enum", "name": name, "symbols": ["A", "B"]}, st.sampled_from(["A", "B"])
    inner, values = draw(types(depth=depth - 1))
    if kind == "optional":
        if inner == "null" or isinstance(inner, list):
            return inner, values
        return ["null", inner], st.none() | values
    if kind == "array" and is_empty(inner):  # such arrays are refused: they may have any length
        return inner, values
    sizes = {"min_size": draw(st.sampled_from([0, 0, 70])), "max_size": 75}
    if kind == "array":
        return {"type": "array", "items": inner}, st.lists(values, **sizes) | st.lists(values, max_size=3)
    if kind == "map":
        return {"type": "map", "values": inner}, st.dictionaries(st.text(max_size=3), values, max_size=3)
    return (
        {"type": "record", "name": name, "fields": [{"name": "inner", "type": inner}]},
        st.fixed_dictionaries({"inner": values}),
    )


def is_empty(type_):
    """Whether its values have no bytes."""
    return type_ == "null" or (isinstance(type_, dict) and "fields" in type_ and is_empty(type_["fields"][0]["type"]))


@st.composite
def manifests(draw):
    """A schema that has the wanted fields among others, and records of it."""
    wanted = [("content", "int", INT), ("file_path", "string", TEXT), ("file_format", "string", TEXT)]
    if draw(st.booleans()):
        wanted = wanted[1:]
    others = [(f"other{n}", *draw(types())) for n in range(draw(st.integers(0, 4)))]
    file_fields = draw(st.permutations([*wanted, *others]))
    entry_fields = draw(st.permutations([("status", "int", INT), (f"first{len(others)}", *draw(types()))]))
    file = {"type": "record", "name": "r2", "fields": [{"name": n, "type": t} for n, t, _ in file_fields]}
    fields = [{"name": n, "type": t} for n, t, _ in entry_fields] + [{"name": "data_file", "type": file}]
    record = st.fixed_dictionaries(
        {
            **{name: values for name, _, values in entry_fields},
            "data_file": st.fixed_dictionaries({name: values for name, _, values in file_fields}),
        }
    )
    return {"type": "record", "name": "manifest_entry", "fields": fields}, draw(st.lists(record, max_size=6))


def both(data):
    container = avro.check_container(data)
    quick = avro._read_quickly(container, data, COLUMNS, MANIFEST_LIMIT)
    return quick, avro._read_thoroughly(container, data, COLUMNS, MANIFEST_LIMIT)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    manifests(), st.sampled_from(["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]), st.sampled_from([1, 16000])
)
def test_it_gives_what_a_full_decoder_gives(made, codec, sync_interval):
    schema, records = made
    quick, thorough = both(avro_bytes(schema, records, codec=codec, sync_interval=sync_interval))
    assert thorough == quick
    assert [len(records)] * len(COLUMNS) == [*map(len, quick)]


@settings(max_examples=300, deadline=None)
@given(position=st.integers(min_value=0), value=st.integers(0, 255), count=st.integers(1, 40))
def test_damage_gives_an_error_or_what_a_full_decoder_gives(position, value, count):
    data = bytearray(manifest_bytes([Entry(f"s3://b/{n}") for n in range(count)], codec="null"))
    data[position % len(data)] = value
    try:
        columns = avro.read_columns("m.avro", bytes(data), COLUMNS)
    except UnreadableFileError:
        return
    assert [count] * len(COLUMNS) == [*map(len, columns)]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 5))
def test_bytes_of_chance_are_rows_or_not_projectable(block, count):
    schema = json.loads(avro.check_container(manifest_bytes([Entry("x")])).schema)
    try:
        columns = Projection(schema, COLUMNS).columns(block, count)
    except NotProjectable:
        return
    assert [count] * len(COLUMNS) == [*map(len, columns)]


def test_arrays_in_several_blocks_and_with_sizes_are_stepped_over():
    schema = {
        "type": "record",
        "name": "e",
        "fields": [
            {"name": "skipped", "type": {"type": "array", "items": "int"}},
            {"name": "status", "type": "int"},
        ],
    }
    sized, plain, end = b"\x03\x04\x02\x02", b"\x04\x02\x02", b"\x00"  # -2 items in 2 bytes; 2 items
    column = tuple(column for column in COLUMNS if column.name == "status")
    projection = Projection(schema, column)
    for blocks in itertools.product([sized, plain], repeat=3):
        assert [[1]] == projection.columns(b"".join(blocks) + end + b"\x02", 1)


def test_numbers_that_are_written_too_long_are_read():
    fields = [{"name": "o", "type": ["null", "int"]}, {"name": "status", "type": "int"}]
    schema = {"type": "record", "name": "e", "fields": fields}
    column = tuple(column for column in COLUMNS if column.name == "status")
    assert [[1]] == Projection(schema, column).columns(b"\x82\x00\x06\x82\x00", 1)


@pytest.mark.parametrize("type_", [["null", "string"], {"type": "string"}, "bytes"])
def test_fields_of_other_types_are_left_to_the_full_decoder(type_):
    fields = [{"name": "status", "type": type_}]
    with pytest.raises(NotProjectable):
        Projection({"type": "record", "name": "e", "fields": fields}, COLUMNS[:1])


def test_a_type_that_is_used_by_its_name_is_left_to_the_full_decoder():
    fixed = {"type": "fixed", "name": "id", "size": 2}
    file = [
        {"name": "a", "type": fixed},
        {"name": "b", "type": "id"},
        {"name": "file_path", "type": "string"},
        {"name": "file_format", "type": "string"},
    ]
    fields = [
        {"name": "status", "type": "int"},
        {"name": "data_file", "type": {"type": "record", "name": "f", "fields": file}},
    ]
    row = {"status": 1, "data_file": {"a": b"xx", "b": b"yy", "file_path": "/p", "file_format": "PARQUET"}}
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "e", "fields": fields}, [row])
    assert [[1], [0], ["/p"], ["PARQUET"]] == avro.read_columns("m.avro", out.getvalue(), COLUMNS)
