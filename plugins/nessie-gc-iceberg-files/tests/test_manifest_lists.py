"""Manifest lists in full, live entries of manifests, and the types of partition fields."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import fastavro
import pytest
from nessie_gc_iceberg_files.entries import live_entries
from nessie_gc_iceberg_files.fields import decimal_fields, read_fields
from nessie_gc_iceberg_files.manifest_lists import described
from nessie_gc_iceberg_files.partition_types import bound, partition_types

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.manifests import Manifest, ManifestContent, PartitionRange

SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        {"name": "contains_null", "type": "boolean"},
        {"name": "contains_nan", "type": ["null", "boolean"], "default": None},
        {"name": "lower_bound", "type": ["null", "bytes"], "default": None},
        {"name": "upper_bound", "type": ["null", "bytes"], "default": None},
    ],
}


def avro(schema: Mapping[str, Any], *records: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(dict(schema)), records, codec="deflate")
    return buffer.getvalue()


def manifest_list(*, early: bool = False, **values: Any) -> bytes:
    """One manifest, as writers of version 2 describe it, or as early ones of version 1 do."""
    data = "data_" if early else ""
    counts = [f"{what}_{data}files_count" for what in ("added", "existing", "deleted")]
    fields = [
        {"name": "manifest_path", "type": "string"},
        {"name": "manifest_length", "type": "long"},
        {"name": "partition_spec_id", "type": "int"},
        *([] if early else [{"name": name, "type": "long"} for name in ("sequence_number", "min_sequence_number")]),
        *([] if early else [{"name": "content", "type": "int"}]),
        {"name": "added_snapshot_id", "type": ["null", "long"]},
        *({"name": name, "type": ["null", "int"]} for name in counts),
        {"name": "partitions", "type": ["null", {"type": "array", "items": SUMMARY}]},
    ]
    record = {
        "manifest_path": "m.avro",
        "manifest_length": 7,
        "partition_spec_id": 0,
        "sequence_number": 3,
        "min_sequence_number": 2,
        "content": 1,
        "added_snapshot_id": 11,
        **dict(zip(counts, (4, 5, 6), strict=True)),
        "partitions": None,
        **values,
    }
    return avro({"type": "record", "name": "manifest_file", "fields": fields}, record)


def the_one(data: bytes, types: Mapping[int, list[str]] | None = None) -> Manifest:
    (found,) = described("list", data, types or {})
    return found


# ---- manifest lists -----------------------------------------------------------------------------------
def test_everything_that_the_list_says_is_there() -> None:
    assert the_one(manifest_list()) == Manifest(
        path="m.avro",
        length=7,
        content=ManifestContent.DELETES,
        spec_id=0,
        sequence_number=3,
        min_sequence_number=2,
        snapshot_id=11,
        added_files=4,
        existing_files=5,
        deleted_files=6,
    )


def test_early_writers_have_other_names_for_counts_and_no_deletes() -> None:
    found = the_one(manifest_list(early=True))
    assert (ManifestContent.DATA, 0, 9, True) == (found.content, found.sequence_number, found.files, found.is_counted)


def test_counts_that_nobody_wrote_are_not_zero() -> None:
    found = the_one(manifest_list(early=True, existing_data_files_count=None))
    assert (None, False) == (found.files, found.is_counted)


def test_ranges_have_the_types_of_their_fields() -> None:
    summaries = [
        {"contains_null": False, "lower_bound": b"\x05\0\0\0", "upper_bound": b"\x07\0\0\0"},
        {"contains_null": True, "contains_nan": False, "lower_bound": b"a", "upper_bound": b"b"},
    ]
    assert (
        PartitionRange(lower=5, upper=7, contains_null=False, contains_nan=False),
        PartitionRange(lower="a", upper="b", contains_null=True, contains_nan=False),
    ) == the_one(manifest_list(partitions=summaries), {0: ["int", "string"]}).partitions


@pytest.mark.parametrize("types", [{}, {0: ["int", "int"]}, {0: [""]}])
def test_ranges_of_specs_that_are_not_known_are_not_known(types: dict[int, list[str]]) -> None:
    summary = {"contains_null": False, "lower_bound": b"\x05\0\0\0", "upper_bound": b"\x07\0\0\0"}
    assert the_one(manifest_list(partitions=[summary]), types).partitions is None


def test_an_unpartitioned_spec_has_no_ranges() -> None:
    assert () == the_one(manifest_list(partitions=None), {0: []}).partitions


@pytest.mark.parametrize("values", [{"content": 7}, {"manifest_length": -1}, {"manifest_path": ""}])
def test_a_list_that_makes_no_sense_is_unreadable(values: dict[str, Any]) -> None:
    with pytest.raises(UnreadableFileError):
        the_one(manifest_list(**values))


def test_a_list_that_is_cut_off_is_unreadable() -> None:
    with pytest.raises(UnreadableFileError):
        the_one(manifest_list()[:-3])


# ---- types of partition fields ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("type_", "data", "value"),
    [
        ("int", b"\xff\xff\xff\xff", -1),
        ("long", b"\x01\0\0\0", 1),  # written when it was an int
        ("date", b"\x0a\0\0\0", 10),
        ("timestamptz_ns", b"\x02" + bytes(7), 2),
        ("boolean", b"\x01", True),
        ("double", b"\0\0\xc0\x3f", 1.5),  # written when it was a float
        ("decimal(9,2)", b"\xff\x38", -200),
        ("string", "ä".encode(), "ä"),
        ("uuid", bytes(16), bytes(16)),
        ("fixed[2]", b"ab", b"ab"),
        ("float", b"\0", None),
        ("int", b"", None),
        ("int", None, None),
        ("geometry", b"ab", None),
    ],
)
def test_bounds_are_read_by_their_type(type_: str, data: bytes | None, value: object) -> None:
    assert value == bound(data, type_)


def test_transforms_decide_the_type_of_a_field() -> None:
    nested = {"type": "struct", "fields": [{"id": 3, "name": "c", "type": "decimal(9, 2)"}]}
    schema = {"fields": [{"id": 1, "name": "a", "type": "string"}, {"id": 2, "name": "b", "type": nested}]}
    fields = [
        {"source-id": 1, "transform": "truncate[4]"},
        {"source-id": 1, "transform": "bucket[16]"},
        {"source-id": 3, "transform": "identity"},
        {"source-id": 9, "transform": "identity"},
    ]
    specs = [{"spec-id": 4, "fields": fields}]
    assert {4: ["string", "int", "decimal(9,2)", ""]} == partition_types(
        {"schemas": [schema], "partition-specs": specs}
    )
    assert {0: ["string"]} == partition_types({"schema": schema, "partition-spec": fields[:1]})


ROW = {"type": "record", "name": "r102"}


# ---- entries ------------------------------------------------------------------------------------------
def manifest(*entries: Mapping[str, Any]) -> bytes:
    partition = {
        "type": "record",
        "name": "r102",
        "fields": [
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
            {
                "name": "price",
                "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}],
            },
            {"name": "weight", "type": ["null", "double"]},
        ],
    }
    file = [
        {"name": "content", "type": "int"},
        {"name": "file_path", "type": "string"},
        {"name": "file_format", "type": "string"},
        {"name": "partition", "type": partition},
        {"name": "record_count", "type": "long"},
        {"name": "file_size_in_bytes", "type": "long"},
        {"name": "key_metadata", "type": ["null", "bytes"]},
        {"name": "referenced_data_file", "type": ["null", "string"]},
        {"name": "content_offset", "type": ["null", "long"]},
    ]
    schema = {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            {"name": "status", "type": "int"},
            {"name": "snapshot_id", "type": ["null", "long"]},
            {"name": "sequence_number", "type": ["null", "long"]},
            {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": file}},
        ],
    }
    return avro(schema, *entries)


def entry(status: int = 1, *, partition: tuple[Any, Any, Any] = (1, b"\x01", 1.0), **file: Any) -> dict[str, Any]:
    named = dict(zip(("day", "price", "weight"), partition, strict=True))
    found = {"content": 0, "file_path": "d.parquet", "file_format": "parquet", "record_count": 3}
    more = {"file_size_in_bytes": 9, "partition": named, "key_metadata": b"?", "content_offset": None}
    sequence_number = file.pop("sequence_number", None)
    data_file = {**found, **more, "referenced_data_file": None, **file}
    snapshot_id = data_file.pop("snapshot_id", 1)
    return {"status": status, "snapshot_id": snapshot_id, "sequence_number": sequence_number, "data_file": data_file}


def entries(*given: Mapping[str, Any], sequence_number: int = 8) -> list[Any]:
    described_by = Manifest(path="m", length=0, spec_id=5, sequence_number=sequence_number, snapshot_id=11)
    return list(live_entries(described_by, manifest(*given)))


def test_an_entry_has_what_compaction_asks_for() -> None:
    vector: dict[str, Any] = {
        "content": 1,
        "file_format": "PUFFIN",
        "referenced_data_file": "d.parquet",
        "content_offset": 4,
    }
    data, deletes = entries(entry(), entry(0, sequence_number=6, file_path="p.puffin", **vector))
    assert ("d.parquet", "DATA", "PARQUET", 9, 3, 5) == (
        data.path,
        data.kind,
        data.file_format,
        data.size,
        data.records,
        data.spec_id,
    )
    assert ("DELETION_VECTOR", 6, "d.parquet", 4) == (
        deletes.kind,
        deletes.sequence_number,
        deletes.referenced_data_file,
        deletes.content_offset,
    )


def test_added_files_inherit_the_sequence_number_of_their_manifest() -> None:
    assert [8, 7] == [found.sequence_number for found in entries(entry(), entry(sequence_number=7))]


def test_added_files_inherit_the_snapshot_of_their_manifest() -> None:
    assert [1, 11] == [found.snapshot_id for found in entries(entry(), entry(snapshot_id=None))]


def test_deleted_files_are_left_out() -> None:
    assert [] == entries(entry(2))


def test_partitions_that_are_equal_have_equal_values() -> None:
    """Whatever bytes a decimal has, and of NaN, too."""
    first, second = entries(entry(partition=(1, b"\x01", math.nan)), entry(partition=(1, b"\0\x01", math.nan)))
    assert first.partition == second.partition
    assert (1, 1) == first.partition[:2]


def test_the_zeros_are_two_partitions() -> None:
    found = [each.partition for each in entries(*(entry(partition=(1, None, zero)) for zero in (0.0, -0.0, -0.0)))]
    assert {found[0], found[1]} == set(found)
    assert (2, True) == (len(set(found)), found[1] == found[2])
    assert ["0.0", "-0.0", "-0.0"] == [str(each[2]) for each in found]


def test_decimals_of_one_type_are_numbers_wherever_they_stand() -> None:
    """Avro names a type where it comes once more."""
    decimal = {"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
    fields = [{"name": "a", "type": ["null", decimal]}, {"name": "b", "type": ["null", "decimal_9_2"]}]
    schema = {"type": "record", "name": "r", "fields": [{"name": "p", "type": {**ROW, "fields": fields}}]}
    assert {"a", "b"} == decimal_fields(avro(schema), "p")


def test_a_date_that_no_calendar_has_is_a_number() -> None:
    assert [(10**9, None, None)] == [found.partition for found in entries(entry(partition=(10**9, None, None)))]


@pytest.mark.parametrize(
    "values", [{"content": 9}, {"file_path": ""}, {"record_count": -1}, {"file_size_in_bytes": -1}]
)
def test_entries_that_make_no_sense_are_unreadable(values: dict[str, Any]) -> None:
    with pytest.raises(UnreadableFileError):
        entries(entry(**values))


def test_an_unknown_status_is_unreadable() -> None:
    with pytest.raises(UnreadableFileError):
        entries(entry(9))


def test_what_is_no_avro_file_has_no_fields() -> None:
    with pytest.raises(UnreadableFileError):
        read_fields("m", b"Obj\x01", frozenset({"status"}))
