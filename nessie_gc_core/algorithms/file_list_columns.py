"""The columns of lists of files: which of them say path, time and size, and which rows are not a current file.

Known are our own names, and those of S3 Inventory, of Google Cloud's Storage Insights and of Azure's blob inventory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.relations import UNKNOWN_TIME
from nessie_gc_core.model.text import one_line

LISTED = pa.schema([pa.field("path", pa.string()), pa.field("modified", pa.int64()), pa.field("size", pa.int64())])
"""A row of a list: raw path, time in microseconds (:data:`UNKNOWN_TIME` if there is none), and size if known."""
_NOT_ENCODED = r"%($|[^0-9A-Fa-f]|.$|.[^0-9A-Fa-f])"
"""A percent sign that begins no code."""
_FIELD_ID = b"PARQUET:field_id"
_YES_OR_NO = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A column that says whether a row is a current file."""

    column: str
    wanted: bool
    """Rows with the other value are left out."""
    empty: bool | None = None
    """What no value means; ``None``: it is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns of a list mean."""

    path: str
    """The column with the path, or with the key in a bucket."""
    modified: str
    size: str
    """May be missing."""
    bucket: str | None = None
    scheme: str = ""
    """Before the bucket."""
    flags: Sequence[Flag] = ()
    """Of columns that may be missing."""
    unset: Sequence[str] = ()
    """Columns that may be missing, and have a value only for what is not a current file."""
    alone: Sequence[str] = ()
    """Columns that may be missing, and must have no value: it would mean that there are several versions of a file."""
    encoded: bool = False
    """Whether the keys are URL-encoded, with a plus sign for a space."""
    host: str | None = None
    """The account's host, where the path begins with a container."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Those that must not be missing."""
        return tuple(name for name in (self.bucket, self.path, self.modified) if name is not None)

    @property
    def all(self) -> tuple[str, ...]:
        """All that mean something."""
        return (*self.needed, self.size, *(flag.column for flag in self.flags), *self.unset, *self.alone)


PLAIN = Columns(path="file_path", modified="last_modified", size="size")
S3 = Columns(
    scheme="s3://",
    bucket="bucket",
    path="key",
    modified="last_modified_date",
    size="size",
    flags=(Flag(column="is_latest", wanted=True), Flag(column="is_delete_marker", wanted=False)),
)
GCS = Columns(scheme="gs://", bucket="bucket", path="name", modified="updated", size="size", unset=("timeDeleted",))
AZURE = Columns(
    path="Name",
    modified="Last-Modified",
    size="Content-Length",
    flags=(
        Flag(column="IsCurrentVersion", wanted=True, empty=True),
        Flag(column="Deleted", wanted=False, empty=False),
        Flag(column="hdi_isfolder", wanted=False, empty=False),
    ),
    unset=("Snapshot",),
)


def columns_of(names: Collection[str], format_: str, *, encoded: bool | None, host: str | None) -> Columns:
    """What the columns of a list mean, by their names.

    Args:
        names: all columns.
        format_: of its files.
        encoded: whether keys are URL-encoded; ``None``: no manifest says so.
        host: the host of an Azure account, if a manifest says so.

    Raises:
        ValueError: they are not understood; the message says why.
    """
    if PLAIN.path in names or PLAIN.modified in names:
        return _complete(PLAIN, names)
    if {"bucket", "key"} <= set(names):
        if encoded is None and format_ in ("csv", "json"):
            raise ValueError(
                "has keys that may be URL-encoded or not: name the manifest.json of the inventory instead, or a list "
                f"with {PLAIN.path}"
            )
        if "record_type" in names:
            raise ValueError("is a journal of changes and no list: name the table of the live inventory")
        alone = () if "is_latest" in names else ("version_id",)
        return _complete(replace(S3, encoded=bool(encoded), alone=alone), names)
    if {"bucket", "name"} <= set(names):
        return _complete(GCS, names)
    if "Name" in names:
        if host is None:
            raise ValueError("does not say of which account it is: name the manifest of the inventory instead")
        return _complete(replace(AZURE, host=host), names)
    return _complete(PLAIN, names)


def _complete(columns: Columns, names: Collection[str]) -> Columns:
    missing = [name for name in sorted(columns.needed) if name not in names]
    if missing:
        known = "; ".join(
            f"{', '.join(each.needed)} and perhaps {each.size}{f' ({what})' if what else ''}"
            for what, each in (("", PLAIN), ("S3 Inventory", S3), ("Storage Insights", GCS))
        )
        raise ValueError(f"has no column {' and no column '.join(missing)}; a list has {known}")
    return columns


def check_types(columns: Columns, schema: pa.Schema) -> None:
    """Refuses columns of other types in files that say their types.

    Raises:
        ValueError: the message names column and types.
    """
    wanted = [
        *((name, "text", _is_text) for name in (columns.path, columns.bucket)),
        (columns.modified, "timestamp", pa.types.is_timestamp),
        (columns.size, "integer", pa.types.is_integer),
        *((flag.column, "boolean", pa.types.is_boolean) for flag in columns.flags),
    ]
    for column, what, is_such in wanted:
        type_ = schema.field(column).type if column in schema.names else None
        if type_ is not None and not is_such(type_):
            raise ValueError(f"its column {column} is {type_}, expected {what}")


def check_ids(columns: Columns, schema: pa.Schema, ids: Mapping[str, int]) -> None:
    """Refuses a Parquet file of a table whose columns were others when it was written: a name may have moved on.

    Args:
        columns: what the columns mean.
        schema: of the file.
        ids: those of the table's columns.

    Raises:
        ValueError: the message names the column.
    """
    for column in columns.all:
        found = schema.field(column) if column in schema.names else None
        written = None if found is None else (found.metadata or {}).get(_FIELD_ID, b"").decode()
        wanted = None if column not in ids else str(ids[column])
        if written != wanted:
            raise ValueError(f"its column {column} has had another name or another meaning: write the table anew")


