"""Reads lists of files that replace a listing, part by part, in batches, wherever pyarrow can.

A list is a file or a folder in Parquet, ORC, CSV or JSON lines, or the manifest of an inventory. It is opened where
the run is, which finds its parts; each part is read on its own, perhaps by another process, and completely.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.fs as pafs
import pyarrow.json as pa_json

from nessie_gc_core.algorithms.file_list_columns import (
    Columns,
    check_ids,
    check_types,
    columns_of,
    known_name,
    listed_rows,
)
from nessie_gc_core.algorithms.inventory_manifest import MANIFEST, Manifest, ManifestPart, parse_manifest
from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.model.urls import split_credentials

if TYPE_CHECKING:
    import pyarrow.dataset as pads  # it brings pandas with it, which takes a fifth of a second

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".orc": "orc"}
_TYPED = ("parquet", "orc")
"""Formats whose columns have types; they pack their contents themselves."""
_DATED = "????-??-??T??-??Z"
"""How S3 names the folder of an inventory by its time; each ``?`` is a digit."""
_BATCH_ROWS = 16_384
_READ_AHEAD = 4
_PIECE_BYTES = 32 * 1024**2
"""About how much of a Parquet file is read by one task, where it is cut."""
_ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of a list."""

    path: str
    """On the file system of its list."""
    size: int
    """In bytes, when the list was opened."""
    first_group: int = 0
    """Of a Parquet file, the first row group of this part."""
    groups: int = 0
    """How many row groups this part has; 0: it is the whole file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """A list that was opened: what its parts are, and how they are read."""

    name: str
    format: str
    parts: Sequence[Part]
    is_local: bool = False
    """Whether it is on a disk of this machine, which others may not have."""
    header: Sequence[str] | None = None
    """The columns of CSV files without a header."""
    encoded: bool | None = None
    """Whether keys in buckets are URL-encoded; ``None``: unknown."""
    host: str | None = None
    """The host of an Azure account, of which only a manifest tells."""
    made: datetime | None = None
    """As of when its manifest says it was made (UTC)."""
    column_ids: Mapping[str, int] | None = None
    """Of a table, the ids of its columns by their names; a file that has others has other columns."""


def check_file_list(opened: FileList) -> None:
    """Looks at the columns and the first rows of a list.

    Raises:
        ConfigurationError: they are not those of a list; in one line.
    """
    try:
        with closing(_batches(opened, opened.parts[0])) as batches:
            next(batches, None)
    except _ERRORS as error:
        raise refused(opened.name, error) from error


def rows_of_lists(lists: Sequence[FileList]) -> Iterator[pa.RecordBatch]:
    """The rows of opened lists (:data:`LISTED`), as they come.

    Raises:
        ListingError: one of them cannot be read completely; a part of a list must not pass for all of it.
    """
    for opened in lists:
        for part in opened.parts:
            yield from part_rows(opened, part)


def part_rows(opened: FileList, part: Part) -> Iterator[pa.RecordBatch]:
    """The rows (:data:`LISTED`) of a part of a list, as they come.

    Raises:
        ListingError: it cannot be read completely, or is not what it was when the list was opened.
    """
    try:
        with closing(_batches(opened, part)) as batches:
            yield from batches
    except _ERRORS as error:
        raise _broken(opened, error) from error


def _broken(opened: FileList, error: Exception) -> ListingError:
    return ListingError(f"the list {opened.name!r} cannot be read completely: {one_line(error)}")


def cut(lists: Sequence[FileList], parts: int) -> list[FileList]:
    """The same lists, with large Parquet files in several parts each if there are fewer parts than asked for.

    Raises:
        ListingError: a file cannot be read.
    """
    if sum(len(each.parts) for each in lists) >= parts:
        return list(lists)
    return [
        replace(each, parts=[piece for part in each.parts for piece in _pieces(each, part)])
        if each.format == "parquet"
        else each
        for each in lists
    ]


def _pieces(opened: FileList, part: Part) -> list[Part]:
    """A Parquet file in parts of about :data:`_PIECE_BYTES`, or the one part that it is."""
    wanted = part.size // _PIECE_BYTES
    if wanted < 2:
        return [part]
    import pyarrow.parquet as pq

    try:
        with located(opened.name)[0].open_input_file(part.path) as file:
            groups = pq.ParquetFile(file).num_row_groups
    except _ERRORS as error:
        raise _broken(opened, error) from error
    each = -(-groups // min(wanted, groups)) if groups else 0
    if each == groups:
        return [part]
    firsts = range(0, groups, each)
    return [replace(part, first_group=first, groups=min(each, groups - first)) for first in firsts]


def check_name(name: str) -> None:
    """Refuses a name with credentials, which every message about the list would repeat (S28).

    Raises:
        ConfigurationError: it has some; the message does not.
    """
    if "://" in name and split_credentials(name)[1] is not None:
        raise ConfigurationError("`file_list` contains credentials; give them to pyarrow through the environment")


def open_file_list(name: str) -> FileList:
    """Finds the parts of a list.

    Raises:
        ConfigurationError: it is missing, or is not a list, or a part of it is missing; in one line.
    """
    check_name(name)
    try:
        system, path = located(name)
        info = system.get_file_info(path)
        if info.type is pafs.FileType.NotFound:
            raise ConfigurationError(f"`file_list` {name!r} does not exist")
        is_file = info.type is pafs.FileType.File
        manifest = info.path if is_file and info.path.endswith(MANIFEST) else None
        if not is_file:
            manifest = _manifest_in(system, info.path)
        if manifest is not None:
            return _of_manifest(name, system, manifest)
        files = [info] if is_file else _in_folder(system, info.path)
    except _ERRORS as error:
        raise refused(name, error) from error
    formats = {_ending_of(file.path) for file in files}
    format_ = formats.pop() if len(formats) == 1 else None
    if format_ is None:
        raise ConfigurationError(
            f"`file_list` {name!r} must be a file, or a folder of files of one format, that ends in "
            f"{', '.join(_FORMATS)} (text also with .gz), or the {MANIFEST} of an inventory"
        )
    parts = [Part(path=file.path, size=file.size) for file in files]
    return FileList(name=name, format=format_, parts=parts, is_local=isinstance(system, pafs.LocalFileSystem))


def located(name: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a list, from the environment, and the path on it.

    Raises:
        pyarrow.ArrowException, OSError, ValueError: there is none for it.
    """
    if "://" not in name:
        return pafs.LocalFileSystem(), name
    system, path = pafs.FileSystem.from_uri(name)
    return system, path


