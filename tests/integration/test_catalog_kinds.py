"""Plain catalogs of every kind, each on a real server: exactly what nobody names is deleted."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from catalog_kinds import KINDS, NOW, ROWS, Kind, Servers, expire, opened, rows_of_snapshots, run, write
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from pyiceberg.schema import Schema
from pyiceberg.view.metadata import ViewVersion
from tagged_lakes import policy_of_now
from vending_proxy import vending

from nessie_gc_core.testing.servers import IcebergRestServer, MotoServer, running
from nessie_gc_core.testing.servers.s3 import S3Server

pytestmark = [
    pytest.mark.server,
    pytest.mark.filterwarnings("ignore:Selection of the SingletonThreadPool"),  # SQLAlchemy, of SQLite in memory
]


@pytest.fixture(scope="module")
def aws() -> Iterator[MotoServer]:
    with running(MotoServer) as server:
        yield server


@pytest.fixture(scope="module")
def iceberg_rest(s3: S3Server) -> Iterator[IcebergRestServer]:
    with running(lambda: IcebergRestServer(f"s3://{s3.bucket}/rest", properties=s3.properties)) as server:
        yield server


@pytest.fixture(scope="module")
def vending_uri(s3: S3Server, iceberg_rest: IcebergRestServer) -> Iterator[str]:
    credentials = ("s3.access-key-id", "s3.secret-access-key", "s3.region")
    with vending(iceberg_rest.uri, {name: s3.properties[name] for name in credentials}) as uri:
        yield uri


def namespace(kind: str) -> str:
    return "of_" + kind.lower().replace(" ", "_").replace("-", "_")


def gc(kind: Kind, folder: Path, *options: str, **more: object) -> dict[str, Any]:
    result = run(kind, folder, "gc", "--inmemory", *NOW, *options, **more)
    assert result.stdout, result.output
    return {**json.loads(result.stdout), "exit_code": result.exit_code}


def wait_for_the_clock() -> None:
    """The times of files in S3 are whole seconds, and so is the server's clock: what was written is to be older."""
    time.sleep(2.1)