def _is_text(type_: pa.DataType) -> bool:
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def listed_rows(batch: pa.RecordBatch, columns: Columns) -> pa.RecordBatch:
    """The current files (:data:`LISTED`) of a batch of a list.

    Raises:
        ValueError, pyarrow.ArrowException: some value is not understood.
    """
    batch = batch.filter(_current(batch, columns))
    modified = batch.column(columns.modified)
    micros = _parsed(columns.modified, modified) if pa.types.is_string(modified.type) else _micros(modified)
    named = columns.size in batch.schema.names
    sizes = _sizes(columns.size, batch.column(columns.size)) if named else pa.nulls(len(batch), pa.int64())
    return pa.RecordBatch.from_arrays([_paths(batch, columns), micros, sizes], schema=LISTED)


def _current(batch: pa.RecordBatch, columns: Columns) -> pa.Array:
    """Which rows are current files, and neither older versions, nor what a deletion left behind, nor folders."""
    current = pa.repeat(pa.scalar(value=True), len(batch))
    for flag in columns.flags:
        if flag.column in batch.schema.names:
            current = pc.and_(current, pc.equal(_flag(batch.column(flag.column), flag), flag.wanted))
    for name in columns.alone:
        if name in batch.schema.names and pc.any(_has_value(batch.column(name))).as_py():
            raise ValueError(f"has a {name}, and no is_latest that tells current versions from others")
    for name in columns.unset:
        if name in batch.schema.names:
            current = pc.and_(current, pc.invert(_has_value(batch.column(name))))
    return pc.fill_null(current, fill_value=False)


def _has_value(values: pa.Array) -> pa.Array:
    """Which values are there; an empty text is none."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.fill_null(pc.not_equal(values, ""), fill_value=False)
    return pc.is_valid(values)


def _flag(values: pa.Array, flag: Flag) -> pa.Array:
    if pa.types.is_string(values.type):
        found = values.unique().to_pylist()
        unknown = [value for value in found if value and value.lower() not in _YES_OR_NO]
        if unknown:
            raise ValueError(f"{flag.column} {unknown[0]!r} is neither true nor false")
        values = pa.array([_YES_OR_NO.get((value or "").lower()) for value in values.to_pylist()], pa.bool_())
    if flag.empty is not None:
        return pc.fill_null(values, fill_value=flag.empty)
    if values.null_count:
        raise ValueError(f"{flag.column} is empty in a row")
    return values


def _paths(batch: pa.RecordBatch, columns: Columns) -> pa.Array:
    paths = batch.column(columns.path).cast(pa.string())
    paths.validate(full=True)  # what is no UTF-8 is an error here, and not somewhere later
    if columns.bucket is not None:
        paths = _decoded(columns.path, paths) if columns.encoded else paths
        buckets = batch.column(columns.bucket).cast(pa.string())
        if buckets.null_count or paths.null_count or pc.any(pc.equal(buckets, "")).as_py():
            raise ValueError(f"{columns.bucket} or {columns.path} is empty in a row")
        paths = pc.binary_join_element_wise(columns.scheme, buckets, "/", paths, "")
    if columns.host is not None:
        if paths.null_count or not pc.all(pc.match_substring_regex(paths, "^[^/]+/"), min_count=0).as_py():
            raise ValueError(f"{columns.path} does not begin with a container in a row")
        paths = pc.replace_substring_regex(paths, "^([^/]+)/", rf"abfss://\1@{columns.host}/", max_replacements=1)
    return paths


def _decoded(name: str, keys: pa.Array) -> pa.Array:
    """URL-encoded keys as they are."""
    strange = keys.filter(pc.match_substring_regex(keys, _NOT_ENCODED))
    if len(strange):
        raise ValueError(f"{name} {strange[0].as_py()!r} is not URL-encoded")
    try:
        return pa.array(
            [key if key is None else unquote_plus(key, errors="strict") for key in keys.to_pylist()], pa.string()
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {error}") from error


def _micros(times: pa.Array) -> pa.Array:
    """Timestamps of any unit in microseconds; UTC if they have no time zone."""
    micros = pa.timestamp("us", times.type.tz)
    cast = pc.cast(times, options=pc.CastOptions(target_type=micros, allow_time_truncate=True))
    return pc.fill_null(cast.cast(pa.int64()), UNKNOWN_TIME)


def _sizes(name: str, sizes: pa.Array) -> pa.Array:
    try:
        known = pc.if_else(pc.equal(sizes, ""), None, sizes) if pa.types.is_string(sizes.type) else sizes
        return known.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ValueError(f"{name}: {one_line(error)}") from error


def _parsed(name: str, texts: pa.Array) -> pa.Array:
    return pa.array((_time(name, text) for text in texts.to_pylist()), pa.int64())


def _time(name: str, text: str | None) -> int:
    """ISO 8601 with a time of day; UTC if it names no time zone.

    Raises:
        ValueError: the text is something else. A date without a time would make a file older than it is.
    """
    if not text:
        return UNKNOWN_TIME
    try:
        time = datetime.fromisoformat(text) if len(text) > len("2026-01-31") else None
    except ValueError:
        time = None
    if time is None:
        raise ValueError(f"{name} {text!r} is not a time such as 2026-01-31T23:59:59Z")
    return to_micros(time if time.tzinfo is not None else time.replace(tzinfo=UTC))


def known_name(column: str) -> str:
    """The name that this module has for a column of S3 Inventory: ``LastModifiedDate`` is ``last_modified_date``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column).lower()
