from __future__ import annotations

import socket
from pathlib import Path

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.errors import Redactor, translated

from nessie_gc_core.errors import AccessDeniedError, ConfigurationError, RepositoryError, ServiceUnavailableError


def connector(**options: object) -> IcebergCatalogConnector:
    return IcebergCatalogConnector.from_options(options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"type": "carrier-pigeon", "uri": "http://localhost"},
        {"uri": "gopher://localhost"},
        {"type": "rest"},
        {},
        {"type": "rest", "uri": "http://localhost", "parallelism": 0},
        {"type": "rest", "uri": "http://localhost", "properties": "no pairs"},
        {"uri": "sqlite://"},
        {"uri": "sqlite:///:memory:"},
    ],
)
def test_wrong_options_are_said_at_once_in_one_line(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError) as error:
        connector(**options)

    assert "\n" not in str(error.value)


def test_a_missing_sqlite_file_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no SQLite catalog at .*gone\.db"):
        connector(uri=f"sqlite:///{tmp_path}/gone.db")

    assert [] == list(tmp_path.iterdir())


def test_a_database_without_a_catalog_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    with connector(uri=f"sqlite:///{tmp_path}/empty.db") as opened, pytest.raises(ConfigurationError, match="iceberg"):
        list(opened.references())

    assert 0 == (tmp_path / "empty.db").stat().st_size


def test_a_catalog_name_that_the_database_does_not_have_is_an_error(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")

    with pytest.raises(ConfigurationError, match=r"no catalog 'prd' but 'prod'"):
        list(connect(catalog_name="prd").references())


def test_an_empty_catalog_has_no_references(lake: Lake, connect: Open) -> None:
    assert [] == list(connect().references())


def test_a_row_without_a_metadata_location_stops_the_run(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    lake.execute("UPDATE iceberg_tables SET metadata_location = NULL")

    with pytest.raises(RepositoryError, match=r"sales\.orders"):
        list(connect().references())


def test_a_catalog_that_does_not_answer_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with connector(type="rest", uri=uri, retries=0) as opened, pytest.raises(ServiceUnavailableError) as error:
            list(opened.references())

    assert "\n" not in str(error.value)


def test_secrets_show_in_no_repr_and_no_message() -> None:
    properties = {"credential": "robot:hunter2", "s3.secret-access-key": "abcdef"}
    options = {"uri": "http://me:pass1word@127.0.0.1:9/x", "type": "rest", "properties": properties, "retries": 0}
    with connector(**options) as opened, pytest.raises(ServiceUnavailableError) as error:
        list(opened.references())

    shown = f"{error.value} {opened.options!r} {opened.identity()}"
    assert [] == [secret for secret in ("hunter2", "abcdef", "pass1word") if secret in shown]


def test_a_refusal_of_a_database_is_a_matter_of_credentials() -> None:
    class OperationalError(Exception):
        pass

    error = translated(
        OperationalError('FATAL:  password authentication failed for user "x" of s3cret'),
        "opening",
        Redactor(["s3cret"]),
    )

    assert isinstance(error, AccessDeniedError)
    assert "s3cret" not in str(error)


def test_identities_tell_catalogs_apart_and_hold_no_credentials(lake: Lake, connect: Open) -> None:
    postgres = "postgresql+psycopg://user:word@db:5432/catalogs?password=word"

    assert (
        "iceberg-catalog:sql:postgresql+psycopg://db:5432/catalogs:prod"
        == connector(uri=postgres, catalog_name="prod").identity()
    )
    assert f"iceberg-catalog:sql:{lake.uri}:prod" == connect().identity()
    assert (
        connector(uri="http://u:p@h:1/x/", warehouse="w").identity()
        == connector(uri="http://h:1/x", warehouse="w", catalog_name="other").identity()
        == "iceberg-catalog:rest:http://h:1/x:w"
    )


def test_closing_twice_does_no_harm_and_using_again_opens_again(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    opened = connect()
    list(opened.references())
    opened.close()
    opened.close()

    assert ["sales.orders"] == [each.name for each in opened.references()]
