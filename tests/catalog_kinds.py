"""Catalogs of every kind that PyIceberg opens, on real servers, with what a run over them is given."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs
import pytest
from click.testing import CliRunner, Result
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.dynamodb import DynamoDbCatalog
from pyiceberg.table import Table

from nessie_gc_core.cli.main import cli
from nessie_gc_core.testing.servers import HiveMetastore, IcebergRestServer, MotoServer, PostgresServer
from nessie_gc_core.testing.servers.s3 import S3Server

_TIMES = ("created", "updated")
NOW = ("--json", "--min-age", "PT0S", "--no-age-floor")
"""Options of a run that may delete what was just written."""
ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One catalog, by the properties of who writes and of who collects."""

    writer: Mapping[str, str]
    warehouse: str
    """Where its tables are, without a slash at the end."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """Properties of the storage, for the run's own reads and deletions."""
    collector: Mapping[str, str] | None = None
    """Properties of the catalog that the run is given; ``None``: those of the writer."""
    writes_itself: bool = True
    """Whether tables can be changed through it; else another catalog writes, and they are registered."""

    def files(self) -> set[str]:
        """Every file below the warehouse."""
        selector = pyarrow.fs.FileSelector(self._path(self.warehouse), recursive=True)
        return {found.path for found in self._system.get_file_info(selector) if found.is_file}

    def files_in(self, location: str) -> set[str]:
        """Those of the files below a location."""
        place = self._path(location).rstrip("/") + "/"
        return {path for path in self.files() if path.startswith(place)}

    def put(self, location: str) -> str:
        """Writes a file; gives it as :meth:`files` does."""
        return self.write(location, b"left over")

    def write(self, location: str, data: bytes) -> str:
        """Writes a file, of whatever; gives it as :meth:`files` does."""
        if self.warehouse.startswith("file:"):
            Path(self._path(location)).parent.mkdir(parents=True, exist_ok=True)
        with self._system.open_output_stream(self._path(location)) as stream:
            stream.write(data)
        return self._path(location)

    def read(self, location: str) -> bytes:
        """What a file holds."""
        with self._system.open_input_stream(self._path(location), compression=None) as stream:
            return bytes(stream.read())

    def remove(self, location: str) -> None:
        """Removes a file."""
        self._system.delete_file(self._path(location))

    @property
    def _system(self) -> pyarrow.fs.FileSystem:
        if self.warehouse.startswith("file:"):
            return pyarrow.fs.LocalFileSystem()
        return pyarrow.fs.S3FileSystem(
            access_key=self.storage["s3.access-key-id"],
            secret_key=self.storage["s3.secret-access-key"],
            endpoint_override=self.storage["s3.endpoint"],
            region=self.storage["s3.region"],
        )

    def _path(self, location: str) -> str:
        parts = urlsplit(location)
        return parts.path if parts.scheme in ("file", "") else f"{parts.netloc}{parts.path}"


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Starts what a kind needs, once for all tests."""

    request: pytest.FixtureRequest
    folder: Path

    @property
    def s3(self) -> S3Server:
        server: S3Server = self.request.getfixturevalue("s3")
        return server

    @property
    def aws(self) -> MotoServer:
        server: MotoServer = self.request.getfixturevalue("aws")
        return server

    @property
    def rest(self) -> IcebergRestServer:
        server: IcebergRestServer = self.request.getfixturevalue("iceberg_rest")
        return server

    @property
    def metastore(self) -> HiveMetastore:
        server: HiveMetastore = self.request.getfixturevalue("metastore")
        return server

    @property
    def postgres(self) -> PostgresServer:
        server: PostgresServer = self.request.getfixturevalue("postgres")
        return server

    def in_s3(self, name: str, **writer: str) -> Kind:
        warehouse = f"s3://{self.s3.bucket}/{name}"
        properties = {"warehouse": warehouse, **self.s3.properties, **writer}
        return Kind(writer=properties, warehouse=warehouse, storage=self.s3.properties)


def _in_memory(servers: Servers) -> Kind:
    warehouse = (servers.folder / "warehouse").as_uri()
    uri = f"sqlite:///file:{servers.folder.name}?mode=memory&cache=shared&uri=true"
    return Kind(writer={"type": "in-memory", "uri": uri, "warehouse": warehouse}, warehouse=warehouse)


def _postgres(servers: Servers) -> Kind:
    database = servers.postgres.create_database(f"catalog_{abs(hash(servers.folder))}")
    return servers.in_s3("sql", type="sql", uri=servers.postgres.uri(database, driver="psycopg"))


def _rest(servers: Servers) -> Kind:
    return servers.in_s3("rest", type="rest", uri=servers.rest.uri)


def _vended(servers: Servers) -> Kind:
    kind = _rest(servers)
    uri = servers.request.getfixturevalue("vending_uri")
    collector = {"type": "rest", "uri": uri, "s3.endpoint": servers.s3.endpoint, "s3.path-style-access": "true"}
    return Kind(writer=kind.writer, warehouse=kind.warehouse, storage=kind.storage, collector=collector)


def _of_seaweed(servers: Servers, **access: str) -> Kind:
    s3, warehouse = servers.s3, f"s3://{servers.s3.table_bucket}"
    properties = {"type": "rest", "uri": s3.iceberg_uri, "warehouse": warehouse, **s3.properties, **access}
    return Kind(writer=properties, warehouse=warehouse, storage=s3.properties)


def _oauth2(servers: Servers) -> Kind:
    s3 = servers.s3
    tokens = f"{s3.iceberg_uri}/v1/oauth/tokens"
    return _of_seaweed(servers, **{"credential": f"{s3.access_key}:{s3.secret_key}", "oauth2-server-uri": tokens})


def _sigv4(servers: Servers) -> Kind:
    s3 = servers.s3
    signing = {"rest.sigv4-enabled": "true", "rest.signing-name": "s3tables", "rest.signing-region": s3.region}
    keys = {"client.access-key-id": s3.access_key, "client.secret-access-key": s3.secret_key}
    return _of_seaweed(servers, **signing, **keys, **{"client.region": s3.region})


def _glue(servers: Servers) -> Kind:
    aws = servers.aws
    keys = {"glue.access-key-id": "testing", "glue.secret-access-key": "testing", "glue.region": aws.region}
    return servers.in_s3("glue", type="glue", **{"glue.endpoint": aws.endpoint}, **keys)


def _dynamodb(servers: Servers) -> Kind:
    aws = servers.aws
    # PyIceberg has no property for the address of DynamoDB, and the AWS library has a variable.
    servers.request.getfixturevalue("monkeypatch").setenv("AWS_ENDPOINT_URL_DYNAMODB", aws.endpoint)
    keys = {"dynamodb.access-key-id": "testing", "dynamodb.secret-access-key": "testing"}
    table = f"catalog_{abs(hash(servers.folder))}"
    kind = servers.in_s3("dynamodb", type="dynamodb", **keys, **{"dynamodb.region": aws.region, "table-name": table})
    return replace(kind, writes_itself=False)  # PyIceberg has no commits to it


def _hive(servers: Servers) -> Kind:
    warehouse = servers.metastore.warehouse.as_uri()  # the metastore says where namespaces are
    properties = {"type": "hive", "uri": servers.metastore.uri, "warehouse": warehouse}
    return Kind(writer=properties, warehouse=warehouse)


KINDS: Mapping[str, Callable[[Servers], Kind]] = {
    "in-memory": _in_memory,
    "sql on PostgreSQL": _postgres,
    "rest": _rest,
    "rest with vended credentials": _vended,
    "rest with OAuth2": _oauth2,
    "rest with SigV4": _sigv4,
    "glue": _glue,
    "dynamodb": _dynamodb,
    "hive": _hive,
}


@contextmanager
def opened(kind: Kind, folder: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """The catalog, and the one that writes its tables; in the end all tables are dropped, for servers are shared."""
    with load_catalog("prod", **kind.writer) as catalog:
        try:
            if kind.writes_itself:
                yield catalog, catalog
                return
            uri = f"sqlite:///{folder}/writer.db"
            with load_catalog("writer", type="sql", uri=uri, warehouse=kind.warehouse, **kind.storage) as writer:
                yield catalog, writer
        finally:
            for namespace in catalog.list_namespaces():
                for table in catalog.list_tables(namespace):
                    catalog.drop_table(table)


def write(catalog: Catalog, writer: Catalog, name: str, *, appends: int) -> Table:
    """A table with some snapshots."""
    namespace = name.rpartition(".")[0]
    for each in dict.fromkeys((catalog, writer)):
        each.create_namespace_if_not_exists(namespace)
    table = writer.create_table(name, ROWS.schema)
    for _ in range(appends):
        table.append(ROWS)
    if isinstance(catalog, DynamoDbCatalog):
        _register(catalog, name, table.metadata_location)
    return table


def _register(catalog: DynamoDbCatalog, name: str, metadata_location: str) -> None:
    """Makes a catalog name a table that another one has written: the row that Iceberg's own DynamoDbCatalog writes."""
    texts = {
        "identifier": name,
        "namespace": name.rpartition(".")[0],
        "v": uuid.uuid4().hex,
        "p.table_type": "ICEBERG",
        "p.metadata_location": metadata_location,
    }
    row = {**{key: {"S": text} for key, text in texts.items()}, **{f"{key}_at": {"N": "1"} for key in _TIMES}}
    catalog.dynamodb.put_item(TableName=catalog.dynamodb_table_name, Item=row)


