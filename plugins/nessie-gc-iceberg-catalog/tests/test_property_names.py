"""Every property that PyIceberg's catalogs read is known, so that no run warns of it or refuses it."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from nessie_gc_iceberg_catalog.property_names import CATALOG_NAMES
from pyiceberg import catalog, io
from pyiceberg.catalog import rest

from nessie_gc_core.model.known_names import doubtful_names

PROPERTY = re.compile(r"(?:s3|client|gcs|adls|hdfs|hf|rest|glue|dynamodb|hive)\.[a-z0-9._-]+")


def doubts(*names: str) -> list[str]:
    return [str(doubt) for doubt in doubtful_names(dict.fromkeys(names, ""), [CATALOG_NAMES])]


@pytest.mark.parametrize("module", [io, catalog, rest])
def test_the_constants_of_pyiceberg_are_known(module: ModuleType) -> None:
    constants = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)]
    assert [] == doubts(*filter(PROPERTY.fullmatch, constants))


def test_properties_that_have_no_prefix_are_known_or_like_none() -> None:
    names = (rest.CREDENTIAL, rest.OAUTH2_SERVER_URI, rest.SCOPE, rest.PREFIX, rest.SSL, rest.AUTH, rest.PAGE_SIZE)
    more = (rest.SNAPSHOT_LOADING_MODE, rest.AUDIENCE, rest.RESOURCE, catalog.TOKEN, catalog.TYPE, catalog.URI)
    assert [] == doubts(*names, *more, "header.X-Iceberg-Access-Delegation", "io-impl", "catalog-impl", "cache-enabled")
    assert set(names) | set(more) <= CATALOG_NAMES.names


def test_properties_of_all_catalogs_are_known() -> None:
    names = ("glue.id", "glue.max-retries", "glue.retry-mode", "dynamodb.region", "table-name", "hive.hive2-compatible")
    more = ("hive.kerberos-authentication", "rest.sigv4-enabled", "gcp.bigquery.project-id", "pool_pre_ping", "echo")
    assert [] == doubts(*names, *more)
