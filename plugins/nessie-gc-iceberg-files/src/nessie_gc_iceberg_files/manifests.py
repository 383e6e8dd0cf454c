"""Manifest lists and manifests: the paths in them, and nothing else of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat

import pyarrow as pa

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.relations import NAMED_FILES
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.announced import ADDED, DELETED, Announced, check_manifests
from nessie_gc_iceberg_files.avro import read_columns
from nessie_gc_iceberg_files.options import MANIFEST_LIMIT, MANIFEST_LIST_LIMIT
from nessie_gc_iceberg_files.projection import Column

_POSITION_DELETES = 1
_STATUSES = (0, ADDED, DELETED)
_CONTENT_KINDS: Mapping[object, FileKind] = {
    0: FileKind.DATA,
    _POSITION_DELETES: FileKind.POSITION_DELETES,
    2: FileKind.EQUALITY_DELETES,
}
_COUNTS = tuple(
    Column(f"{status}_{files}_count", "int", nullable=True)
    for status in ("added", "existing", "deleted")
    for files in ("files", "data_files")  # the name of early writers
)
_MANIFEST_LIST = (Column("manifest_path", "string"), Column("manifest_length", "long", default=0), *_COUNTS)
_MANIFEST = (
    Column("status", "int"),
    Column("data_file.content", "int", default=0),  # format version 1 has none
    Column("data_file.file_path", "string"),
    Column("data_file.file_format", "string"),
)


def manifests(
    path: str, data: bytes, *, announced: str | None = None, limit: Limit = MANIFEST_LIST_LIMIT
) -> pa.RecordBatch:
    """The manifests that a manifest list names, of data and of deletes (:data:`NAMED_FILES`).

    Args:
        path: names the file in errors.
        data: the whole file.
        announced: what its snapshot says of it.
        limit: how much it may unpack to.

    Raises:
        UnreadableFileError: it cannot be read completely, is invalid, or names fewer than its snapshot says.
    """
    paths, lengths, *counts = read_columns(path, data, _MANIFEST_LIST, limit)
    check_manifests(path, len(paths), announced)
    said = map(_announced, *counts)
    return _named(path, paths, repeat(FileKind.MANIFEST.value, len(paths)), lengths, said)


def _announced(*counts: object) -> str | None:
    """What a manifest list says of a manifest: the counts by status, each under either of its names."""
    numbers = [each if isinstance(each, int) and each >= 0 else None for each in counts]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    added, existing, deleted = (early if now is None else now for now, early in pairs)
    return Announced(added=added, existing=existing, deleted=deleted).text()


def live_files(
    path: str, data: bytes, *, length: int | None = None, announced: str | None = None, limit: Limit = MANIFEST_LIMIT
) -> Iterator[pa.RecordBatch]:
    """The files of a manifest's live entries: those that exist or were added, not those that were deleted.

    Args:
        path: names the file in errors.
        data: the whole file.
        length: how many bytes it has, as its manifest list says.
        announced: which entries it has, as its manifest list says (:class:`Announced`).
        limit: how much it may unpack to.

    Yields:
        :data:`NAMED_FILES`, without lengths; those before an invalid entry come before its error.

    Raises:
        UnreadableFileError: it cannot be read completely, is invalid, or has less in it than its list says.
    """
    columns = read_columns(path, data, _MANIFEST, limit)
    try:
        yield _live_files(path, *columns)
    except UnreadableFileError:
        yield _live_files(path, *(column[: _valid(path, columns)] for column in columns))
        raise
    Announced.parse(announced).check(path, columns[0], size=len(data), length=length)


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
    if DELETED in statuses:
        live = [status != DELETED for status in statuses]
        paths, kinds = [*compress(paths, live)], [*compress(kinds, live)]
    known = {each: _kind(path, *each).value for each in {*kinds}}
    nothing = [None] * len(paths)
    return _named(path, paths, map(known.__getitem__, kinds), nothing, nothing)


def _named(
    parent: str, paths: Sequence[object], kinds: Iterable[str], lengths: Iterable[object], said: Iterable[object]
) -> pa.RecordBatch:
    if not all(paths):
        raise UnreadableFileError(parent, "an entry has the path ''")
    columns = zip((paths, [*kinds], [*lengths], [*said]), NAMED_FILES, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in columns], schema=NAMED_FILES)


def _kind(path: str, content: object, file_format: object) -> FileKind:
    if content == _POSITION_DELETES and str(file_format).upper() == "PUFFIN":
        return FileKind.DELETION_VECTOR
    kind = _CONTENT_KINDS.get(content)
    if kind is None:
        raise UnreadableFileError(path, f"an entry has the content {content!r}")
    return kind
