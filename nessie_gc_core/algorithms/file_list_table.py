"""An Iceberg table as a list of files: the data files of its current snapshot, and what its columns are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import pyarrow as pa
import pyarrow.fs as pafs

from nessie_gc_core.algorithms.file_list_source import FileList, Part, located, refused
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import FileEntry

METADATA = ".metadata.json"
"""How the names of a table's metadata files end (packed ones have ``.gz`` before it)."""
_S3 = re.compile(r"s3[an]://")
_LOCAL = re.compile(r"file:(?://(?:localhost)?)?/")


def is_table(name: str) -> bool:
    """Whether a list is named by the metadata file of a table."""
    return name.endswith((METADATA, f"{METADATA}.gz"))


def list_of_data_files(
    name: str, entries: Iterable[FileEntry], *, made: datetime, column_ids: Mapping[str, int]
) -> FileList:
    """The list that a table is.

    Args:
        name: the table's metadata file.
        entries: the live files of its snapshot.
        made: when the snapshot was made (UTC).
        column_ids: names of its columns, with their ids: a file that has other ids is refused when it is read.

    Raises:
        ConfigurationError: rows of it are deleted, or a file is not in Parquet or not where the metadata file is.
    """
    try:
        system, path = located(_readable(name))
        parts = list(_parts(name, _root(name, path), entries))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise refused(name, error) from error
    if not parts:
        raise ConfigurationError(f"`file_list` {name!r} is a table without files: name the metadata of a later state")
    return FileList(
        name=_readable(name),
        format="parquet",
        parts=parts,
        is_local=isinstance(system, pafs.LocalFileSystem),
        encoded=False,
        made=made,
        column_ids=dict(column_ids),
    )


def _root(name: str, path: str) -> str:
    """What comes before the paths of the file system in which the metadata file is, such as ``s3://``."""
    readable = _readable(name)
    if not readable.endswith(path):
        raise ValueError("pyarrow names its files in another way; write the rows of the table to a file")
    return readable.removesuffix(path)


def _parts(name: str, root: str, entries: Iterable[FileEntry]) -> Iterator[Part]:
    """Paths are raw (S4): pyarrow would read codes in them."""
    for entry in entries:
        if entry.kind != FileKind.DATA:
            raise ConfigurationError(
                f"`file_list` {name!r} has delete files ({entry.path!r}): compact the table, or write it with "
                "copy-on-write"
            )
        if entry.file_format.upper() != "PARQUET":
            raise ConfigurationError(f"`file_list` {name!r}: {entry.path!r} is {entry.file_format}, expected PARQUET")
        path = _readable(entry.path)
        if not path.startswith(root) or (not root and "://" in path):
            raise ConfigurationError(f"`file_list` {name!r}: {entry.path!r} is not in the store of the metadata file")
        yield Part(path=path[len(root) :], size=entry.size)


def _readable(raw: str) -> str:
    """As pyarrow knows it: for it S3 has one scheme, and a local file needs none."""
    local = _LOCAL.match(raw)
    return raw[local.end() - 1 :] if local is not None else _S3.sub("s3://", raw, count=1)
