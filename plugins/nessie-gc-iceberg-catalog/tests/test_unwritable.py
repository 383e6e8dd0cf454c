"""Which tables take no commit is known from their metadata: a dry run and the real run say the same of them."""

from __future__ import annotations

import pytest
from nessie_gc_iceberg_catalog.unwritable import WITHOUT_LOCKS, takes_locks, why_unwritable

from nessie_gc_core.model import TableMetadata

LOCKS = "engine.hive.lock-enabled"


def table(*, format_version: int = 2, **properties: str) -> TableMetadata:
    return TableMetadata(
        reference="db.t",
        commit_id="c",
        content_key="db.t",
        content_id="t",
        metadata_location="s3://b/db/t/metadata/1.json",
        location="s3://b/db/t",
        format_version=format_version,
        properties=properties,
    )


@pytest.mark.parametrize("catalog_type", ["rest", "sql", "glue", "hive"])
@pytest.mark.parametrize("format_version", [1, 2])
def test_tables_of_older_formats_take_commits(catalog_type: str, format_version: int) -> None:
    assert why_unwritable(catalog_type, table(format_version=format_version)) is None


@pytest.mark.parametrize("catalog_type", ["sql", "glue", "hive"])
def test_pyiceberg_does_not_write_format_version_3(catalog_type: str) -> None:
    why = why_unwritable(catalog_type, table(format_version=3))
    assert "PyIceberg cannot write metadata of format version 3" == why


def test_a_rest_server_writes_it_itself() -> None:
    assert why_unwritable("rest", table(format_version=3)) is None


@pytest.mark.parametrize("catalog_type", ["dynamodb", "bigquery"])
def test_pyiceberg_has_no_commits_to_these_catalogs(catalog_type: str) -> None:
    assert f"PyIceberg cannot commit to tables of {catalog_type} catalogs" == why_unwritable(catalog_type, table())


@pytest.mark.parametrize(("said", "locks"), [("true", True), ("TRUE", True), ("false", False), ("no", False)])
def test_a_table_in_a_hive_metastore_says_whether_its_writers_lock_it(said: str, *, locks: bool) -> None:
    assert (True, locks) == (takes_locks({}), takes_locks({LOCKS: said}))
    assert (None if locks else WITHOUT_LOCKS) == why_unwritable("hive", table(format_version=2, **{LOCKS: said}))
    assert why_unwritable("sql", table(format_version=2, **{LOCKS: said})) is None