@pytest.mark.parametrize("name", KINDS)
def test_exactly_the_file_that_nobody_names_is_deleted(name: str, servers: Servers) -> None:
    kind, folder = KINDS[name](servers), servers.folder
    with opened(kind, folder) as (catalog, writer):
        orders = write(catalog, writer, f"{namespace(name)}.orders", appends=3)
        write(catalog, writer, f"{namespace(name)}.items", appends=2)
        orphan = kind.put(f"{orders.location()}/data/orphan.parquet")
        wait_for_the_clock()
        before = kind.files()

        checked = run(kind, folder, "check")
        dry = gc(kind, folder, "--dry-run")
        assert (0, 0) == (checked.exit_code, dry["exit_code"]), (checked.output, dry)
        assert (1, before) == (dry["would_delete"]["files"], kind.files())
        report = gc(kind, folder)

        assert {orphan} == before - kind.files()
        assert (0, 1, 0) == (report["exit_code"], report["deleted"]["files"], report["lost"]["files"]), report
        assert [2, 4, 6] == rows_of_snapshots(catalog.load_table(f"{namespace(name)}.orders"))
        assert [2, 4] == rows_of_snapshots(catalog.load_table(f"{namespace(name)}.items"))


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"dynamodb", "rest with vended credentials"}))
def test_old_snapshots_expire_with_what_only_they_need(name: str, servers: Servers) -> None:
    kind, folder = KINDS[name](servers), servers.folder
    with opened(kind, folder) as (catalog, writer):
        table = write(catalog, writer, f"{namespace(name)}_expiring.orders", appends=1)
        for _ in range(2):
            table.overwrite(table.scan().to_arrow())
        orphan = kind.put(f"{table.location()}/data/orphan.parquet")
        wait_for_the_clock()
        before = kind.files()

        dry = expire(kind, folder, ".".join(table.name()), "--dry-run")
        assert (0, before) == (dry["exit_code"], kind.files()), dry
        report = expire(kind, folder, ".".join(table.name()))

        assert (0, dry["tables"]) == (report["exit_code"], report["tables"]), report
        assert 4 == report["snapshots"]
        left = catalog.load_table(table.name())
        assert [2] == rows_of_snapshots(left)
        gone = before - kind.files()
        assert len(gone) == report["collection"]["deleted"]["files"] == dry["collection"]["would_delete"]["files"] > 8
        assert orphan not in gone


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"dynamodb", "rest with vended credentials"}))
def test_tags_of_tables_are_made_by_time_and_go_when_no_policy_keeps_them(name: str, servers: Servers) -> None:
    kind, folder = KINDS[name](servers), servers.folder
    with opened(kind, folder) as (catalog, writer):
        table = write(catalog, writer, f"{namespace(name)}_tagged.orders", appends=2)
        policy = policy_of_now()
        table.append(ROWS)

        made = autotag(kind, folder, ".".join(table.name()), policy)
        again = autotag(kind, folder, ".".join(table.name()), policy)
        tagged = catalog.load_table(table.name())
        gone = autotag(kind, folder, ".".join(table.name()), "PT1M=0")

        (tag,) = made["tags"]
        assert (0, "made", []) == (made["exit_code"], tag["outcome"], again["tags"]), made
        assert str(table.metadata.snapshots[-2].snapshot_id) == tag["target"]
        assert 4 == tagged.scan(snapshot_id=tagged.metadata.refs[tag["name"]].snapshot_id).to_arrow().num_rows
        assert (0, ["deleted"]) == (gone["exit_code"], [each["outcome"] for each in gone["tags"]]), gone
        left = catalog.load_table(table.name())
        assert (["main"], [2, 4, 6]) == (list(left.metadata.refs), rows_of_snapshots(left))


def autotag(kind: Kind, folder: Path, table: str, policy: str) -> dict[str, Any]:
    result = run(kind, folder, "autotag", "--include", re.escape(table), "--tag-policy", policy, "--json")
    assert result.stdout, result.output
    return {**json.loads(result.stdout), "exit_code": result.exit_code}


def test_a_dynamodb_catalog_cannot_be_expired(servers: Servers) -> None:
    kind, folder = KINDS["dynamodb"](servers), servers.folder
    with opened(kind, folder) as (catalog, writer):
        table = write(catalog, writer, "of_dynamodb_expiring.orders", appends=3)
        wait_for_the_clock()
        before = kind.files()

        dry = expire(kind, folder, "of_dynamodb_expiring.orders", "--dry-run")
        report = expire(kind, folder, "of_dynamodb_expiring.orders")

        assert ["left alone"] == [each["outcome"] for each in report["tables"]], report
        assert "PyIceberg cannot commit to tables of dynamodb catalogs" == report["tables"][0]["reason"]
        assert dry["tables"] == report["tables"]
        assert before == kind.files()
        assert [2, 4, 6] == rows_of_snapshots(catalog.load_table(table.name()))


@pytest.mark.parametrize("name", ["in-memory", "rest", "glue", "dynamodb", "hive"])
def test_s6_a_table_whose_metadata_is_gone_is_unknown_and_never_absent(name: str, servers: Servers) -> None:
    kind, folder = KINDS[name](servers), servers.folder
    with opened(kind, folder) as (catalog, writer):
        kept = write(catalog, writer, f"{namespace(name)}_damaged.kept", appends=1)
        broken = write(catalog, writer, f"{namespace(name)}_damaged.broken", appends=2)
        orphan = kind.put(f"{kept.location()}/data/orphan.parquet")
        unnamed = kind.put(f"{broken.location()}/data/orphan.parquet")
        kind.remove(broken.metadata_location)
        wait_for_the_clock()
        before = kind.files()

        result = run(kind, folder, "gc", "--inmemory", *NOW)
        assert (1, before) == (min(result.exit_code, 1), kind.files()), result.output
        told = gc(kind, folder, unreadable_tables={f"{namespace(name)}_damaged.broken": broken.location()})

        assert {orphan} == before - kind.files()
        assert unnamed in kind.files()
        assert any("UNREADABLE" in str(each) for each in told["unread"]), told


