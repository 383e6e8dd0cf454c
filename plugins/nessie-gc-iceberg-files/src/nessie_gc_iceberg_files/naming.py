"""What files are called, and what a metadata file names, whether its meaning is understood or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nessie_gc_core.model.files import FileKind, StoredNames
from nessie_gc_core.model.locations import places_in
from nessie_gc_core.model.unpacking import Limit, read_json
from nessie_gc_iceberg_files.options import METADATA_LIMIT

METADATA_SUFFIXES = (".metadata.json", ".metadata.json.gz", ".metadata.json.zstd", ".metadata.json.zst")
"""How the names of metadata files end."""
TABLE_NAMES = StoredNames(
    metadata=rf"metadata/[0-9]{{5,}}-[^/]+({'|'.join(map(re.escape, METADATA_SUFFIXES))})",
    of_others=r"(?:.*/)?metadata/v[0-9]+\.[^/]*",
)
"""What catalogs call metadata files below a table's base location (Iceberg's ``BaseMetastoreTableOperations``).

A table that no catalog has lives by its path alone; ``v1.metadata.json`` is its sign. The core knows another one,
``version-hint.text``, and those of other formats.
"""
_HABITS = (
    (re.compile(r"(?:^|/)snap-[^/]*\.avro"), FileKind.MANIFEST_LIST),
    (re.compile(r"-m\d+\.avro"), FileKind.MANIFEST),
    (re.compile(r"(?:^|/)metadata/[^/]*\.(?:stats|puffin)"), FileKind.STATISTICS),
    (re.compile(r"(?:^|/)metadata/partition-stats-[^/]*\.(?:parquet|orc|avro)"), FileKind.PARTITION_STATISTICS),
    (re.compile(r"-deletes\.puffin|(?:^|/)data/.*\.puffin"), FileKind.DELETION_VECTOR),
    (re.compile(r"[^/]*-deletes\.(?:parquet|orc|avro)"), FileKind.POSITION_DELETES),
    (re.compile(r"(?:^|/)data/.*\.(?:parquet|orc|avro)"), FileKind.DATA),
)
"""How writers name the others, the first that fits."""


def kind_of_name(path: str) -> FileKind | None:
    """What a file most likely is, by its name and its folder.

    As Iceberg's own library names them: ``LocationProviders``, ``OutputFileFactory``, ``SnapshotProducer`` and
    ``BaseDVFileWriter`` of Iceberg 1.11.
    """
    if path.endswith(METADATA_SUFFIXES):
        return FileKind.METADATA
    for habit, kind in _HABITS:
        if any(match.end() == len(path) for match in habit.finditer(path)):
            return kind
    return None


def named_in_json(data: bytes, limit: Limit = METADATA_LIMIT) -> list[str] | None:
    """Everything in the texts of a JSON file that may be an absolute path or location; ``None`` if it is not JSON.

    Names of fields count too: newer formats may use paths for them.
    """
    try:
        return list(_absolute(read_json(data, limit)[1]))
    except ValueError:
        return None


def _absolute(root: object) -> Iterator[str]:
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield from places_in(value)
        elif isinstance(value, dict):
            pending.extend(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
