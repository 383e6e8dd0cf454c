"""Tables that somebody else collects are recognised by what the products write."""

from __future__ import annotations

import pytest
from nessie_gc_iceberg_catalog.managers import NOBODY_IN_PARTICULAR, Managers

OURS = Managers.of({"uri": "https://catalog.example.com/iceberg", "warehouse": "lake"})
S3_TABLES = "s3://63a8e430-6e0b-46f5-k833abtwr6s8tmtsycedn8s4yc3xhuse1b--table-s3"


@pytest.mark.parametrize(
    ("manager", "properties"),
    [
        ("AWS S3 Tables", {"uri": "https://s3tables.eu-west-1.amazonaws.com/iceberg", "warehouse": "arn:x"}),
        ("AWS S3 Tables", {"uri": "https://glue.eu-west-1.amazonaws.com/iceberg", "warehouse": "1:s3tablescatalog/b"}),
        ("AWS S3 Tables", {"warehouse": "arn:aws:s3tables:eu-west-1:111122223333:bucket/tables"}),
        ("AWS S3 Tables", {"type": "glue", "glue.id": "111122223333:s3tablescatalog/tables"}),
        ("Databricks", {"uri": "https://adb-1.7.azuredatabricks.net/api/2.1/unity-catalog/iceberg-rest"}),
        ("Databricks", {"uri": "https://dbc-1.cloud.databricks.com:443/api/2.1/unity-catalog/iceberg-rest/"}),
        ("Databricks", {"uri": "http://localhost:8080/api/2.1/unity-catalog/iceberg"}),
        ("Snowflake", {"uri": "https://org-account.snowflakecomputing.com/polaris/api/catalog"}),
        (None, {"uri": "https://glue.eu-west-1.amazonaws.com/iceberg", "warehouse": "111122223333"}),
        (None, {"uri": "https://notsnowflakecomputing.com/polaris/api/catalog"}),
        (None, {"uri": "https://s3tables.example.com/", "warehouse": "s3://tables"}),
        (None, {}),
    ],
)
def test_a_catalog_whose_product_collects_every_table(manager: str | None, properties: dict[str, str]) -> None:
    found = Managers.of(properties)

    assert (manager, False) == (found.catalog, found.whole)
    assert manager == found.of_table("s3://lake/db/t", {})


@pytest.mark.parametrize(
    ("manager", "location", "properties"),
    [
        ("AWS S3 Tables", S3_TABLES, {}),
        ("AWS S3 Tables", f"{S3_TABLES}/deeper", {}),
        (None, "s3://lake/t--table-s3", {}),
        ("Databricks", "abfss://c@a.dfs.core.windows.net/x/__unitystorage/catalogs/1/tables/2", {}),
        ("Databricks", "s3://lake/t", {"delta-version": "7", "delta-timestamp": "1"}),
        ("Amoro", "s3://lake/t", {"self-optimizing.enabled": "true"}),
        ("Amoro", "s3://lake/t", {"self-optimizing.group": "default"}),
        ("Amoro", "s3://lake/t", {"clean-orphan-file.enabled": "TRUE"}),
        (None, "s3://lake/t", {"self-optimizing.enabled": "false", "clean-orphan-file.enabled": "false"}),
        (NOBODY_IN_PARTICULAR, "s3://lake/t", {"gc.enabled": "false"}),
        (NOBODY_IN_PARTICULAR, "s3://lake/t", {"gc.enabled": "no"}),
        (None, "s3://lake/t", {"gc.enabled": "True"}),
        (None, "s3://lake/t", {"write.format.default": "parquet"}),
    ],
)
def test_a_table_that_a_product_collects(manager: str | None, location: str, properties: dict[str, str]) -> None:
    assert manager == OURS.of_table(location, properties)


def test_a_nessie_server_shows_one_branch_whatever_its_tables_say() -> None:
    nessie = Managers.of({"uri": "http://nessie:19120/iceberg/main", "nessie.is-nessie-catalog": "true"})

    assert nessie.whole
    assert "Nessie" == nessie.of_table("s3://lake/t", {"gc.enabled": "true"})
