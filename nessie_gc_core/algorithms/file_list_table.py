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
        system, _ = located(_readable(name))
        parts = list(_parts(name, system, entries))
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


def _parts(name: str, system: pafs.FileSystem, entries: Iterable[FileEntry]) -> Iterator[Part]:
    for entry in entries:
        if entry.kind != FileKind.DATA:
            raise ConfigurationError(
                f"`file_list` {name!r} has delete files ({entry.path!r}): compact the table, or write it with "
                "copy-on-write"
            )
        if entry.file_format.upper() != "PARQUET":
            raise ConfigurationError(f"`file_list` {name!r}: {entry.path!r} is {entry.file_format}, expected PARQUET")
        there, path = located(_readable(entry.path))
        if type(there) is not type(system):
            raise ConfigurationError(f"`file_list` {name!r}: {entry.path!r} is not in the store of the metadata file")
        yield Part(path=path, size=entry.size)


def _readable(raw: str) -> str:
    """As pyarrow knows it, for which S3 has one scheme."""
    plain = raw.removeprefix("file:") if raw.startswith("file:/") and not raw.startswith("file://") else raw
    return _S3.sub("s3://", plain, count=1)
