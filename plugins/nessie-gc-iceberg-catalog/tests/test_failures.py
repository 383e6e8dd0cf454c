from __future__ import annotations

import socket
from pathlib import Path

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.errors import Redactor, translated

from nessie_gc_core.errors import AccessDeniedError, ConfigurationError, ServiceUnavailableError


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
    with pytest.raises(ConfigurationError, match=r"gone\.db does not exist; correct the uri of the SQLite catalog"):
        connector(uri=f"sqlite:///{tmp_path}/gone.db")

    assert [] == list(tmp_path.iterdir())


def test_a_database_without_a_catalog_is_an_error_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    with connector(uri=f"sqlite:///{tmp_path}/empty.db") as opened, pytest.raises(ConfigurationError, match="iceberg"):
        list(opened.references())

    assert 0 == (tmp_path / "empty.db").stat().st_size


def test_a_catalog_name_that_the_database_does_not_have_is_an_error(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")

    with pytest.raises(ConfigurationError, match=r"no catalog 'prd', only 'prod'"):
        list(connect(catalog_name="prd").references())


def test_an_empty_catalog_has_no_references(lake: Lake, connect: Open) -> None:
    assert [] == list(connect().references())


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
    postgres = "postgresql+psycopg://user:word@db:5433/catalogs?password=word"

    assert (
        "iceberg-catalog:sql:postgresql://db:5433/catalogs:prod"
        == connector(uri=postgres, catalog_name="prod").identity()
    )
    assert f"iceberg-catalog:sql:{lake.uri}:prod" == connect().identity()
    assert (
        connector(uri="http://u:p@h:1/x/", warehouse="w").identity()
        == connector(uri="http://h:1/x", warehouse="w", catalog_name="other").identity()
        == "iceberg-catalog:rest:http://h:1/x:w"
    )


@pytest.mark.parametrize(
    "spellings",
    [
        ("http://localhost:80/x", "http://127.0.0.1/x/", "http://LOCALHOST/x", "http://[::1]/x"),
        ("postgresql://me:a@DB/c", "postgresql+psycopg2://you:b@db:5432/c?sslmode=require", "postgres://db/c"),
        ("thrift://b:9083,thrift://a:9083", "thrift://A:9083, thrift://B:9083"),
    ],
)
def test_s15_spellings_of_one_address_are_one_catalog(spellings: tuple[str, ...]) -> None:
    types = {"postgres": "sql", "postgresql": "sql"}
    found = {connector(uri=uri, type=types.get(uri.partition(":")[0])).identity() for uri in spellings}

    assert 1 == len(found)


def test_s15_a_database_file_is_one_catalog_by_every_path(lake: Lake, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(Path(lake.uri.removeprefix("sqlite:///")).parent)
    spelled = f"sqlite:///{link}/./{lake.uri.rpartition('/')[2]}"

    assert connector(uri=lake.uri).identity() == connector(uri=spelled).identity()


def test_databases_that_their_parameters_choose_stay_apart() -> None:
    uris = ("postgresql:///c?host=/run/a", "postgresql:///c?host=/run/b", "postgresql:///c?host=/run/b&port=1")

    assert 3 == len({connector(uri=uri).identity() for uri in uris})


def test_s15_a_configured_name_is_the_identity_and_the_others_are_known() -> None:
    named = connector(uri="http://localhost:80/x/", type="rest", identity="lake-1")

    assert "lake-1" == named.identity()
    assert ["iceberg-catalog:rest:http://localhost/x", "iceberg-catalog:rest:http://localhost:80/x"] == (
        named.former_identities()
    )
    assert [] == connector(uri="http://h/x", type="rest").former_identities()


@pytest.mark.parametrize("name", ["", " lake", "lake\n", "la\x1bke"])
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="identity"):
        connector(uri="http://h/x", identity=name)


def test_closing_twice_does_no_harm_and_using_again_opens_again(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    opened = connect()
    list(opened.references())
    opened.close()
    opened.close()

    assert ["sales.orders"] == [each.name for each in opened.references()]