def refused(name: str, error: Exception) -> ConfigurationError:
    """The error that says which list it is about."""
    if isinstance(error, ConfigurationError):
        return error
    return ConfigurationError(f"`file_list` {name!r} cannot be read: {one_line(error)}")


def _in_folder(system: pafs.FileSystem, folder: str) -> list[pafs.FileInfo]:
    """The files of a folder, without those that writers hide, such as ``_SUCCESS``."""
    found = system.get_file_info(pafs.FileSelector(folder, recursive=True))
    below = len(folder.rstrip("/"))
    files = [each for each in found if each.type is pafs.FileType.File]
    shown = (file for file in files if not any(part[:1] in ("_", ".") for part in file.path[below:].split("/") if part))
    return sorted(shown, key=lambda file: str(file.path))


def _manifest_in(system: pafs.FileSystem, folder: str) -> str | None:
    """The manifest in a folder of S3 Inventory, or the newest one of its folders that are named by their times."""
    found = system.get_file_info(pafs.FileSelector(folder))
    if any(each.base_name == MANIFEST for each in found):
        return next(str(each.path) for each in found if each.base_name == MANIFEST)
    dated = (each.path for each in found if each.type is pafs.FileType.Directory and _is_dated(each.base_name))
    manifests = (f"{path}/{MANIFEST}" for path in sorted(dated, reverse=True))
    return next((path for path in manifests if system.get_file_info(path).type is pafs.FileType.File), None)


def _is_dated(name: str) -> bool:
    return len(name) == len(_DATED) and all(
        is_.isdigit() if wanted == "?" else is_ == wanted for is_, wanted in zip(name, _DATED, strict=True)
    )


def _of_manifest(name: str, system: pafs.FileSystem, path: str) -> FileList:
    with system.open_input_stream(path) as stream:
        try:
            manifest = parse_manifest(stream.read())
        except ValueError as error:
            raise ConfigurationError(f"`file_list` {name!r}: the manifest is not understood: {error}") from error
    wanted = [_placed(part, manifest, system, path) for part in manifest.parts]
    infos = system.get_file_info(wanted)
    for part, info in zip(manifest.parts, infos, strict=True):
        if info.type is not pafs.FileType.File:
            raise ConfigurationError(f"`file_list` {name!r}: its manifest names {part.key!r}, which is not there")
        if part.size is not None and info.size != part.size:
            raise ConfigurationError(
                f"`file_list` {name!r}: {part.key!r} has {plural(info.size, 'byte')}, its manifest says {part.size:,}"
            )
    return FileList(
        name=name,
        format=manifest.format,
        parts=[Part(path=info.path, size=info.size) for info in infos],
        is_local=isinstance(system, pafs.LocalFileSystem),
        header=None if manifest.columns is None else [_as_known(column, manifest) for column in manifest.columns],
        encoded=manifest.encoded,
        host=manifest.host,
        made=manifest.made,
    )


