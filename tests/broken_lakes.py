"""Small lakes of which one table is broken, in catalogs of five kinds: REST, SQL, Hive, Glue and Nessie."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import requests
from catalog_kinds import NOW, Kind
from click.testing import CliRunner
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.cli.main import cli
from nessie_gc_core.testing.servers import HiveMetastore, IcebergRestServer, MotoServer, NessieServer, running
from nessie_gc_core.testing.servers.handing_on import Answer, HandingOn, ProxyServer
from nessie_gc_core.testing.servers.process import LOOPBACK
from nessie_gc_core.testing.servers.s3 import S3Server

NAMESPACE, BROKEN = "db", "db.broken"
_ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
_SUFFIX = ".metadata.json"
_CLOCK_SECONDS = 1.1
"""Times of files in S3 are whole seconds, and so is that of the server: what was written is to be older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """The files of a table, and what of them its newest snapshot needs."""

    location: str
    metadata: str
    manifest_list: str
    manifest: str
    """The one that the newest snapshot added."""
    data: str
    """The one in that manifest."""


@dataclass(slots=True)
class Spoiler:
    """A proxy before a server, that answers some requests itself."""

    endpoint: str = ""
    spoiled: dict[str, Answer] = field(default_factory=dict)
    """Ends of paths, and what they are answered."""

    def answer(self, path: str) -> Answer | None:
        """What it says itself of a path."""
        plain = unquote(urlsplit(path).path)
        return next((answer for end, answer in self.spoiled.items() if plain.endswith(end)), None)


