"""Manifest lists and manifests: the paths in them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_iceberg_files.avro import read_rows
from nessie_gc_iceberg_files.projection import Column

_DELETED = 2
_POSITION_DELETES = 1
_STATUSES = (0, 1, _DELETED)
_CONTENT_KINDS: Mapping[object, FileKind] = {
    0: FileKind.DATA,
    _POSITION_DELETES: FileKind.POSITION_DELETES,
    2: FileKind.EQUALITY_DELETES,
}
_MANIFEST_LIST = (Column("manifest_path", "string"), Column("manifest_length", "long", default=0))
_MANIFEST = (
    Column("status", "int"),
    Column("data_file.content", "int", default=0),  # format version 1 has none
    Column("data_file.file_path", "string"),
    Column("data_file.file_format", "string"),
)


def manifests(path: str, data: bytes) -> Iterator[ReachableFile]:
    """The manifests that a manifest list names, of data and of deletes.

    Raises:
        UnreadableFileError: it cannot be read completely, or is invalid.
    """
    for manifest, length in read_rows(path, data, _MANIFEST_LIST):
        at_least = length if isinstance(length, int) else None
        yield ReachableFile(path=_path(path, manifest), kind=FileKind.MANIFEST, length=at_least)


def live_files(path: str, data: bytes) -> Iterator[ReachableFile]:
    """The files of a manifest's live entries: those that exist or were added, not those that were deleted.

    Raises:
        UnreadableFileError: it cannot be read completely, or is invalid.
    """
    for status, content, file_path, file_format in read_rows(path, data, _MANIFEST):
        if status == _DELETED:
            continue
        if status not in _STATUSES:
            raise UnreadableFileError(path, f"an entry has the status {status!r}")
        yield ReachableFile(path=_path(path, file_path), kind=_kind(path, content, file_format))


def _kind(path: str, content: object, file_format: object) -> FileKind:
    if content == _POSITION_DELETES and str(file_format).upper() == "PUFFIN":
        return FileKind.DELETION_VECTOR
    kind = _CONTENT_KINDS.get(content)
    if kind is None:
        raise UnreadableFileError(path, f"an entry has the content {content!r}")
    return kind


def _path(parent: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnreadableFileError(parent, f"an entry has the path {value!r}")
    return value
