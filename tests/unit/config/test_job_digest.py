"""What counts when schedulers compare the jobs of their files, and what does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nessie_gc_core.cli.command import known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import SHOWN, JobDigests
from nessie_gc_core.config.settings import StoreSettings
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import installed

TOP = """
allow = ["s3://lake/"]
default-cutoff = "P30D"
token = "secret"
iceberg = { "s3.endpoint" = "http://store:9000", "s3.secret-access-key" = "secret" }
nessie-option = { "nessie.authentication.token" = "secret" }
connector-option = ["content-to-files:iceberg:ignore_snapshot_refs=false"]
"""
REPOSITORY = """
[repository]
name = "iceberg-catalog"
type = "sql"
uri = "postgresql://gc:secret@db:5432/catalog"
include = ["sales"]
[repository.properties]
warehouse = "s3://lake/warehouse"
"s3.secret-access-key" = "secret"
"""
SCHEDULE = """
[schedule]
time-zone = "Europe/Berlin"
quiet = ["08:00-18:00"]
[schedule.jobs.nightly]
service = "gc"
cron = "@daily"
options = { min-age = "P2D" }
[schedule.jobs.other]
service = "health"
cron = "@daily"
options = { default-cutoff = "P7D" }
"""
FILE = TOP + REPOSITORY + SCHEDULE
TABLES = {"repository", "store", "schedule", "connectors", "repositories"}


def digest(folder: Path, text: str, job: str = "nightly") -> str | None:
    path = folder / "x.toml"
    path.write_text(text)
    return JobDigests(installed()).digest(ConfigFile.read(path, known_options(cli)), job)


def digest_with(**options: Any) -> str | None:
    """With these options at the top."""
    file = ConfigFile(schedule={"jobs": {"plain": {"service": "gc"}}}, options=options)
    return JobDigests(installed()).digest(file, "plain")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('"s3://lake/"]', '"s3://lake/", "s3://other/"]'),
        ('"P30D"', '"P3D"'),
        ("http://store:9000", "http://other:9000"),
        ("refs=false", "refs=true"),
        ('"iceberg-catalog"', '"nessie"'),
        ("@db:5432/catalog", "@db:5432/another"),
        ('["sales"]', '["sales", "logs"]'),
        ("s3://lake/warehouse", "s3://lake/other"),
        ("Europe/Berlin", "Europe/Paris"),
        ("08:00-18:00", "08:00-19:00"),
        ('"gc"', '"sweep"'),
        ('"P2D"', '"P3D"'),
        ("[schedule]", "[connectors.content-to-files.iceberg]\nignore_snapshot_refs = true\n[schedule]"),
    ],
)
def test_s27_what_decides_what_a_run_does_counts(tmp_path: Path, text: str, changed: str) -> None:
    assert text in FILE
    assert digest(tmp_path, FILE) != digest(tmp_path, FILE.replace(text, changed, 1))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("secret", "another"),
        ("token =", "jdbc-url = 'sqlite:///x.db'\njdbc-user = 'u'\ntoken ="),
        ("token =", "outcomes-to = 'o.parquet'\nmemory-limit = '4GB'\ntls-ca = '/ca.pem'\ntoken ="),
        ("token =", "quiet = true\njson = true\ntoken ="),
        ("[schedule]", "[store]\nurl = 'sqlite:///x.db'\n[schedule]"),
        ("[schedule]", "[schedule]\nparallel = 3\nwebhook = 'http://x/'"),
        ('"P7D"', '"P8D"'),
    ],
)
def test_secrets_and_what_is_of_one_machine_do_not_count(tmp_path: Path, text: str, changed: str) -> None:
    assert text in FILE
    assert digest(tmp_path, FILE) == digest(tmp_path, FILE.replace(text, changed))


def test_an_option_of_the_job_counts_instead_of_that_of_the_top(tmp_path: Path) -> None:
    other = FILE.replace('"P30D"', '"P3D"')
    assert digest(tmp_path, FILE, "other") == digest(tmp_path, other, "other")


AZURE = "{scheme}://{container}@account.dfs.core.windows.net/warehouse"
TEXTS = {
    "iceberg": "s3.region=x,s3.endpoint=http://{}:9000",
    "spark-conf": "spark.master=local[*],spark.sql.catalog.lake.uri=http://{}/api",
    "repository-option": "retries=3,uri=http://{}/api/v2",
    "scheme-alias": "s3n={}",
    "path-alias": "/mnt/a=s3://a/,/mnt/b=s3://{}/",
    "connector-option": "content-to-files:iceberg:properties=s3.endpoint=http://{}",
}
"""Pairs as text, with a place for what decides."""


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "wasb", "wasbs"])
@pytest.mark.parametrize(
    "options",
    [
        {"allow": ["{}"]},
        {"allow": "{},s3://lake/"},
        {"quarantine": "{}"},
        {"path-alias": {"/mnt/lake": "{}"}},
        {"path-alias": {"{}": "/mnt/lake"}},
        {"path-alias": "/mnt/lake={}"},
        {"iceberg": {"warehouse": "{}"}},
        {"iceberg": "warehouse={}"},
        {"spark-conf": {"spark.sql.catalog.lake.warehouse": "{}"}},
        {"repository": "iceberg-catalog", "repository-option": {"warehouse": "{}"}},
        {"repository": "iceberg-catalog", "repository-option": {"properties": "warehouse={}"}},
    ],
    ids=str,
)
def test_s27_the_container_of_azure_counts(scheme: str, options: dict[str, Any]) -> None:
    prod, test = (_put(options, AZURE.format(scheme=scheme, container=name)) for name in ("prod", "test"))
    assert digest_with(**prod) != digest_with(**test)


def _put(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {_put(key, text): _put(part, text) for key, part in value.items()}
    return [_put(part, text) for part in value] if isinstance(value, list) else value.replace("{}", text)


@pytest.mark.parametrize(("key", "text"), TEXTS.items(), ids=TEXTS)
def test_s27_pairs_that_are_written_as_text_count(key: str, text: str) -> None:
    assert digest_with(**{key: text.format("prod")}) != digest_with(**{key: text.format("test")})


@pytest.mark.parametrize("key", TEXTS.keys() - {"path-alias", "connector-option"})
def test_pairs_count_alike_as_text_and_as_a_table_and_in_a_list(key: str) -> None:
    parts = TEXTS[key].format("prod").split(",")
    table = dict(part.split("=", 1) for part in parts)
    digests = {digest_with(**{key: value}) for value in (",".join(parts), table, parts)}
    assert 1 == len(digests)


def of_job(**options: Any) -> str | None:
    """With these options of the job itself."""
    file = ConfigFile(schedule={"jobs": {"plain": {"service": "gc", "options": options}}}, store={"name": "jdbc"})
    return JobDigests(installed()).digest(file, "plain")


@pytest.mark.parametrize(
    "options",
    [
        {"jdbc-url": "postgresql://gc:secret@{}/live"},
        {"jdbc-url": "jdbc:postgresql://db/live?currentSchema={}"},
        {"jdbc-url": "jdbc:sqlite:{}.db"},
        {"jdbc-properties": {"dbname": "{}"}},
        {"store": "{}"},
        {"store-option": "url=postgresql://gc:secret@{}/live"},
        {"jdbc-schema": "{}"},
    ],
    ids=str,
)
def test_s27_the_store_of_a_job_counts_because_its_lock_holds_in_one_store_only(options: dict[str, Any]) -> None:
    assert of_job(**_put(options, "prod")) != of_job(**_put(options, "test"))
    assert of_job() != of_job(**_put(options, "prod"))


def test_s27_a_job_that_keeps_its_live_set_in_its_process_is_another_one() -> None:
    assert of_job() != of_job(inmemory=True)


@pytest.mark.parametrize(
    "options",
    [
        {"jdbc-schema": "{}"},
        {"nessie-option": "nessie.authentication.type=BEARER,nessie.uri=http://{}/api/v2"},
        {"repository-option": {"nessie_options": "nessie.uri=http://{}/api/v2"}},
        {"nessie-jdbc-url": "jdbc:postgresql://gc:secret@{}/nessie"},
        {"nessie-jdbc-url": "jdbc:postgresql://db/nessie?user=gc&password=secret&currentSchema={}"},
        {"nessie-jdbc-properties": "sslmode=require,dbname={}"},
        {"java-url": "jdbc:mysql://{}/gc"},
        {"repository": "iceberg-catalog", "repository-option": {"uri": "postgresql://db/x?options=-csearch_path={}"}},
        {"iceberg": {"uri": "jdbc:sqlserver://db:1433;password=secret;databaseName={}"}},
        {"spark-conf": {"spark.hadoop.fs.s3a.bucket.my.lake.endpoint": "http://{}:9000"}},
    ],
    ids=str,
)
def test_s27_addresses_count_that_may_have_secrets_in_them(options: dict[str, Any]) -> None:
    assert digest_with(**_put(options, "prod")) != digest_with(**_put(options, "test"))


@pytest.mark.parametrize(
    "options",
    [
        {"nessie-jdbc-url": "jdbc:postgresql://gc:{}@db/nessie"},
        {"nessie-jdbc-url": "jdbc:postgresql://db/nessie?user=gc&password={}"},
        {"nessie-jdbc-url": "postgresql:gc:{}@db/nessie"},
        {"nessie-jdbc-url": "jdbc:postgresql:nessie?password={}"},
        {"nessie-jdbc-properties": {"password": "{}"}},
        {"nessie-option": {"nessie.authentication.token": "{}"}},
        {"iceberg": {"uri": "jdbc:sqlserver://db:1433;password={};databaseName=x"}},
        {"repository": "iceberg-catalog", "repository-option": {"uri": "http://{}@host/?token={}"}},
        {"spark-conf": {"spark.hadoop.fs.s3a.bucket.lake.secret.key": "{}"}},
    ],
    ids=str,
)
def test_no_secret_in_an_address_or_in_pairs_gets_into_a_digest(options: dict[str, Any]) -> None:
    assert digest_with(**_put(options, "one")) == digest_with(**_put(options, "two"))
    assert of_job(**_put(options, "one")) == of_job(**_put(options, "two"))


@pytest.mark.parametrize("key", ["nessie-option", "nessie-jdbc-properties", "iceberg"])
def test_a_machine_whose_secrets_are_in_its_environment_has_the_same_jobs(key: str) -> None:
    assert digest_with() == digest_with(**{key: {"password": "secret"}})


def test_s27_each_address_of_a_metastore_counts() -> None:
    one, other = ({"uri": f"thrift://a:9083, thrift://{host}:9083"} for host in "bc")
    assert digest_with(iceberg=one) != digest_with(iceberg=other)


def test_every_option_that_is_neither_secret_nor_of_a_machine_counts_and_every_address() -> None:
    digests = JobDigests(installed())
    declared = digests._declared
    fields = [field for group in declared.values() for field in group]
    secret = {field.name for field in fields if field.metadata["secret"] and not field.metadata.get("address")}
    store = {field.name for field in dataclasses.fields(StoreSettings)} - {"jdbc_schema"}
    keys = known_options(cli) - SHOWN
    expected = {key.replace("-", "_") for key in keys} - secret - store - {*digests.not_compared()}
    plain = digest_with()
    found = {key.replace("-", "_") for key in keys if digest_with(**{key: "x"}) != plain}
    assert expected == found - {"connector_option", "repository_option", "iceberg", "spark_conf"}  # by their pairs


@pytest.mark.parametrize(
    "value",
    [
        "s3://gc:{}@lake/",
        "sftp://gc:{}@host/lake/",
        "http://gc:1/{}@lake/",
        "s3://gc:{}@lake/,s3://gc:{}@other/",
        "abfss://container:{}@account/lake/",
    ],
)
def test_no_password_in_a_location_gets_into_a_digest(value: str) -> None:
    one, other = (value.replace("{}", password) for password in ("secret", "another"))
    assert digest_with(allow=[one]) == digest_with(allow=[other])
    assert digest_with(iceberg={"warehouse": one}) == digest_with(iceberg={"warehouse": other})
    assert digest_with(iceberg=f"uri={one}") == digest_with(iceberg=f"uri={other}")


def test_a_job_that_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(FILE)
    file = ConfigFile.read(tmp_path / "x.toml", known_options(cli))
    with pytest.raises(ConfigurationError, match="is not what its scheduler has read"):
        JobDigests(installed()).check(file, "weekly", "")
