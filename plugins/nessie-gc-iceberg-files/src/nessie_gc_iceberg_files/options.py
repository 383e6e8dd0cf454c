"""The options of the three connectors; one set of ``properties`` serves all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.model.options import secret_mapping
from nessie_gc_core.model.unpacking import MAX_RATIO, MEBIBYTE, Limit, metadata_limit
from nessie_gc_core.model.urls import check_endpoints
from nessie_gc_iceberg_files.property_names import FILE_IO_NAMES

METADATA_LIMIT = metadata_limit()
MANIFEST_LIST_LIMIT = Limit(option="max_manifest_list_bytes", most=256 * MEBIBYTE)
MANIFEST_LIMIT = Limit(option="max_manifest_bytes", most=512 * MEBIBYTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """How much one file may unpack to (S33)."""

    metadata: Limit = METADATA_LIMIT
    manifest_list: Limit = MANIFEST_LIST_LIMIT
    manifest: Limit = MANIFEST_LIMIT


@options
class StorageOptions(ConnectorOptions):
    """How the stores are reached."""

    properties: Mapping[str, str] = secret_mapping(
        known=FILE_IO_NAMES,
        help="Iceberg FileIO properties, such as s3.endpoint, gcs.oauth2.token, adls.account-key, py-io-impl; also "
        "fsspec.<scheme>, hdfs.conf-dir, and s3.client, gcs.client and adls.client (native or fsspec)",
    )

    def __post_init__(self) -> None:
        check_endpoints(self.properties)


@options
class ReaderOptions(StorageOptions):
    """How tables and views are read."""

    ignore_snapshot_refs: bool = option(
        False, help="do not protect snapshots that Iceberg's own branches and tags reference"
    )
    ignore_staged_snapshots: bool = option(
        False, help="do not protect snapshots that write-audit-publish staged and that are not yet published"
    )
    max_metadata_bytes: int = option(
        METADATA_LIMIT.most, help="a metadata file that unpacks to more bytes is unreadable", minimum=1
    )
    max_manifest_list_bytes: int = option(
        MANIFEST_LIST_LIMIT.most, help="a manifest list that unpacks to more bytes is unreadable", minimum=1
    )
    max_manifest_bytes: int = option(
        MANIFEST_LIMIT.most, help="a manifest that unpacks to more bytes is unreadable", minimum=1
    )
    max_unpack_ratio: int = option(
        MAX_RATIO,
        help="a file that unpacks to more than 16 MiB and more than so many times its stored size is unreadable",
        minimum=1,
    )

    def limits(self) -> ReadLimits:
        """What files may unpack to, by kind."""
        ratio = self.max_unpack_ratio
        return ReadLimits(
            metadata=replace(METADATA_LIMIT, most=self.max_metadata_bytes, ratio=ratio),
            manifest_list=replace(MANIFEST_LIST_LIMIT, most=self.max_manifest_list_bytes, ratio=ratio),
            manifest=replace(MANIFEST_LIMIT, most=self.max_manifest_bytes, ratio=ratio),
        )
