"""Manifest lists and manifests: the paths in them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_iceberg_files.avro import Schema, read_records

_DELETED = 2
_POSITION_DELETES = 1
_STATUSES = (0, 1, _DELETED)
_CONTENT_KINDS: Mapping[object, FileKind] = {
    0: FileKind.DATA,
    _POSITION_DELETES: FileKind.POSITION_DELETES,
    2: FileKind.EQUALITY_DELETES,
}


def manifests(path: str, data: bytes) -> Iterator[ReachableFile]:
    """The manifests that a manifest list names, of data and of deletes.

    Raises:
        UnreadableFileError: it cannot be read to its end, or makes no sense.
    """
    for record in read_records(path, data, _manifest_list_projection):
        yield ReachableFile(path=_path(path, record.get("manifest_path")), kind=FileKind.MANIFEST)


def live_files(path: str, data: bytes) -> Iterator[ReachableFile]:
    """The files of a manifest's live entries: those that exist or were added, not those that were deleted.

    Raises:
        UnreadableFileError: it cannot be read to its end, or makes no sense.
    """
    for record in read_records(path, data, _manifest_projection):
        status = record["status"]
        if status == _DELETED:
            continue
        if status not in _STATUSES:
            raise UnreadableFileError(path, f"an entry has the status {status!r}")
        file = cast("Mapping[str, object]", record["data_file"])
        yield ReachableFile(path=_path(path, file["file_path"]), kind=_kind(path, file))


def _kind(path: str, file: Mapping[str, object]) -> FileKind:
    content = file["content"]
    if content == _POSITION_DELETES and str(file["file_format"]).upper() == "PUFFIN":
        return FileKind.DELETION_VECTOR
    kind = _CONTENT_KINDS.get(content)
    if kind is None:
        raise UnreadableFileError(path, f"an entry has the content {content!r}")
    return kind


def _path(parent: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnreadableFileError(parent, f"an entry has the path {value!r}")
    return value


def _manifest_list_projection(writer: Schema) -> Schema:
    _record_fields(writer, "manifest_path")
    return _record(writer, [{"name": "manifest_path", "type": "string"}])


def _manifest_projection(writer: Schema) -> Schema:
    file = _record_fields(writer, "status", "data_file")["data_file"]
    _record_fields(file, "file_path", "file_format")
    fields: list[Schema] = [
        {"name": "content", "type": "int", "default": 0},  # format version 1 has none
        {"name": "file_path", "type": "string"},
        {"name": "file_format", "type": "string"},
    ]
    return _record(
        writer,
        [{"name": "status", "type": "int"}, {"name": "data_file", "type": _record(file, fields)}],
    )


def _record(writer: object, fields: list[Schema]) -> Schema:
    """A record that resolves against the writer's: the same name, fewer fields."""
    names = {key: value for key, value in cast("Schema", writer).items() if key in ("name", "namespace")}
    return {"type": "record", **names, "fields": fields}


def _record_fields(schema: object, *wanted: str) -> Mapping[str, object]:
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is no record")
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    for name in wanted:
        if name not in fields:
            raise ValueError(f"its schema has no field {name!r}")
    return fields