def run(kind: Kind, folder: Path, command: str, *options: str, **more: object) -> Result:
    """One command of the program over a catalog; ``more`` are further options of the connector."""
    properties = kind.writer if kind.collector is None else kind.collector
    lines = ['name = "iceberg-catalog"', 'catalog_name = "prod"', *(f"{k} = {_toml(v)}" for k, v in more.items())]
    access = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in properties.items())
    config = folder / "nessie-gc.toml"
    config.write_text("\n".join(['engine = "local"', "[repository]", *lines, "[repository.properties]", *access, ""]))
    storage = [part for key, value in kind.storage.items() for part in ("-I", f"{key}={value}")]
    return CliRunner().invoke(cli, [command, "--config", str(config), *storage, *options])


def expire(kind: Kind, folder: Path, table: str, *options: str) -> dict[str, Any]:
    """The report of an expiry of all that a table can do without."""
    chosen = ("--include", re.escape(table), "--older-than", "PT0S", *options)
    result = run(kind, folder, "expire-snapshots", *chosen, *NOW)
    assert result.stdout, result.output
    return {**json.loads(result.stdout), "exit_code": result.exit_code}


def rows_of_snapshots(table: Table) -> list[int]:
    """How many rows each snapshot has that the table lists."""
    return [table.scan(snapshot_id=each.snapshot_id).to_arrow().num_rows for each in table.metadata.snapshots]


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {json.dumps(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)
