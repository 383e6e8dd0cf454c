"""Marks: names of files by which other formats and tools show that they keep files in a folder too (S32).

Sources: Delta's protocol (``_delta_log``) and its manifests for other engines; Hudi's ``HoodieTableMetaClient`` and
``HoodiePartitionMetadata``; Paimon's ``SnapshotManager``, ``SchemaManager`` and ``FileStorePathFactory``; Lance's
description of its format; DuckLake's data files; Hive's ``AcidUtils``; ``FileStreamSink`` and the ``MetadataLog`` of
Spark; Flink's ``AbstractFsCheckpointStorageAccess``; Iceberg's ``HadoopTableOperations``. A mark is a name that none of
Iceberg's writers gives, whatever the partitions of a table are called: not a folder alone, for that may be a partition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

VERSION_HINT = "version-hint.text"
"""The mark of the file by which a reader without a catalog finds the metadata of an Iceberg table."""
HINT_STAYS = "readers without a catalog find the table by it"
"""Why a version hint is not garbage, although no metadata names it."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        VERSION_HINT: r"metadata/version-hint\.text$",
        "a Delta Lake table": r"_delta_log/.|_symlink_format_manifest/.",
        "an Apache Hudi table": r"\.hoodie/.|\.hoodie_partition_metadata(?:\.[a-z]+)?$",
        "an Apache Paimon table": (
            r"snapshot/(?:snapshot-[0-9]+|EARLIEST|LATEST)$|schema/schema-[0-9]+$"
            rf"|manifest/(?:index-)?manifest-(?:list-)?{_UUID}-[0-9]+"
        ),
        "a Lance dataset": r"_versions/[0-9]+\.manifest$|_latest\.manifest$|_transactions/[^/]+\.txn$",
        "a DuckLake table": rf"ducklake-{_UUID}(?:-delete)?\.parquet$",
        "a transactional Hive table": r"_orc_acid_version$",
        "the log of a Spark file sink": r"_spark_metadata/[0-9]",
        "the checkpoint of a Spark stream": r"(?:offsets|commits)/[0-9]+$",
        "a Flink checkpoint": r"chk-[0-9]+/_metadata$",
    }
)
"""What a mark stands for, and the names of its files from the start of a folder or file name on."""
LOOKED_FOR = ("_delta_log/", ".hoodie/", "snapshot/", "_versions/")
"""Folders of tables of other formats that show them at once, where not everything is listed."""
_ANY = f"(?:^|/)(?:{'|'.join(_NAMES.values())})"
_EACH = {mark: re.compile(f"(?:^|/)(?:{names})") for mark, names in _NAMES.items()}
_NONE = pa.scalar(None, pa.string())


def mark_of(key: str) -> str | None:
    """What a file in a folder stands for, by its key there; ``None``: nothing that is known."""
    return next((mark for mark, names in _EACH.items() if names.search(key)), None)


def marks_of(keys: pa.Array) -> pa.Array:
    """The same for many keys; most have none, which takes one look at all of them."""
    marked = pc.match_substring_regex(keys, _ANY)
    if not pc.any(marked).as_py():
        return pa.repeat(_NONE, len(keys))
    pairs = zip(keys.to_pylist(), marked.to_pylist(), strict=True)
    return pa.array([mark_of(key) if is_marked else None for key, is_marked in pairs], pa.string())


def marked_folder(key: str) -> str | None:
    """The key of the folder that a mark is about, with a slash at its end; empty: all of it; ``None``: no mark."""
    found = re.search(_ANY, key)
    if found is None:
        return None
    start = found.start()
    return key[: start + 1] if key[start] == "/" else ""


def is_foreign(mark: str | None) -> bool:
    """Whether a mark shows that something other than Iceberg keeps files in the folder."""
    return mark is not None and mark != VERSION_HINT
