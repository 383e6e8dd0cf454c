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


def test_every_option_that_is_neither_secret_nor_of_a_machine_counts() -> None:
    digests = JobDigests(installed())
    declared = digests._declared()
    secret = {name for name, fields in declared.items() if any(field.metadata["secret"] for field in fields)}
    store = {field.name for field in dataclasses.fields(StoreSettings)}
    keys = known_options(cli) - SHOWN
    expected = {key.replace("-", "_") for key in keys} - secret - store - {*digests.not_compared()}
    plain = digest_with()
    found = {key.replace("-", "_") for key in keys if digest_with(**{key: "x"}) != plain}
    assert expected == found - {"connector_option", "repository_option", "iceberg", "spark_conf"}  # by their pairs


@pytest.mark.parametrize("value", ["s3://gc:{}@lake/", "sftp://gc:{}@host/lake/", "http://gc:1/{}@lake/"])
def test_no_password_in_a_location_gets_into_a_digest(value: str) -> None:
    assert digest_with(allow=[value.format("secret")]) == digest_with(allow=[value.format("another")])


def test_a_job_that_is_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(FILE)
    file = ConfigFile.read(tmp_path / "x.toml", known_options(cli))
    with pytest.raises(ConfigurationError, match="is not what its scheduler has read"):
        JobDigests(installed()).check(file, "weekly", "")
