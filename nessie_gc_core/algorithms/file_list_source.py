"""Reads a list of files that replaces a listing: Parquet, CSV or JSON lines, in batches, wherever pyarrow can."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.fs as pafs
import pyarrow.json as pa_json

from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.relations import UNKNOWN_TIME
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.urls import split_credentials

if TYPE_CHECKING:
    import pyarrow.dataset as pads  # it brings pandas with it, which takes a fifth of a second

LISTED = pa.schema([pa.field("path", pa.string()), pa.field("modified", pa.int64()), pa.field("size", pa.int64())])
"""A row of a list: raw path, time in microseconds (:data:`UNKNOWN_TIME` if there is none), and size if known."""
_PATH, _MODIFIED, _SIZE = "file_path", "last_modified", "size"
_IN_JSON = {_PATH: pa.string(), _MODIFIED: pa.string(), _SIZE: pa.int64()}
_IN_CSV = dict.fromkeys(_IN_JSON, pa.string())
"""How the columns are read from text formats."""
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json"}
_BATCH_ROWS = 16_384
_READ_AHEAD = 4
_ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError)


def check_file_lists(names: Sequence[str]) -> None:
    """Opens the lists, and looks at their columns and their first rows.

    Raises:
        ConfigurationError: one of them is missing, or is not a list; in one line.
    """
    for name in names:
        opened = _open(name)
        try:
            with closing(_batches(opened)) as batches:
                next(batches, None)
        except _ERRORS as error:
            raise _refused(name, error) from error


def read_file_lists(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of all lists (:data:`LISTED`), as they come.

    Raises:
        ListingError: one of them cannot be read completely; a part of a list must not pass for all of it.
    """
    for name in names:
        try:
            with closing(_batches(_open(name))) as batches:
                yield from batches
        except _ERRORS as error:
            raise ListingError(f"the list {name!r} cannot be read completely: {one_line(error)}") from error


def _refused(name: str, error: Exception) -> ConfigurationError:
    if isinstance(error, ConfigurationError):
        return error
    return ConfigurationError(f"`file_list` {name!r} cannot be read: {one_line(error)}")


@dataclass(frozen=True, slots=True)
class _Opened:
    dataset: pads.Dataset
    columns: Sequence[str]


def _open(name: str) -> _Opened:
    import pyarrow.dataset as pads

    files, system, format_ = _files(name)
    try:
        dataset = pads.dataset(files, filesystem=system, format=_format(format_, explicit=False))
        columns = [column for column in (_PATH, _MODIFIED, _SIZE) if column in dataset.schema.names]
        missing = sorted({_PATH, _MODIFIED} - set(columns))
        if missing:
            raise ConfigurationError(
                f"`file_list` {name!r} has no column {' and no column '.join(missing)}; it needs {_PATH} (text) and "
                f"{_MODIFIED} (timestamp), and may have {_SIZE} (a whole number)"
            )
        if format_ == "json":
            schema = pa.schema([pa.field(column, _IN_JSON[column]) for column in columns])
            dataset = pads.dataset(files, filesystem=system, format=_format(format_, explicit=True), schema=schema)
    except _ERRORS as error:
        raise _refused(name, error) from error
    if format_ == "parquet":
        _check_types(name, dataset.schema)
    return _Opened(dataset, columns)


def _files(name: str) -> tuple[list[str], pafs.FileSystem, str]:
    """The files of a list, which may be a folder, with their places and their format."""
    try:
        if "://" not in name:
            system, path = pafs.LocalFileSystem(), name
        elif split_credentials(name)[1] is None:
            system, path = pafs.FileSystem.from_uri(name)
        else:
            raise ConfigurationError("`file_list` contains credentials; give them to pyarrow through the environment")
        found = system.get_file_info(path)
        if found.type is pafs.FileType.NotFound:
            raise ConfigurationError(f"`file_list` {name!r} does not exist")
        files = [found.path] if found.type is pafs.FileType.File else _in_folder(system, found.path)
    except _ERRORS as error:
        raise _refused(name, error) from error
    formats = {_ending_of(file) for file in files}
    format_ = formats.pop() if len(formats) == 1 else None
    if format_ is None:
        raise ConfigurationError(
            f"`file_list` {name!r} must be a file, or a folder of files of one format, that ends in "
            f"{', '.join(_FORMATS)} (the last three also with .gz)"
        )
    return files, system, format_