def test_s20_a_dynamodb_catalog_that_is_not_there_is_an_error_and_is_not_made(servers: Servers) -> None:
    kind = KINDS["dynamodb"](servers)
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    client = boto3.client("dynamodb", region_name=servers.aws.region, endpoint_url=servers.aws.endpoint, **keys)

    result = run(kind, servers.folder, "gc", "--inmemory", *NOW)

    assert 0 != result.exit_code
    assert f"the DynamoDB table '{kind.writer['table-name']}' does not exist" in result.output
    assert kind.writer["table-name"] not in client.list_tables()["TableNames"]


def test_tables_of_another_format_in_a_glue_database_are_passed_over(servers: Servers) -> None:
    kind = KINDS["glue"](servers)
    with opened(kind, servers.folder) as (catalog, writer):
        write(catalog, writer, "of_glue_mixed.orders", appends=1)
        catalog.glue.create_table(  # type: ignore[attr-defined]  # Glue's own client
            DatabaseName="of_glue_mixed", TableInput={"Name": "csv", "StorageDescriptor": {"Location": "s3://else/csv"}}
        )

        with IcebergCatalogConnector.from_options({"properties": dict(kind.writer)}) as connector:
            names = {reference.name for reference in connector.references()}

    assert "of_glue_mixed.orders" in names
    assert "of_glue_mixed.csv" not in names


def test_a_view_of_a_hive_metastore_is_read_by_its_metadata_location(servers: Servers) -> None:
    kind = KINDS["hive"](servers)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "of_hive_views.orders", appends=1)
        place = f"{table.location()}_view/metadata/00000-v.metadata.json"
        with catalog._client as client:  # type: ignore[attr-defined]  # PyIceberg makes no views there
            view = client.get_table("of_hive_views", "orders")
            view.tableName, view.parameters["table_type"] = "view", "iceberg-view"
            view.parameters["metadata_location"] = place
            client.create_table(view)

        with IcebergCatalogConnector.from_options({"properties": dict(kind.writer)}) as connector:
            found = {reference.name: reference for reference in connector.references()}
            [entry] = connector.commit_log(found["of_hive_views.view"])
        with catalog._client as client:  # type: ignore[attr-defined]  # as above
            client.drop_table("of_hive_views", "view", deleteData=False)

    assert entry.operations is not None
    assert [("ICEBERG_VIEW", place)] == [
        (operation.content.content_type, operation.content.metadata_location)
        for operation in entry.operations
        if operation.content is not None
    ]


def test_s23_nothing_is_deleted_where_a_view_of_a_rest_catalog_is(servers: Servers) -> None:
    kind = KINDS["rest"](servers)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "of_rest_views.orders", appends=1)
        location = f"{table.location()}_view"
        schema = Schema(*table.schema().fields, schema_id=0)
        version: dict[str, Any] = {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {},
            "default-namespace": ["of_rest_views"],
            "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
        }
        catalog.create_view("of_rest_views.view", schema, ViewVersion(**version), location=location)
        unnamed = kind.put(f"{location}/metadata/unnamed.json")
        orphan = kind.put(f"{table.location()}/data/orphan.parquet")
        wait_for_the_clock()
        before = kind.files()

        report = gc(kind, servers.folder)
        after = kind.files()
        catalog.drop_view("of_rest_views.view")

    assert {orphan} == before - after
    assert unnamed in before
    assert any("ICEBERG_VIEW_AS_A_WHOLE" in str(each) for each in report["unread"]), report
