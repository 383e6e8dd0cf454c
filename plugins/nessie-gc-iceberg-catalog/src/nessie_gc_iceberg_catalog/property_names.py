"""The names of catalog properties: those that this plugin reads, and PyIceberg's of all catalogs and their FileIO."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from nessie_gc_core.model.hosts import TRUSTED_HOSTS
from nessie_gc_core.model.known_names import KnownNames

_OWN = (
    "uri warehouse type py-catalog-impl py-io-impl token credential scope audience resource prefix auth ssl "
    "oauth2-server-uri snapshot-loading-mode scan-planning-mode rest-page-size rest-metrics-reporting-enabled "
    "view-endpoints-supported namespace-separator rest.sigv4-enabled rest.signing-region rest.signing-name "
    "s3.access-key-id s3.secret-access-key s3.session-token s3.region s3.endpoint client.region "
    "echo pool_pre_ping init_catalog_tables table-name location ugi botocore_session "
    "lock-check-min-wait-time lock-check-max-wait-time lock-check-retries "
    "hive.hive2-compatible hive.kerberos-authentication hive.kerberos-service-name "
    "glue.id glue.region glue.endpoint glue.profile-name glue.access-key-id glue.secret-access-key glue.session-token "
    "dynamodb.region dynamodb.profile-name dynamodb.access-key-id dynamodb.secret-access-key dynamodb.session-token "
    "adls.auth.shared-key.account.name"
)
_OF_PYICEBERG = re.compile(r"(?:s3|client|gcs|adls|hdfs|hf|rest|glue|dynamodb|hive|gcp|auth)\.[a-z0-9._-]+")
_MODULES = (
    "io",
    *("catalog", "catalog.rest", "catalog.rest.auth", "catalog.hive", "catalog.glue", "catalog.dynamodb"),
    "catalog.bigquery_metastore",
)


def _names_of_pyiceberg() -> Iterator[str]:
    """The constants of the PyIceberg that is installed, of those catalogs whose libraries are."""
    for name in _MODULES:
        try:
            module = importlib.import_module(f"pyiceberg.{name}")
        except ImportError:
            continue
        for constant, value in vars(module).items():
            if constant.isupper() and isinstance(value, str) and _OF_PYICEBERG.fullmatch(value):
                yield value


CATALOG_NAMES = KnownNames(
    names=frozenset({*_OWN.split(), TRUSTED_HOSTS}),
    beginnings=("header.", "adls.sas-token.", "adls.connection-string."),
    more=_names_of_pyiceberg,
    classes={"py-io-impl": "pyiceberg.", "py-catalog-impl": "pyiceberg."},
)
