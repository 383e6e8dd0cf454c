"""The options of the three connectors; one set of ``properties`` serves all of them."""

from __future__ import annotations

from collections.abc import Mapping

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.model.options import secret_mapping
from nessie_gc_core.model.urls import check_endpoints


@options
class StorageOptions(ConnectorOptions):
    """How the stores are reached."""

    properties: Mapping[str, str] = secret_mapping(
        help="Iceberg FileIO properties, such as s3.endpoint, gcs.oauth2.token, adls.account-key, py-io-impl; also "
        "fsspec.<scheme>, hdfs.conf-dir, and s3.client, gcs.client and adls.client (native or fsspec)"
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