def _as_known(column: str, manifest: Manifest) -> str:
    return known_name(column) if manifest.encoded else column


def _placed(part: ManifestPart, manifest: Manifest, system: pafs.FileSystem, path: str) -> str:
    """The path of a part: in the bucket that the manifest names if it is in that bucket itself, else beside it."""
    if not isinstance(system, pafs.LocalFileSystem) and path.partition("/")[0] == manifest.bucket:
        return f"{manifest.bucket}/{part.key}"
    folder, beside = path.rpartition("/")[0], part.beside
    if beside.startswith("../"):
        folder, beside = folder.rpartition("/")[0], beside.removeprefix("../")
    if ".." in beside.split("/"):
        raise ValueError(f"its manifest names {part.key!r}, which may be anywhere")
    return f"{folder}/{beside}" if folder else beside


def _ending_of(file: str) -> str | None:
    packed = file.endswith(".gz")
    plain = file.removesuffix(".gz")
    format_ = next((name for ending, name in _FORMATS.items() if plain.endswith(ending)), None)
    return None if packed and format_ in _TYPED else format_


def _batches(opened: FileList, part: Part) -> Generator[pa.RecordBatch, None, None]:
    import pyarrow.dataset as pads

    system, _ = located(opened.name)
    size = system.get_file_info(part.path).size
    if size != part.size:
        raise ValueError(f"{part.path} has {plural(size, 'byte')}, and had {part.size:,} when the list was opened")
    fragment = _format(opened, None).make_fragment(part.path, system)
    names = fragment.physical_schema.names
    columns = _understood(opened, names, fragment.physical_schema)
    used = [name for name in columns.all if name in names]
    if part.groups:
        groups = range(part.first_group, part.first_group + part.groups)
        fragment = pads.ParquetFileFormat().make_fragment(part.path, system, row_groups=groups)
    else:
        fragment = _format(opened, columns).make_fragment(part.path, system)
    schema = _in_text(columns, opened.format, used) if opened.format not in _TYPED else None
    scanner = fragment.scanner(
        schema=schema, columns=used, batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
    )
    for batch in scanner.to_batches():
        yield listed_rows(batch, columns)


def _understood(opened: FileList, names: Sequence[str], schema: pa.Schema) -> Columns:
    try:
        columns = columns_of(names, opened.format, encoded=opened.encoded, host=opened.host)
    except ValueError as error:
        raise ConfigurationError(f"`file_list` {opened.name!r} {error}") from error
    if opened.format in _TYPED:
        try:
            check_types(columns, schema)
            if opened.column_ids is not None:
                check_ids(columns, schema, opened.column_ids)
        except ValueError as error:
            raise ConfigurationError(f"`file_list` {opened.name!r}: {error}") from error
    return columns


def _in_text(columns: Columns, format_: str, used: Sequence[str]) -> pa.Schema:
    """How columns are read from a text format; numbers of JSON are not text."""
    numbers = {columns.size} if format_ == "json" else set()
    return pa.schema([pa.field(name, pa.int64() if name in numbers else pa.string()) for name in used])


def _format(opened: FileList, columns: Columns | None) -> pads.FileFormat:
    """The format of a list; before its columns are known, it serves only to find out which there are."""
    import pyarrow.dataset as pads

    if opened.format == "csv":
        types = {} if columns is None else dict.fromkeys(columns.all, pa.string())
        return pads.CsvFileFormat(
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),  # a path may have them
            convert_options=pa_csv.ConvertOptions(column_types=types),
            read_options=pa_csv.ReadOptions(column_names=None if opened.header is None else list(opened.header)),
        )
    if opened.format == "json" and columns is not None:
        schema = _in_text(columns, "json", columns.all)
        options = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        return pads.JsonFileFormat(pads.JsonFragmentScanOptions(parse_options=options))
    return {"json": pads.JsonFileFormat, "orc": pads.OrcFileFormat, "parquet": pads.ParquetFileFormat}[opened.format]()
