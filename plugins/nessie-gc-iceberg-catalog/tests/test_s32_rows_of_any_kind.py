"""S32: whatever the row of a catalog calls itself, the metadata that it names is live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog.content_types import OTHER_TABLE
from nessie_gc_iceberg_catalog.dynamodb import _listed
from nessie_gc_iceberg_catalog.listing import Listed
from nessie_gc_iceberg_catalog.metastore import Metastore
from nessie_gc_iceberg_catalog.states import other_states
from nessie_gc_iceberg_catalog.unwritable import NOT_CALLED_A_TABLE
from reading import names

from nessie_gc_core.model import ICEBERG_TABLE, ICEBERG_VIEW, UNKNOWN_CONTENT

STORAGE = "s3://lake/db/st/metadata/00001-a.metadata.json"
TRINO = {"presto_view": "true", "comment": "Presto Materialized View"}


def listed(parameters: dict[str, str], kind: str = "EXTERNAL_TABLE", location: str | None = None) -> list[Listed]:
    return list(Metastore("the metastore").listed(("db", "row"), parameters, kind, location))


@pytest.mark.parametrize("key", ["metadata_location", "METADATA_LOCATION", "Metadata_Location"])
@pytest.mark.parametrize("said", [{}, TRINO, {"table_type": "something"}, {"TABLE_TYPE": "MATERIALIZED_VIEW"}])
@pytest.mark.parametrize("kind", ["VIRTUAL_VIEW", "MATERIALIZED_VIEW", "EXTERNAL_TABLE", "MANAGED_TABLE"])
def test_s32_a_row_of_any_kind_that_names_metadata_is_listed(key: str, said: dict[str, str], kind: str) -> None:
    (found,) = listed({**said, key: STORAGE}, kind)
    assert (STORAGE, False, False) == (found.metadata_location, found.is_view, found.is_table)


def test_a_row_that_is_called_a_table_or_view_of_iceberg_is_one() -> None:
    (table,) = listed({"table_type": "ICEBERG", "metadata_location": STORAGE})
    (view,) = listed({"table_type": "iceberg-view", "metadata_location": STORAGE})
    assert [(True, False), (True, True)] == [(each.is_table, each.is_view) for each in (table, view)]


def test_a_row_of_iceberg_without_metadata_is_unknown_and_one_of_another_format_is_passed_over() -> None:
    (unknown,) = listed({"table_type": "ICEBERG"})
    assert "it has no metadata_location in the metastore; drop or repair it" == unknown.problem
    assert [] == listed({"table_type": "something"}, location="s3://lake/db/row")


@pytest.mark.parametrize(
    ("location", "kind", "is_inside"),
    [
        ("s3a://lake/db/t", "EXTERNAL_TABLE", True),
        ("s3://lake/db/t/", "MANAGED_TABLE", True),
        ("s3://lake/db/t/data/day=1", "EXTERNAL_TABLE", True),
        ("s3://lake/db/t2", "EXTERNAL_TABLE", False),
        ("s3://lake/db", "EXTERNAL_TABLE", False),
        ("s3://lake/db/t", "VIRTUAL_VIEW", False),
    ],
)
def test_s32_a_hive_table_in_the_folder_of_an_iceberg_table_is_listed_by_its_place(
    location: str, kind: str, *, is_inside: bool
) -> None:
    metastore = Metastore("the metastore")
    assert [] == list(metastore.listed(("a", "hive"), {}, kind, location))
    named = "s3://lake/db/t/metadata/1.metadata.json"
    parameters = {"table_type": "ICEBERG", "metadata_location": named}
    list(metastore.listed(("db", "t"), parameters, "EXTERNAL_TABLE", None))
    found = [Listed(identifier=("a", "hive"), location=location, metadata_location=named)] if is_inside else []
    assert found == list(metastore.in_folders_of_iceberg())


def test_s32_its_place_is_all_that_is_known_of_such_a_table() -> None:
    states = other_states("a.hive", "s3://lake/db/t", STORAGE)
    version = states.version(states.snapshots[0])
    said = (version.content_type, version.location, version.metadata_location)
    assert (OTHER_TABLE, "s3://lake/db/t", STORAGE) == said
    assert other_states("a.hive", "s3://lake/db/t").head == states.head


def test_s32_a_row_of_dynamodb_that_names_metadata_is_live_whatever_its_type_is() -> None:
    found = _listed({"identifier": "db.mv", "p.table_type": "view?", "p.metadata_location": STORAGE})
    assert Listed(identifier=("db", "mv"), is_table=False, metadata_location=STORAGE) == found
    assert _listed({"identifier": "db.csv", "p.table_type": "csv"}) is None


@pytest.mark.parametrize("kind", ["MATERIALIZED_VIEW", "", "table"])
def test_s32_a_row_of_an_sql_catalog_keeps_the_table_that_it_names(lake: Lake, connect: Open, kind: str) -> None:
    storage = lake.table("sales.storage", appends=2)
    lake.execute("UPDATE iceberg_tables SET iceberg_type = ?", kind)
    connector = connect()
    (reference,) = connector.references()
    entries = list(connector.commit_log(reference))
    put = [operation.content for operation in entries[0].operations or () if operation.content is not None]
    assert storage.metadata_location in {version.metadata_location for version in put}
    assert {ICEBERG_TABLE} <= {version.content_type for version in put}
    (table,) = connector.tables(reference)
    assert (NOT_CALLED_A_TABLE if kind == "MATERIALIZED_VIEW" else None) == table.unwritable


def test_s32_what_a_row_of_any_kind_names_is_what_its_metadata_says(lake: Lake, connect: Open, tmp_path: Path) -> None:
    metadata = tmp_path / "00000-v.metadata.json"
    metadata.write_text(json.dumps({"view-uuid": "u", "format-version": 1, "location": "file:///v", "versions": []}))
    lake.table("sales.orders")
    lake.execute("INSERT INTO iceberg_tables VALUES ('prod', 'sales', 'v', ?, NULL, 'OTHER')", metadata.as_uri())
    connector = connect()
    (reference,) = [each for each in connector.references() if each.name == "sales.v"]
    (entry,) = connector.commit_log(reference)
    assert [ICEBERG_VIEW] == [each.content.content_type for each in entry.operations or () if each.content is not None]


@pytest.mark.parametrize("text", [None, "no JSON"])
def test_s32_a_row_of_any_kind_whose_metadata_cannot_be_read_is_unknown(
    lake: Lake, connect: Open, tmp_path: Path, text: str | None
) -> None:
    metadata = tmp_path / "st" / "metadata" / "00000-t.metadata.json"
    if text is not None:
        metadata.parent.mkdir(parents=True)
        metadata.write_text(text)
    lake.table("sales.orders")
    lake.execute("INSERT INTO iceberg_tables VALUES ('prod', 'sales', 'mv', ?, NULL, 'OTHER')", metadata.as_uri())
    connector = connect()
    assert ["sales.mv", "sales.orders"] == names(connector)
    (reference,) = [each for each in connector.references() if each.name == "sales.mv"]
    (entry,) = connector.commit_log(reference)
    found = [each.content for each in entry.operations or () if each.content is not None]
    assert UNKNOWN_CONTENT in {version.content_type for version in found}
    assert {(tmp_path / "st").as_uri()} == {version.location for version in found}
