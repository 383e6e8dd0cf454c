"""Types of partition fields, and the values of their bounds in manifest lists."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from nessie_gc_core.model.manifests import PartitionValue

_OF_SOURCE = re.compile(r"identity|void|truncate\[\d+]")
_INTEGERS = re.compile(r"int|long|date|time|timestamp(tz)?(_ns)?")
_BYTES = re.compile(r"uuid|binary|fixed\[\d+]")
_FLOATS = {4: "<f", 8: "<d"}


def partition_types(fields: Mapping[str, object]) -> Mapping[int, Sequence[str]]:
    """The type of each field of each partition spec, by the id of the spec.

    Args:
        fields: the metadata of a table; what is invalid in it gives no type (an empty text).
    """
    sources = dict(_source_types(fields))
    return {spec_id: [_result(each, sources) for each in spec] for spec_id, spec in _specs(fields)}


def bound(data: object, type_: str) -> PartitionValue | None:
    """A bound in Iceberg's single-value serialization; ``None`` if it is missing or is invalid.

    A type may have been promoted since it was written, so the length says how long a number is.
    """
    if not isinstance(data, bytes):
        return None
    if _BYTES.fullmatch(type_):
        return data
    if type_ == "string":
        return data.decode(errors="surrogateescape")
    if not data:
        return None
    if type_ == "boolean":
        return data != b"\x00"
    if _INTEGERS.fullmatch(type_):
        return int.from_bytes(data, "little", signed=True)
    if type_.startswith("decimal"):
        return int.from_bytes(data, "big", signed=True)
    form = _FLOATS.get(len(data)) if type_ in ("float", "double") else None
    return None if form is None else float(struct.unpack(form, data)[0])


def _specs(fields: Mapping[str, object]) -> Iterator[tuple[int, list[Mapping[str, object]]]]:
    """The specs; early metadata has one, without an id."""
    for spec in _objects(fields.get("partition-specs")):
        spec_id = spec.get("spec-id")
        if isinstance(spec_id, int):
            yield spec_id, _objects(spec.get("fields"))
    if "partition-specs" not in fields and "partition-spec" in fields:
        yield 0, _objects(fields.get("partition-spec"))


def _result(field: Mapping[str, object], sources: Mapping[int, str]) -> str:
    transform, source = str(field.get("transform", "")), field.get("source-id")
    if not _OF_SOURCE.fullmatch(transform):
        return "int"  # buckets, and dates in years, months, days or hours
    return sources.get(source, "") if isinstance(source, int) else ""


def _source_types(fields: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Field ids with their types, of all schemas, the newest last."""
    for schema in [*_objects(fields.get("schemas")), *_objects([fields.get("schema")])]:
        yield from _nested(schema)


def _nested(type_: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    for field in _objects(type_.get("fields")):
        field_id, inner = field.get("id"), field.get("type")
        if isinstance(field_id, int) and isinstance(inner, str):
            yield field_id, re.sub(r"\s", "", inner)
        elif isinstance(inner, dict):
            yield from _nested(inner)


def _objects(value: object) -> list[Mapping[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