def _in_folder(system: pafs.FileSystem, folder: str) -> list[str]:
    """The files of a folder, without those that writers hide, such as ``_SUCCESS``."""
    found = system.get_file_info(pafs.FileSelector(folder, recursive=True))
    files = (each.path for each in found if each.type is pafs.FileType.File)
    below = len(folder.rstrip("/"))
    return sorted(path for path in files if not any(part[:1] in ("_", ".") for part in path[below:].split("/") if part))


def _ending_of(file: str) -> str | None:
    packed = file.endswith(".gz")
    plain = file.removesuffix(".gz")
    format_ = next((name for ending, name in _FORMATS.items() if plain.endswith(ending)), None)
    return None if packed and format_ == "parquet" else format_


def _format(name: str, *, explicit: bool) -> pads.FileFormat:
    import pyarrow.dataset as pads

    if name == "csv":
        return pads.CsvFileFormat(
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),  # a path may have them
            convert_options=pa_csv.ConvertOptions(column_types=_IN_CSV),
        )
    if name == "json" and explicit:
        options = pa_json.ParseOptions(
            explicit_schema=pa.schema(list(_IN_JSON.items())), unexpected_field_behavior="ignore"
        )
        return pads.JsonFileFormat(pads.JsonFragmentScanOptions(parse_options=options))
    return pads.JsonFileFormat() if name == "json" else pads.ParquetFileFormat()


def _check_types(name: str, schema: pa.Schema) -> None:
    wanted = {
        _PATH: ("text", _is_text),
        _MODIFIED: ("timestamp", pa.types.is_timestamp),
        _SIZE: ("integer", pa.types.is_integer),
    }
    for column, (what, is_such) in wanted.items():
        type_ = schema.field(column).type if column in schema.names else None
        if type_ is not None and not is_such(type_):
            raise ConfigurationError(f"`file_list` {name!r}: its column {column} is {type_}, expected {what}")


def _is_text(type_: pa.DataType) -> bool:
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _batches(opened: _Opened) -> Generator[pa.RecordBatch, None, None]:
    scanner = opened.dataset.scanner(
        columns=list(opened.columns), batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
    )
    for batch in scanner.to_batches():
        paths = batch.column(_PATH).cast(pa.string())
        paths.validate(full=True)  # what is no UTF-8 is an error here, and not somewhere later
        modified = batch.column(_MODIFIED)
        micros = _parsed(modified) if pa.types.is_string(modified.type) else _micros(modified)
        sizes = _sizes(batch.column(_SIZE)) if _SIZE in opened.columns else pa.nulls(len(batch), pa.int64())
        yield pa.RecordBatch.from_arrays([paths, micros, sizes], schema=LISTED)


def _micros(times: pa.Array) -> pa.Array:
    """Timestamps of any unit in microseconds; UTC if they have no time zone."""
    micros = pa.timestamp("us", times.type.tz)
    cast = pc.cast(times, options=pc.CastOptions(target_type=micros, allow_time_truncate=True))
    return pc.fill_null(cast.cast(pa.int64()), UNKNOWN_TIME)


def _sizes(sizes: pa.Array) -> pa.Array:
    try:
        known = pc.if_else(pc.equal(sizes, ""), None, sizes) if pa.types.is_string(sizes.type) else sizes
        return known.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ValueError(f"{_SIZE}: {one_line(error)}") from error


def _parsed(texts: pa.Array) -> pa.Array:
    return pa.array((_time(text) for text in texts.to_pylist()), pa.int64())


def _time(text: str | None) -> int:
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
        raise ValueError(f"{_MODIFIED} {text!r} is not a time such as 2026-01-31T23:59:59Z")
    return to_micros(time if time.tzinfo is not None else time.replace(tzinfo=UTC))
