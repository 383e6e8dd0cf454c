"""Tables that are not collected are live, and their locations frozen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.content_types import GC_DISABLED, LEFT_OUT
from nessie_gc_iceberg_catalog.managers import Managers
from nessie_gc_iceberg_catalog.options import IcebergCatalogOptions
from reading import names, put

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import ICEBERG_TABLE, ICEBERG_VIEW

FROZEN = {LEFT_OUT, GC_DISABLED}


def left_alone(connector: IcebergCatalogConnector) -> set[str]:
    """The names of what is frozen."""
    types = {name: {version.content_type for version in put(connector, name)} for name in names(connector)}
    return {name for name, found in types.items() if found & FROZEN}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, set()),
        ({"include": [r"sales\..*"]}, {"stock.items", "sales2.orders"}),
        ({"include": ["sales"]}, {"sales.orders", "sales.old", "sales2.orders", "stock.items"}),
        ({"exclude": [r"sales\.o.*"]}, {"sales.orders", "sales.old"}),
        ({"include": [r"sales\..*", r"stock\..*"], "exclude": [r".*\.old"]}, {"sales.old", "sales2.orders"}),
        ({"exclude": "sales.orders|stock.items"}, {"sales.orders", "stock.items"}),
        ({"include": r"sales\.\w{3,6}"}, {"stock.items", "sales2.orders"}),
    ],
)
def test_s12_patterns_choose_tables_by_their_whole_names(
    lake: Lake, connect: Open, options: dict[str, object], expected: set[str]
) -> None:
    for name in ("sales.orders", "sales.old", "sales2.orders", "stock.items"):
        lake.table(name)
    connector = connect(**options)

    assert 4 == len(names(connector))
    assert expected == left_alone(connector)


def test_a_table_that_is_left_out_keeps_every_listed_state_and_freezes_each_of_its_places(
    lake: Lake, connect: Open
) -> None:
    elsewhere = f"file://{lake.warehouse}/elsewhere"
    table = lake.table("sales.orders", appends=3, properties={"write.data.path": elsewhere})
    before = {version.identity for version in put(connect(), "sales.orders")}

    versions = put(connect(exclude=[r"sales\.orders"]), "sales.orders")

    frozen = [version for version in versions if version.content_type == LEFT_OUT]
    assert {table.location(), elsewhere} == {version.location for version in frozen}
    assert before == {version.identity for version in versions if version not in frozen}
    assert 3 == sum(version.content_type == ICEBERG_TABLE for version in versions)


def test_a_view_that_is_left_out_freezes_the_place_that_its_metadata_names(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    metadata = lake.warehouse / "metadata-of-views/v/metadata/00000-v.metadata.json"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(json.dumps({"location": "s3://lake/views/v"}))
    lake.execute("INSERT INTO iceberg_tables VALUES ('prod', 'sales', 'v', ?, NULL, 'VIEW')", metadata.as_uri())

    versions = put(connect(exclude=[r"sales\.v"]), "sales.v")

    frozen = {version.location for version in versions if version.content_type == LEFT_OUT}
    assert {"s3://lake/views/v", Path(metadata.parent.parent).as_uri()} == frozen
    assert [ICEBERG_VIEW] == [version.content_type for version in versions if version.content_type != LEFT_OUT]


def test_a_table_of_somebody_else_is_frozen_under_the_name_of_who_manages_it(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", properties={"self-optimizing.enabled": "true"})
    lake.table("sales.other", properties={"gc.enabled": "no"})
    connector = connect()

    assert 1 == len(put(connector, "sales.orders", "ICEBERG_TABLE_MANAGED_BY_AMORO"))
    assert 1 == len(put(connector, "sales.other", GC_DISABLED))


def test_a_table_of_somebody_else_is_collected_where_it_is_named(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", properties={"gc.enabled": "false"})
    lake.table("sales.orders2", properties={"gc.enabled": "false"})
    connector = connect(managed_tables=[r"sales\.orders"])

    assert {"sales.orders2"} == left_alone(connector)


def test_a_table_that_is_named_and_left_out_is_left_out(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", properties={"gc.enabled": "false"})

    assert {"sales.orders"} == left_alone(connect(managed_tables=[".*"], exclude=[".*"]))


def test_no_name_makes_tables_of_a_nessie_server_collected() -> None:
    options = IcebergCatalogOptions.from_mapping({"managed_tables": [".*"]})
    selection = options.selection(Managers.of({"nessie.is-nessie-catalog": "true"}))

    assert GC_DISABLED == selection.frozen_as("sales.orders", "s3://lake/t", {"gc.enabled": "true"})


@pytest.mark.parametrize("option", ["include", "exclude", "managed_tables"])
def test_s27_a_pattern_that_is_no_regular_expression_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{option}.*'\*' is not a valid regular expression"):
        IcebergCatalogOptions.from_mapping({option: ["*"]})


def test_the_log_of_a_commit_is_the_same_for_who_reads_it_again(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=2)
    options = {"exclude": [r"sales\..*"]}
    [head] = connect(**options).references()

    assert list(connect(**options).commit_log(head)) == list(connect(**options).commit_log(head))
    assert LEFT_OUT in {
        operation.content.content_type
        for entry in connect(**options).commit_log(head)
        for operation in entry.operations or ()
        if operation.content is not None
    }
