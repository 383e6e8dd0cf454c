"""Partition specs as metadata of every age lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from nessie_gc_core.model.table_metadata import PartitionField, TableMetadata

DAY = {"name": "ts_day", "transform": "day", "source-id": 3, "field-id": 1000}


def table(fields: Mapping[str, Any]) -> TableMetadata:
    return TableMetadata.parse(
        {"location": "l", "format-version": 1, **fields},
        metadata_location="",
        reference="",
        commit_id="",
        content_key="",
        content_id="",
    )


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"partition-specs": [{"spec-id": 4, "fields": [DAY]}, {"spec-id": 5, "fields": []}]}, {4, 5}),
        ({"partition-spec": [DAY]}, {0}),
        ({}, set()),
    ],
)
def test_every_spec_has_its_fields(fields: dict[str, Any], found: set[int]) -> None:
    parsed = table(fields)
    assert found == parsed.spec_fields.keys()
    day = PartitionField(name="ts_day", transform="day", source_id=3)
    assert all(list(each) in ([day], []) for each in parsed.spec_fields.values())


@pytest.mark.parametrize("name", ["schemas", "schema"])
def test_the_columns_are_those_of_the_current_schema(name: str) -> None:
    inner = {"type": "struct", "fields": [{"id": 4, "name": "b", "type": "int"}]}
    listed = {"type": "list", "element-id": 3, "element": inner}
    schema = {"schema-id": 1, "type": "struct", "fields": [{"id": 2, "name": "a", "type": listed}]}
    old = {"schema-id": 0, "type": "struct", "fields": [{"id": 1, "name": "c", "type": "int"}]}
    given: dict[str, Any] = (
        {"schemas": [old, schema], "current-schema-id": 1} if name == "schemas" else {"schema": schema}
    )
    parsed = table(given)
    assert {2, 4} == parsed.columns


@pytest.mark.parametrize(
    ("summary", "service"), [({"nessie-gc.service": "compact"}, "compact"), ({}, None), (None, None)]
)
def test_a_snapshot_names_the_service_that_made_it(summary: dict[str, str] | None, service: str | None) -> None:
    given = {"snapshots": [{"snapshot-id": 1, "timestamp-ms": 2, "summary": summary}]}
    parsed = table(given)
    assert [service] == [snapshot.service for snapshot in parsed.snapshots]
