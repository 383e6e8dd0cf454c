"""A small lake in a folder, whose writers live in simulated time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

CATALOG = "prod"
TABLES = ("shop.orders", "shop.customers", "logs.events", "raw.landing")
_TIMES = ("timestamp-ms", "last-updated-ms")


class Lake:
    """Tables of an SQL catalog. Each writer commits once a day; branches and tables come and go."""

    def __init__(self, folder: Path) -> None:
        """Makes the catalog with its tables.

        Args:
            folder: an empty folder.
        """
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.warehouse.mkdir(parents=True)
        self.catalog = SqlCatalog(CATALOG, uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{self.warehouse}")
        for namespace in ("shop", "logs", "raw", "ops"):
            self.catalog.create_namespace(namespace)
        for name in TABLES:
            self.catalog.create_table(name, schema=_rows(0).schema)
        self.rows: dict[int, int] = {}
        """How many rows each snapshot has that a writer made, by its id."""
        self._files: dict[int, frozenset[Path]] = {}
        """The files that each snapshot needs that has been read, by its id."""
        self._manifests: dict[str, frozenset[Path]] = {}
        """The files that each manifest names."""
        self.failed_writes = 0
        """How many files writers have left that no snapshot names."""

    # ---- a day of the writers -----------------------------------------------------------------------------
    def write(self, day: int) -> None:
        """Commits what the writers of a day commit, and leaves what they leave."""
        for name in TABLES:
            table = self._table(name)
            if name == "shop.customers" and day > 0:
                table.overwrite(_rows(day))
            else:
                table.append(_rows(day))
            self._remember(table)
            self._leave_failed_write(table, day)
        self._try_on_branch(day)
        self._stage(day)

    def _try_on_branch(self, day: int) -> None:
        """Somebody tries something on a branch of the day, and deletes that of two days before."""
        orders = self._table("shop.orders")
        head = orders.current_snapshot()
        assert head is not None
        orders.manage_snapshots().create_branch(head.snapshot_id, f"trial-{day}").commit()
        orders.append(_rows(day), branch=f"trial-{day}")
        self._remember(orders)
        if f"trial-{day - 2}" in orders.refs():
            orders.manage_snapshots().remove_branch(f"trial-{day - 2}").commit()

    def _stage(self, day: int) -> None:
        """A job makes a table for itself, and drops that of the day before without its files."""
        self.catalog.create_table(f"shop.staging_{day}", schema=_rows(0).schema).append(_rows(day))
        try:
            self.catalog.drop_table(f"shop.staging_{day - 1}")
        except NoSuchTableError:
            assert day == 0

    def _leave_failed_write(self, table: Table, day: int) -> None:
        """Leaves a data file that was written, and never committed."""
        data = _path(table.location()) / "data"
        shutil.copyfile(min(data.glob("*.parquet")), data / f"failed-{day}.parquet")
        self.failed_writes += 1

    def _table(self, name: str) -> Table:
        return self.catalog.load_table(name)

    def _remember(self, table: Table) -> None:
        """Remembers how many rows the snapshots have that are new."""
        table.refresh()
        for snapshot in table.snapshots():
            if snapshot.snapshot_id not in self.rows:
                self.rows[snapshot.snapshot_id] = table.scan(snapshot_id=snapshot.snapshot_id).count()

    # ---- time ---------------------------------------------------------------------------------------------
    def date(self, now: datetime) -> None:
        """Dates back what was written since: files, and the times that metadata files say.

        Writers and services stamp what they write with the clock of the machine, which is ahead of the simulated one.
        """
        for entry in _files(self.warehouse):
            if entry.stat().st_mtime > now.timestamp():
                if entry.name.endswith(".metadata.json"):
                    _date_metadata(Path(entry.path), int(now.timestamp() * 1000))
                os.utime(entry.path, (now.timestamp(), now.timestamp()))

    # ---- proof ----------------------------------------------------------------------------------------------
    def problems(self, *, again: bool) -> Iterator[str]:
        """Says what is not as it was written of the snapshots that tables list.

        A snapshot is read when it is new. Later, the files that it needs must be there, which takes less time.

        Args:
            again: whether all of them are read.
        """
        for namespace in self.catalog.list_namespaces():
            for identifier in self.catalog.list_tables(namespace):
                table = self.catalog.load_table(identifier)
                for snapshot in table.snapshots():
                    if again or snapshot.snapshot_id not in self._files:
                        yield from self._problems_of(table, snapshot)
                    for path in self._files.get(snapshot.snapshot_id, ()):
                        if not path.exists():
                            yield f"{'.'.join(identifier)}: the snapshot {snapshot.snapshot_id} needs {path}"

    def _problems_of(self, table: Table, snapshot: Snapshot) -> Iterator[str]:
        """Reads a snapshot, and remembers its files."""
        name, id_ = ".".join(table.name()), snapshot.snapshot_id
        try:
            rows = table.scan(snapshot_id=id_).to_arrow().num_rows
            self._files[id_] = frozenset(self._needed(table, snapshot))
        except OSError as error:
            yield f"{name}: the snapshot {id_} cannot be read: {error}"
            return
        if rows != self.rows.get(id_, rows):
            yield f"{name}: the snapshot {id_} has {rows} rows and not {self.rows[id_]}"

    def _needed(self, table: Table, snapshot: Snapshot) -> Iterator[Path]:
        """The files that a snapshot needs; snapshots share manifests, so each is read once."""
        yield _path(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            path = manifest.manifest_path
            if path not in self._manifests:
                entries = manifest.fetch_manifest_entry(table.io)
                self._manifests[path] = frozenset(_path(entry.data_file.file_path) for entry in entries)
            yield _path(path)
            yield from self._manifests[path]

    def garbage(self, namespace: str, *, older_than: datetime) -> list[Path]:
        """What failed writers left in the tables of a namespace before a time, and is still there."""
        failed = (self.warehouse / namespace).rglob("failed-*")
        return [path for path in failed if path.stat().st_mtime < older_than.timestamp()]


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All files in a folder and those in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry


def _path(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def _rows(day: int) -> pa.Table:
    ids = list(range(day * 100, day * 100 + 100))
    return pa.table({"id": pa.array(ids, pa.int64()), "day": pa.array([day] * 100, pa.int64())})


def _date_metadata(path: Path, now: int) -> None:
    def dated(value: Any) -> Any:
        if isinstance(value, list):
            return [dated(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        return {key: min(inner, now) if key in _TIMES else dated(inner) for key, inner in value.items()}

    path.write_text(json.dumps(dated(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
