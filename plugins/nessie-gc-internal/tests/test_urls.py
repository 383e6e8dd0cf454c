from __future__ import annotations

from datetime import timedelta

import pytest
from nessie_gc_internal import InternalGc
from nessie_gc_internal.urls import connection_parameters, redacted, shown

from nessie_gc_core.errors import ConfigurationError


def _read(url: str | None, user: str | None = None, password: str | None = None) -> dict[str, str]:
    found = connection_parameters(url, user=user, password=password, properties={})
    defaults = {"connect_timeout": "15", "application_name": "nessie-gc internal-gc", "client_encoding": "utf8"}
    return {name: value for name, value in found.items() if defaults.get(name) != value}


HERE = {"host": "db", "port": "5433", "dbname": "nessie"}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://db:5433/nessie", HERE),
        (" postgresql://db:5433/nessie ", HERE),
        ("postgresql+psycopg://db:5433/nessie", HERE),
        ("postgres://gc:p%40ss@db:5433/nessie", {**HERE, "user": "gc", "password": "p@ss"}),
        ("jdbc:postgresql://db:5433/nessie?user=gc&password=a+b", {**HERE, "user": "gc", "password": "a b"}),
        ("jdbc:postgresql://db:5433/nessie?ssl=true", {**HERE, "sslmode": "verify-full"}),
        ("jdbc:postgresql://db:5433/nessie?ssl=false", {**HERE, "sslmode": "prefer"}),
        ("jdbc:postgresql://db:5433/nessie?currentSchema=n", {**HERE, "options": "-csearch_path=n"}),
        ("jdbc:postgresql://db:5433/nessie?ApplicationName=gc", {**HERE, "application_name": "gc"}),
        ("jdbc:postgresql://db:5433/nessie?reWriteBatchedInserts=true&tcpKeepAlive=true", HERE),
        ("jdbc:postgresql://db:5433/nessie?targetServerType=any", HERE),
        (
            "jdbc:postgresql://db:5433/nessie?targetServerType=primary",
            {**HERE, "target_session_attrs": "primary"},
        ),
        ("jdbc:postgresql://db:5433/nessie?channelBinding=require", {**HERE, "channel_binding": "require"}),
        ("postgresql://db:5433/nessie?client_encoding=latin1", HERE),
        ("jdbc:postgresql:nessie", {"host": "localhost", "dbname": "nessie"}),
    ],
)
def test_urls_of_jdbc_and_of_sqlalchemy_are_read(url: str, expected: dict[str, str]) -> None:
    assert expected == _read(url)


def test_user_and_password_of_their_own_come_before_those_in_the_url() -> None:
    found = _read("postgresql://a:b@db:5433/nessie", user="c", password="d")
    assert {**HERE, "user": "c", "password": "d"} == found


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (None, "`nessie_jdbc_url` is missing"),
        ("  ", "`nessie_jdbc_url` is missing"),
        ("jdbc:mysql://db/nessie", "a database 'mysql' is not supported"),
        ("mongodb://user:secret@db/nessie", "a database 'mongodb' is not supported"),
        ("secret", "that URL is not supported"),
        ("s3cret/word:x", "that URL is not supported"),
        ("postgresql://gc:se@cret/x?a@db/nessie", "the password is ambiguous"),
        ("postgresql://db:secret/nessie", "names no host, port and database"),
        ("jdbc:postgresql://db/nessie;password=secret", "names no host, port and database"),
        ("jdbc:postgresql://db/nessie%3Bpassword%3Dsecret", "names no host, port and database"),
        ("postgresql://db/nessie password=secret", "names no host, port and database"),
        ("postgresql:host=db password=secret", "names no host, port and database"),
        ("postgresql://db/nessie?socketFactory=secret", "has no parameter 'socketFactory'"),
        ("postgresql://db/nessie?nosuch=secret", "has no parameter 'nosuch'"),
    ],
)
def test_s28_any_other_url_is_refused_without_showing_it(url: str | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        _read(url)
    assert "secret" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_a_url_is_shown_without_its_password() -> None:
    assert "postgresql://gc@db:5433/nessie" == shown(_read("postgresql://gc:p%40ss@db:5433/nessie?sslmode=prefer"))


@pytest.mark.parametrize("text", ["failed: p@ss/w", "failed: p%40ss%2Fw", "failed: p%40ss/w"])
def test_s28_a_password_is_taken_out_of_messages_in_every_form(text: str) -> None:
    assert "failed: ***" == redacted(text, {"password": "p@ss/w"})


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ('invalid sslmode value: "secret"', {"sslmode": "secret"}),
        ("bad value for connect_timeout: 'secret'", {"connect_timeout": "secret"}),
        ('cannot set parameter "secret"', {"options": "-c x=1 -csecret=2"}),
        ("no such file: /secret/key", {"sslkey": "/secret/key"}),
        ("cannot use the key: secret1", {"sslpassword": "secret"}),
    ],
)
def test_s28_values_of_parameters_are_taken_out_of_messages(text: str, parameters: dict[str, str]) -> None:
    assert "secret" not in redacted(text, parameters)


def test_a_message_keeps_the_place() -> None:
    message = 'connection to server at "db", port 5433 failed: database "nessie" does not exist'
    assert message == redacted(message, {**HERE, "connect_timeout": "15", "sslmode": "prefer"})


def test_s08_a_grace_period_below_its_floor_needs_a_word() -> None:
    with pytest.raises(ConfigurationError, match="`referenced_grace` is below one hour"):
        InternalGc(nessie_jdbc_url="postgresql://db/nessie", referenced_grace="PT59M")
    gc = InternalGc(nessie_jdbc_url="postgresql://db/nessie", referenced_grace="PT59M", no_age_floor=True)
    assert timedelta(minutes=59) == gc.parameters.referenced_grace


def test_s27_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown option 'referenced_grac'"):
        InternalGc(nessie_jdbc_url="postgresql://db/nessie", referenced_grac="P1D")


def test_s28_secrets_are_not_in_what_is_shown_of_parameters() -> None:
    gc = InternalGc(nessie_jdbc_url="postgresql://gc:secret@db/nessie", nessie_jdbc_password="secret")
    assert "secret" not in repr(gc.parameters)
