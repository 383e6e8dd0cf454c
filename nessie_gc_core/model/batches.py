"""Builds Arrow record batches of a relation, row by row or column by column, and reads rows from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

import pyarrow as pa

from nessie_gc_core.model.files import FileReference, ReachableFile
from nessie_gc_core.model.relations import CONTENT_VERSIONS, LISTED_FILES, NAMED_FILES, UNKNOWN_TIME
from nessie_gc_core.model.repository import ContentVersion

BATCH_ROWS = 8192
"""Maximum number of rows in a batch that a function yields."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_IS_INTEGER = (pa.types.is_integer, pa.types.is_null)
_IS_TEXT = (pa.types.is_null, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)

Value = str | int | bool | bytes | datetime | None
"""The value of one column in a row."""
Row = tuple[Value, ...]
"""One row, its values in the order of the schema."""
T = TypeVar("T", bound=NamedTuple)


def to_batches(rows: Iterable[Row], schema: pa.Schema, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Packs a stream of rows into batches of bounded size."""
    portion: list[Row] = []
    for row in rows:
        portion.append(row)
        if len(portion) >= batch_rows:
            yield _pack(portion, schema)
            portion = []
    if portion:
        yield _pack(portion, schema)


def _pack(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def in_schema(batch: pa.RecordBatch, schema: pa.Schema, given: Mapping[str, pa.Array] | None = None) -> pa.RecordBatch:
    """The columns of a schema, with given columns instead of the batch's own; no rows are read."""
    columns = {name: batch.column(name) for name in schema.names if given is None or name not in given}
    columns.update(given or {})
    found = ((columns[field.name], field.type) for field in schema)
    arrays = [array if array.type == type_ else array.cast(type_) for array, type_ in found]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def given_rows(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of a schema in a batch that a connector made: text may be of any type of text, integers of any width.

    Raises:
        ValueError: a column has another type: nothing tells which number of a time would be meant (S8).
    """
    for field in schema:
        found = batch.column(field.name).type
        plain = found.value_type if pa.types.is_dictionary(found) else found
        fits = _IS_INTEGER if pa.types.is_integer(field.type) else _IS_TEXT
        if not any(test(plain) for test in fits):
            raise ValueError(f"the column {field.name} is of type {found}, and not of {field.type}")
    return in_schema(batch, schema)


def constant(value: str | int | None, rows: int, type_: pa.DataType) -> pa.Array:
    """A column that has the same value in every row."""
    return pa.repeat(pa.scalar(value, type_), rows)


def to_rows(batch: pa.RecordBatch, *columns: str) -> Iterator[Row]:
    """The named columns of a batch, row by row."""
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def to_texts(batch: pa.RecordBatch, *columns: str) -> Iterator[tuple[str, ...]]:
    """The named columns of a batch, row by row; each is of text, and has one in every row.

    Raises:
        ValueError: a row has no text in one of them.
    """
    for name in columns:
        if batch.column(name).null_count:
            raise ValueError(f"rows have no {name}")
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def to_tuples(batch: pa.RecordBatch, kind: type[T]) -> Iterator[T]:
    """The columns of a batch that are named like the fields of a named tuple, row by row as such tuples.

    Nothing is converted: the types of the fields are those of the columns, ``| None`` where a row may have no value.
    """
    return map(kind._make, zip(*(batch.column(name).to_pylist() for name in kind._fields), strict=True))


def to_micros(time: datetime | None) -> int:
    """Microseconds since the epoch; :data:`UNKNOWN_TIME` for none."""
    return UNKNOWN_TIME if time is None else (time - _EPOCH) // _MICROSECOND


def from_micros(micros: int | None) -> datetime | None:
    """The other way round."""
    return None if micros is None or micros == UNKNOWN_TIME else _EPOCH + timedelta(microseconds=micros)


def version_rows(versions: Iterable[ContentVersion]) -> Iterator[pa.RecordBatch]:
    """Content versions as batches of their relation."""
    return to_batches(map(version_row, versions), CONTENT_VERSIONS)


def version_row(version: ContentVersion) -> Row:
    """A content version as a row of that relation."""
    return (
        version.content_id,
        version.content_type,
        version.metadata_location,
        version.snapshot_id,
        version.content_key,
        version.commit_id,
        None if version.commit_time is None else to_micros(version.commit_time),
        version.location,
    )


def rows_to_versions(batch: pa.RecordBatch) -> Iterator[ContentVersion]:
    """The content versions of a batch."""
    for row in batch.select(CONTENT_VERSIONS.names).to_pylist():
        yield ContentVersion(**{**row, "commit_time": from_micros(row["commit_time"])})


def named_files(files: Iterable[ReachableFile]) -> Iterator[pa.RecordBatch]:
    """Files that another file names as batches (:data:`NAMED_FILES`)."""
    return to_batches(((file.path, str(file.kind), file.length, file.announced) for file in files), NAMED_FILES)


def reachable_files(batch: pa.RecordBatch) -> Iterator[ReachableFile]:
    """The files of such a batch."""
    for path, kind, length, announced in to_tuples(batch, _NamedFile):
        yield ReachableFile(path=path, kind=kind, length=length, announced=announced)


class _NamedFile(NamedTuple):
    path: str
    kind: str
    length: int | None
    announced: str | None


def listed_files(files: Iterable[FileReference]) -> Iterator[pa.RecordBatch]:
    """Files of one location as batches (:data:`LISTED_FILES`)."""
    rows = ((file.path, file.size, None if file.modified is None else to_micros(file.modified)) for file in files)
    return to_batches(rows, LISTED_FILES)


def file_references(location: str, batch: pa.RecordBatch) -> Iterator[FileReference]:
    """The files of such a batch."""
    for path, size, modified in to_tuples(batch, _ListedFile):
        yield FileReference(location=location, path=path, size=size, modified=from_micros(modified))


class _ListedFile(NamedTuple):
    path: str
    size: int | None
    modified: int | None


def merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a stream, small batches put together until they have :data:`BATCH_ROWS`."""
    return map(pa.concat_batches, portions(batches, BATCH_ROWS))


def portions(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[list[pa.RecordBatch]]:
    """The batches of a stream in lists that have so many rows or a little more; the last one may have fewer."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield held
            held, count = [], 0
    if held:
        yield held


def file_reference(location: str, path: str, size: int, modified: int) -> FileReference:
    """A file from the columns of a relation."""
    return FileReference(location=location, path=path, size=size, modified=from_micros(modified))