@contextmanager
def spoiling(endpoint: str) -> Iterator[Spoiler]:
    """A proxy before the server at ``endpoint``; it spoils nothing yet."""
    spoiler = Spoiler()

    class Handler(HandingOn):
        def respond(self) -> None:
            body = self.read_body()
            self.say(spoiler.answer(self.path) or self.hand_on(body))

    Handler.endpoint = endpoint
    with ProxyServer((LOOPBACK, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        spoiler.endpoint = f"http://{LOOPBACK}:{server.server_port}"
        yield spoiler
        server.shutdown()
        thread.join()


class BrokenLake(ABC):
    """Some tables with garbage in a catalog, one of which can be broken and mended again."""

    name: ClassVar[str]
    """What the documentation calls its catalog."""
    repository: ClassVar[str] = "iceberg-catalog"
    kind: Kind
    store: Spoiler | None = None
    """Before its object store; ``None``: it is on a disk."""
    server: Spoiler | None = None
    """Before its catalog, where a table can be spoiled there."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        """Starts what it needs; ``opened`` ends that."""
        self.folder = folder
        self._open(opened)
        self._files: dict[str, bytes] = {}
        self.tables: dict[str, TableFiles] = {}

    @abstractmethod
    def _open(self, opened: ExitStack) -> None: ...

    # ---- tables ---------------------------------------------------------------------------------------
    def write(self, others: int) -> None:
        """Makes the tables."""
        with load_catalog("prod", **self._writer) as catalog:
            catalog.create_namespace_if_not_exists(NAMESPACE)
            for name in (*(f"{NAMESPACE}.other_{n}" for n in range(others)), BROKEN):
                self.tables[name] = self._table(catalog, name)

    def remember(self) -> None:
        """Notes how the broken table is while it is whole."""
        self._files = {path: self.kind.read(path) for path in self.kind.files_in(self.broken.location)}

    @property
    def root(self) -> str:
        """The bucket, or the disk."""
        return "/".join(self.kind.warehouse.split("/")[:3]) if self.store else "file:///"

    @property
    def _writer(self) -> Mapping[str, str]:
        return self.kind.writer

    def _table(self, catalog: Catalog, name: str) -> TableFiles:
        table = catalog.create_table(name, _ROWS.schema)
        for _ in range(2):
            table.append(_ROWS)
        snapshot = table.current_snapshot()
        assert snapshot is not None
        newest = next(each for each in snapshot.manifests(table.io) if each.added_snapshot_id == snapshot.snapshot_id)
        (entry,) = newest.fetch_manifest_entry(table.io)
        return TableFiles(
            location=table.location(),
            metadata=table.metadata_location,
            manifest_list=snapshot.manifest_list,
            manifest=newest.manifest_path,
            data=entry.data_file.file_path,
        )

    @property
    def broken(self) -> TableFiles:
        """The table that is broken."""
        return self.tables[BROKEN]

    def put_garbage(self) -> tuple[set[str], set[str]]:
        """Puts files that nothing needs into all tables; gives those in the broken one, and those in the others."""
        found: dict[str, set[str]] = {}
        for name, table in self.tables.items():
            places = (f"{table.location}/data/nobody.parquet", f"{table.location}/metadata/nobody-m0.avro")
            found[name] = {self.kind.put(place) for place in places}
        self.age(set().union(*found.values()))
        return found.pop(BROKEN), set().union(*found.values())

    def age(self, files: Iterable[str]) -> None:
        """Makes files older than a run that begins now."""
        if self.store is not None:
            time.sleep(_CLOCK_SECONDS)
            return
        long_ago = time.time() - 3600
        for file in files:
            os.utime(file, (long_ago, long_ago))

    # ---- breaking -------------------------------------------------------------------------------------
    def rewrite(self, location: str, change: Callable[[bytes], bytes]) -> None:
        """Changes what a file holds."""
        self.kind.write(location, change(self.kind.read(location)))

    def change_fields(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Changes fields of the metadata of the broken table."""
        fields = self.fields
        change(fields)
        self.replace_metadata(json.dumps(fields).encode())

    @property
    def fields(self) -> dict[str, Any]:
        """The metadata of the broken table, as it was written."""
        found: dict[str, Any] = json.loads(self.kind.read(self.broken.metadata))
        return found

    def replace_metadata(self, data: bytes, *, suffix: str = _SUFFIX, told: bytes | None = None) -> None:
        """Gives the broken table another metadata file.

        Args:
            data: what is in the file.
            suffix: of its name.
            told: what a catalog that reads the file finds in it; ``None``: the same.
        """
        place = self.broken.metadata.removesuffix(_SUFFIX) + suffix
        self.kind.remove(self.broken.metadata)
        self.kind.write(place, data)
        if suffix != _SUFFIX:
            self.point(place)
        self._tell(place, data if told is None else told)

    def _tell(self, place: str, data: bytes) -> None:  # noqa: B027 - most catalogs read no metadata
        """Has a catalog that reads the metadata itself answer what it finds."""

    @abstractmethod
    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        """Has the catalog name other metadata for the broken table, or none."""

    def mend(self) -> None:
        """Makes the broken table what it was."""
        for spoiler in filter(None, (self.store, self.server)):
            spoiler.spoiled.clear()
        stored = self.kind.files_in(self.broken.location)
        for path in stored - self._files.keys():
            self.kind.remove(path)
        for path, data in self._files.items():
            if path not in stored or self.kind.read(path) != data:
                self.kind.write(path, data)
        self.point(self.broken.metadata)

    # ---- collecting -----------------------------------------------------------------------------------
    def gc(self, *options: str) -> dict[str, Any]:
        """One run; its report, with its exit code and what it says."""
        config = self.folder / "nessie-gc.toml"
        config.write_text("\n".join(['engine = "local"', "[repository]", *self._configuration(), ""]))
        access = dict(self.kind.storage)
        if self.store is not None:
            access["s3.endpoint"] = self.store.endpoint
        storage = [part for key, value in access.items() for part in ("-I", f"{key}={value}")]
        result = CliRunner().invoke(cli, ["gc", "--config", str(config), *storage, *NOW, *options])
        report = json.loads(result.stdout) if result.stdout else {}
        return {**report, "exit": result.exit_code, "output": result.output}

    def _configuration(self) -> Sequence[str]:
        """Lines of the section ``repository``."""
        properties = {**self.kind.writer, **({} if self.store is None else {"s3.endpoint": self.store.endpoint})}
        if self.server is not None:
            properties["uri"] = self.server.endpoint
        lines = ['name = "iceberg-catalog"', 'catalog_name = "prod"', "retries = 0", 'identity = "lake"']
        lines.append("[repository.properties]")
        return [*lines, *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in properties.items())]


class SqlLake(BrokenLake):
    """SQLite, and files on a disk."""

    name = "SQL"

    def _open(self, opened: ExitStack) -> None:
        self._database = self.folder / "catalog.db"
        warehouse = (self.folder / "warehouse").as_uri()
        properties = {"type": "sql", "uri": f"sqlite:///{self._database}", "warehouse": warehouse}
        self.kind = Kind(writer=properties, warehouse=warehouse)

    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        with sqlite3.connect(self._database) as database:
            database.execute(
                "UPDATE iceberg_tables SET metadata_location = ?, iceberg_type = ? WHERE table_name = 'broken'",
                (metadata_location, "VIEW" if view else "TABLE"),
            )


class RestLake(BrokenLake):
    """Iceberg's own server, and an object store."""

    name = "REST"

    def _open(self, opened: ExitStack) -> None:
        self._database = self.folder / "rest.db"
        s3 = opened.enter_context(running(S3Server))
        warehouse = f"s3://{s3.bucket}/warehouses/rest"
        given = {**s3.properties, "uri": f"jdbc:sqlite:file:{self._database}"}
        server = opened.enter_context(running(lambda: IcebergRestServer(warehouse, properties=given)))
        properties = {"type": "rest", "uri": server.uri, "warehouse": warehouse, **s3.properties}
        self.kind = Kind(writer=properties, warehouse=warehouse, storage=s3.properties)
        self.store = opened.enter_context(spoiling(s3.endpoint))
        self.server = opened.enter_context(spoiling(server.uri))

    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        with sqlite3.connect(self._database) as database:
            database.execute(
                "UPDATE iceberg_tables SET metadata_location = ?, iceberg_type = ? WHERE table_name = 'broken'",
                (metadata_location, "VIEW" if view else "TABLE"),
            )

    def _tell(self, place: str, data: bytes) -> None:
        """Like servers that read whatever is JSON, and answer at once if it is none; Iceberg's tries for minutes."""
        try:
            answer, status = {"metadata-location": place, "metadata": json.loads(data), "config": {}}, 200
        except (ValueError, RecursionError):
            answer, status = {"error": {"message": "unreadable", "type": "InternalServerError", "code": 500}}, 500
        self.answer(status, json.dumps(answer).encode())

    def answer(self, status: int, body: bytes) -> None:
        """What the catalog answers to whoever loads the broken table."""
        assert self.server is not None
        self.server.spoiled["/tables/broken"] = Answer(status, [("Content-Type", "application/json")], body)


class HiveLake(BrokenLake):
    """A Hive metastore, and files on a disk."""

    name = "Hive"

    def _open(self, opened: ExitStack) -> None:
        folder = self.folder / "hive"
        folder.mkdir()
        metastore = opened.enter_context(running(lambda: HiveMetastore(folder)))
        warehouse = folder.as_uri()
        properties = {"type": "hive", "uri": metastore.uri, "warehouse": warehouse}
        self.kind = Kind(writer=properties, warehouse=warehouse)

    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        with load_catalog("prod", **self._writer) as catalog, catalog._client as client:  # type: ignore[attr-defined]
            row = client.get_table(*BROKEN.split("."))
            row.parameters.pop("metadata_location", None)
            row.parameters.pop("previous_metadata_location", None)
            row.parameters["table_type"] = "iceberg-view" if view else "ICEBERG"
            if metadata_location is not None:
                row.parameters["metadata_location"] = metadata_location
            client.alter_table(*BROKEN.split("."), row)


class GlueLake(BrokenLake):
    """Glue, and files on a disk."""

    name = "Glue"

    def _open(self, opened: ExitStack) -> None:
        aws = opened.enter_context(running(MotoServer))
        keys = {"glue.access-key-id": "testing", "glue.secret-access-key": "testing", "glue.region": aws.region}
        warehouse = (self.folder / "warehouse").as_uri()
        properties = {"type": "glue", "warehouse": warehouse, "glue.endpoint": aws.endpoint, **keys}
        self.kind = Kind(writer=properties, warehouse=warehouse)

    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        with load_catalog("prod", **self._writer) as catalog:
            database, name = BROKEN.split(".")
            glue = catalog.glue  # type: ignore[attr-defined]
            row = glue.get_table(DatabaseName=database, Name=name)["Table"]
            parameters = {"table_type": "iceberg-view" if view else "ICEBERG"}
            if metadata_location is not None:
                parameters["metadata_location"] = metadata_location
            kept = {key: row[key] for key in ("Name", "TableType", "StorageDescriptor") if key in row}
            glue.update_table(DatabaseName=database, TableInput={**kept, "Parameters": parameters})


class NessieLake(BrokenLake):
    """Nessie, whose tables another catalog writes, and files on a disk."""

    name = "Nessie"

    def _open(self, opened: ExitStack) -> None:
        log = self.folder / "nessie.log"
        self._nessie = opened.enter_context(running(lambda: NessieServer(log=log)))
        warehouse = (self.folder / "warehouse").as_uri()
        properties = {"type": "sql", "uri": f"sqlite:///{self.folder}/writer.db", "warehouse": warehouse}
        self.kind = Kind(writer=properties, warehouse=warehouse)
        self._ids: dict[str, str] = {}
        self._commit((NAMESPACE,), {"type": "NAMESPACE", "elements": [NAMESPACE], "properties": {}})

    def _table(self, catalog: Catalog, name: str) -> TableFiles:
        files = super()._table(catalog, name)
        self._snapshot_id = catalog.load_table(name).metadata.current_snapshot_id or -1
        self._commit(tuple(name.split(".")), _nessie_table(files.metadata, self._snapshot_id))
        return files

    def point(self, metadata_location: str | None, *, view: bool = False) -> None:
        assert metadata_location is not None, "Nessie's tables have one"
        content = _nessie_table(metadata_location, self._snapshot_id)
        self.replace(_nessie_view(metadata_location) if view else content)

    def replace(self, content: Mapping[str, Any]) -> None:
        """Has Nessie have another content instead."""
        key = tuple(BROKEN.split("."))
        known = self._ask("GET", f"/trees/main/contents/{BROKEN}")["content"]
        if known["type"] == content["type"]:
            content = {**content, "id": known["id"]}
        else:
            self._operate({"type": "DELETE", "key": {"elements": key}})
        self._commit(key, content)

    def write(self, others: int) -> None:
        super().write(others)
        self._whole = self._ask("GET", "/trees/main")["reference"]

    def mend(self) -> None:
        super().mend()
        head = self._ask("GET", "/trees/main")["reference"]["hash"]
        self._ask("PUT", f"/trees/main@{head}", self._whole)

    def _commit(self, key: tuple[str, ...], content: Mapping[str, Any]) -> None:
        self._operate({"type": "PUT", "key": {"elements": key}, "content": content})

    def _operate(self, operation: Mapping[str, Any]) -> None:
        head = self._ask("GET", "/trees/main")["reference"]["hash"]
        body = {"commitMeta": {"message": "by a test"}, "operations": [operation]}
        self._ask("POST", f"/trees/main@{head}/history/commit", body)

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = requests.request(method, self._nessie.uri + path, json=body, timeout=30)
        assert answer.ok, answer.text
        return dict(answer.json())

    def _configuration(self) -> Sequence[str]:
        return ['name = "nessie"', f"uri = {json.dumps(self._nessie.uri)}"]

    def gc(self, *options: str) -> dict[str, Any]:
        return super().gc("-c", "1", *options)


def _nessie_table(metadata_location: str, snapshot_id: int) -> dict[str, Any]:
    numbers = {"schemaId": 0, "specId": 0, "sortOrderId": 0}
    return {"type": "ICEBERG_TABLE", "metadataLocation": metadata_location, "snapshotId": snapshot_id, **numbers}


def _nessie_view(metadata_location: str) -> dict[str, Any]:
    return {"type": "ICEBERG_VIEW", "metadataLocation": metadata_location, "versionId": 1, "schemaId": 0}


LAKES: Mapping[str, type[BrokenLake]] = {
    each.name: each for each in (RestLake, SqlLake, HiveLake, GlueLake, NessieLake)
}
"""By the name that the documentation gives them."""


def opened_lake(name: str, folder: Path) -> AbstractContextManager[BrokenLake]:
    """A lake without tables."""

    @contextmanager
    def lake() -> Iterator[BrokenLake]:
        with ExitStack() as opened:
            yield LAKES[name](folder, opened)

    return lake()
