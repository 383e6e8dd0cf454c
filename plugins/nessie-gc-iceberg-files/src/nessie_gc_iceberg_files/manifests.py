"""Manifest lists and manifests: the paths in them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat

import pyarrow as pa

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.relations import NAMED_FILES
from nessie_gc_iceberg_files.avro import read_columns
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


def manifests(path: str, data: bytes) -> pa.RecordBatch:
    """The manifests that a manifest list names, of data and of deletes (:data:`NAMED_FILES`).

    Raises:
        UnreadableFileError: it cannot be read completely, or is invalid.
    """
    paths, lengths = read_columns(path, data, _MANIFEST_LIST)
    return _named(path, paths, repeat(FileKind.MANIFEST.value, len(paths)), lengths)


def live_files(path: str, data: bytes) -> Iterator[pa.RecordBatch]:
    """The files of a manifest's live entries: those that exist or were added, not those that were deleted.

    Yields:
        :data:`NAMED_FILES`, without lengths; those before an invalid entry come before its error.

    Raises:
        UnreadableFileError: it cannot be read completely, or is invalid.
    """
    columns = read_columns(path, data, _MANIFEST)
    try:
        yield _live_files(path, *columns)
    except UnreadableFileError:
        yield _live_files(path, *(column[: _valid(path, columns)] for column in columns))
        raise


def _valid(path: str, columns: Sequence[Sequence[object]]) -> int:
    """How many entries come before the first invalid one."""
    for at in range(len(columns[0])):
        try:
            _live_files(path, *(column[at : at + 1] for column in columns))
        except UnreadableFileError:
            return at
    return len(columns[0])


def _live_files(
    path: str,
    statuses: Sequence[object],
    contents: Sequence[object],
    named: Sequence[object],
    formats: Sequence[object],
) -> pa.RecordBatch:
    if unknown := {*statuses}.difference(_STATUSES):
        raise UnreadableFileError(path, f"an entry has the status {unknown.pop()!r}")
    paths: Sequence[object] = named
    kinds: Sequence[tuple[object, object]] = [*zip(contents, formats, strict=True)]
    if _DELETED in statuses:
        live = [status != _DELETED for status in statuses]
        paths, kinds = [*compress(paths, live)], [*compress(kinds, live)]
    known = {each: _kind(path, *each).value for each in {*kinds}}
    return _named(path, paths, map(known.__getitem__, kinds), repeat(None, len(paths)))


def _named(parent: str, paths: Sequence[object], kinds: Iterable[str], lengths: Iterable[object]) -> pa.RecordBatch:
    if not all(paths):
        raise UnreadableFileError(parent, "an entry has the path ''")
    columns = zip((paths, [*kinds], [*lengths]), NAMED_FILES, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in columns], schema=NAMED_FILES)


def _kind(path: str, content: object, file_format: object) -> FileKind:
    if content == _POSITION_DELETES and str(file_format).upper() == "PUFFIN":
        return FileKind.DELETION_VECTOR
    kind = _CONTENT_KINDS.get(content)
    if kind is None:
        raise UnreadableFileError(path, f"an entry has the content {content!r}")
    return kind
