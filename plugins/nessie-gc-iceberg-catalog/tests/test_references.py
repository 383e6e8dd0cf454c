from __future__ import annotations

import pytest
from conftest import ROWS, Lake, Open
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_iceberg_catalog.names import identifier_of, reference_name
from reading import names, reference

from nessie_gc_core.model import ReferenceKind


def test_every_table_of_every_namespace_is_one_branch(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    lake.table("sales.eu.orders")
    lake.table("sales.eu.north.orders")
    connector = connect()

    references = list(connector.references())

    assert ["sales.eu.north.orders", "sales.eu.orders", "sales.orders"] == sorted(each.name for each in references)
    assert {ReferenceKind.BRANCH} == {each.kind for each in references}


def test_a_table_without_a_namespace_is_not_left_out(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders")
    lake.execute("INSERT INTO iceberg_tables VALUES ('prod', '', 'bare', ?, NULL, 'TABLE')", table.metadata_location)

    assert ["bare", "sales.orders"] == names(connect())


def test_a_table_of_a_namespace_that_has_no_properties_is_not_left_out(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    lake.execute("DELETE FROM iceberg_namespace_properties")

    assert ["sales.orders"] == names(connect())


def test_tables_of_a_catalog_with_the_older_schema_are_listed(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    lake.execute("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type")

    assert ["sales.orders"] == names(connect())


def test_more_tables_than_are_loaded_at_once_are_all_listed(lake: Lake, connect: Open) -> None:
    expected = [f"sales.t{number:02}" for number in range(23)]
    for name in expected:
        lake.table(name)

    assert expected == names(connect(parallelism=2))


def test_tables_of_another_catalog_in_the_same_database_are_not_ours(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders")
    lake.execute("INSERT INTO iceberg_tables VALUES ('dev', 'sales', 'drafts', ?, NULL, NULL)", table.metadata_location)

    assert ["sales.orders"] == names(connect())


def test_the_head_moves_with_every_commit(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=1)
    connector = connect()
    before = reference(connector, "sales.orders")
    table.append(ROWS)

    assert before.commit_id != reference(connector, "sales.orders").commit_id


def test_the_head_moves_with_a_change_of_metadata_alone(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=1)
    connector = connect()
    before = reference(connector, "sales.orders")
    with table.transaction() as transaction:
        transaction.set_properties(owner="me")

    assert before.commit_id != reference(connector, "sales.orders").commit_id


@given(st.lists(st.text(min_size=0, max_size=5), min_size=1, max_size=4))
def test_names_of_references_lead_back_to_their_identifiers(identifier: list[str]) -> None:
    assert tuple(identifier) == identifier_of(reference_name(identifier))


@pytest.mark.parametrize("name", ["", ".", "a..b", "a.", "`a", "a`b", "`a`b"])
def test_a_name_that_is_none_of_ours_has_no_identifier(name: str) -> None:
    assert identifier_of(name) is None
