"""A lake of a plain catalog whose snapshots expire, written by PyIceberg on a local disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from collecting import LakeServices
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_jdbc import JdbcLiveSetStore
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model import Removal, TableMetadata
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.run import Run

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
LONG_AGO = 30 * 86400


class Writer(IcebergCatalogConnector):
    """The connector, in whose commits a test can meddle."""

    before_commit: Callable[[TableMetadata, Removal], object] = staticmethod(lambda table, removal: None)
    after_commit: Callable[[TableMetadata, Removal], object] = staticmethod(lambda table, removal: None)

    def remove_snapshots(self, table: TableMetadata, removal: Removal) -> None:
        self.before_commit(table, removal)
        super().remove_snapshots(table, removal)
        self.after_commit(table, removal)


class ExpiryLake:
    """One catalog over one warehouse, a live-set store, and an engine."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self.engine = engine
        self.warehouse = folder / "warehouse"
        self.warehouse.mkdir(parents=True)
        self.uri = f"sqlite:///{folder}/catalog.db"
        self.catalog: Catalog = load_catalog("prod", type="sql", uri=self.uri, warehouse=f"file://{self.warehouse}")
        self.catalog.create_namespace("db")
        self.repository = Writer.from_options({"catalog_name": "prod", "uri": self.uri})
        self.store: LiveSetStore = JdbcLiveSetStore.from_options({"url": f"sqlite:///{folder}/store.db"})

    def close(self) -> None:
        self.repository.close()
        self.store.close()
        self.catalog.close()

    def table(self, name: str = "db.t", *, overwrites: int = 4, **properties: str) -> Table:
        """A table each of whose snapshots has data files of its own."""
        table = self.catalog.create_table(name, ROWS.schema, properties=_dotted(properties))
        for _ in range(overwrites):
            overwrite(table)
        return table

    def load(self, name: str = "db.t") -> Table:
        """The table as its catalog has it now."""
        return self.catalog.load_table(name)

    def snapshots(self, name: str = "db.t") -> list[int]:
        """The ids of the snapshots that the table lists."""
        return [snapshot.snapshot_id for snapshot in self.load(name).metadata.snapshots]

    def files(self, name: str = "db/t") -> set[str]:
        """What lies below a folder of the warehouse."""
        return {str(path) for path in (self.warehouse / name).rglob("*") if path.is_file()}

    def age(self) -> None:
        """Every file was written long ago."""
        then = time.time() - LONG_AGO
        for path in self.warehouse.rglob("*"):
            os.utime(path, (then, then))

    def services(self) -> LakeServices:
        """What works on it."""
        return LakeServices(repository=self.repository, store=self.store, engine=self.engine, clock=utc_now)

    def run(self) -> Run:
        """One run."""
        return self.services().run()

    def expire(self, **parameters: Any) -> ExpiryReport:
        """Expires whatever may expire, of files that were written long ago."""
        self.age()
        return self.expire_as_it_is(**parameters)

    def expire_as_it_is(self, **parameters: Any) -> ExpiryReport:
        """The same, and files are as old as they are."""
        given = ExpireSnapshotsParameters(**{"older_than": "PT0S", **parameters})
        return ExpireSnapshotsService(given).run(self.run())

    def needed(self, name: str = "db.t") -> set[str]:
        """The files that the table's metadata leads to, by PyIceberg's own reading."""
        return needed(self.load(name))


class StoppedError(Exception):
    """The process is killed."""


def stop(table: TableMetadata, removal: Removal) -> NoReturn:
    raise StoppedError


def outcomes(report: ExpiryReport) -> dict[str, Committed]:
    """What became of each table."""
    return {table.table: table.outcome for table in report.tables}


def overwrite(table: Table) -> None:
    """Two snapshots at most: one that deletes what is there, one that writes."""
    if table.current_snapshot() is None:
        table.append(ROWS)
    else:
        table.overwrite(ROWS)


def rewrite(table: Table, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the table's metadata file in its place."""
    path = Path(table.metadata_location.removeprefix("file://"))
    metadata = json.loads(path.read_text(encoding="utf-8"))
    change(metadata)
    path.write_text(json.dumps(metadata), encoding="utf-8")


def needed(table: Table) -> set[str]:
    """Local paths of all files that a table's current metadata leads to."""
    paths = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    for snapshot in table.metadata.snapshots:
        paths.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            paths.add(manifest.manifest_path)
            entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
            paths.update(entry.data_file.file_path for entry in entries)
    return {path.removeprefix("file://") for path in paths}


def _dotted(properties: Mapping[str, str]) -> dict[str, str]:
    """Keywords to names of properties: ``gc__enabled`` is ``gc.enabled``."""
    return {name.replace("__", ".").replace("_", "-"): value for name, value in properties.items()}
