"""A small lake in a bucket that can be put back after each collection, and what must stay in it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from lakes.upload import s3_store
from obstore.store import S3Store
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.testing.servers import S3Server

_AT_ONCE = 24
_ORPHANS = 2_600
"""More than two bulk deletions have."""
_TABLES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """Tables of an SQL catalog, and files that nobody needs, in one bucket."""

    server: S3Server
    folder: Path
    """Where the catalog is."""
    live: frozenset[str]
    """The keys that the tables need, as PyIceberg says."""
    dead: Mapping[str, bytes]
    """All other keys, with what they hold."""

    @property
    def store(self) -> S3Store:
        """The bucket, past every proxy."""
        return s3_store(self.server.bucket, self.server.properties)

    def put_back(self) -> None:
        """Stores the dead files again that are not there, and waits until they are old enough to be deleted."""
        missing = self.dead.keys() - keys(self.store)
        if missing:
            put(self.store, {key: self.dead[key] for key in missing})
            time.sleep(2.1)  # the server's clock and its files' times are whole seconds

    def lost(self) -> set[str]:
        """Live files that are not there."""
        return set(self.live - keys(self.store))

    def left(self) -> set[str]:
        """Dead files that are there."""
        return self.dead.keys() & keys(self.store)

    def settings(self, properties: Mapping[str, str]) -> str:
        """The configuration file of a collection that reaches the bucket by these properties."""
        access = "".join(f'"{name}" = "{value}"\n' for name, value in properties.items())
        return (
            '[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\n'
            f'uri = "sqlite:///{self.folder}/catalog.db"\n[repository.properties]\n{access}[iceberg]\n{access}'
        )


@contextmanager
def lake(folder: Path) -> Iterator[Lake]:
    """A new lake on a server of its own."""
    with S3Server() as server:
        uri = f"sqlite:///{folder}/catalog.db"
        with load_catalog("prod", type="sql", uri=uri, **server.properties) as catalog:
            catalog.create_namespace("db")
            live = frozenset(key for number in range(_TABLES) for key in _table(catalog, server.bucket, number))
        store = s3_store(server.bucket, server.properties)
        orphans = {f"wh/db/t{n % _TABLES}/data/p={n % 7}/orphan-{n:05}.parquet": b"x" for n in range(_ORPHANS)}
        put(store, orphans)
        dead = {key: bytes(store.get(key).bytes()) for key in keys(store) - live - orphans.keys()}
        yield Lake(server=server, folder=folder, live=live, dead={**dead, **orphans})


def _table(catalog: Catalog, bucket: str, number: int) -> set[str]:
    """Writes a table; returns the keys that it needs."""
    rows = pa.table({"n": pa.array([number], pa.int64())})
    table = catalog.create_table(f"db.t{number}", rows.schema, location=f"s3://{bucket}/wh/db/t{number}")
    for _ in range(3):
        table.append(rows)
    table.overwrite(rows)
    needed = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    for snapshot in table.snapshots():
        needed.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            needed.add(manifest.manifest_path)
            needed.update(
                entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
            )
    return {path.removeprefix(f"s3://{bucket}/") for path in needed}


def keys(store: S3Store) -> set[str]:
    """All keys of a bucket."""
    return {found["path"] for page in store.list() for found in page}


def put(store: S3Store, files: Mapping[str, bytes]) -> None:
    """Stores files, several at a time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done: Iterable[object] = pool.map(lambda key: store.put(key, files[key], use_multipart=False), files)
        for _ in done:
            continue
