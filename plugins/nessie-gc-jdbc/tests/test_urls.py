from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.urls import database_url, shown
from sqlalchemy.engine import URL, make_url

from nessie_gc_core.errors import ConfigurationError


def url_of(text, *, user=None, password=None, **properties):
    return database_url(text, user=user, password=password, properties=properties)


@pytest.mark.parametrize(
    ("given_url", "expected"),
    [
        ("jdbc:postgresql://db:5433/gc?user=me&password=p%20w", "postgresql+psycopg://me:p%20w@db:5433/gc"),
        ("jdbc:postgresql://[::1]/gc", "postgresql+psycopg://[::1]/gc"),
        ("jdbc:postgresql:gc", "postgresql+psycopg://localhost/gc"),
        ("jdbc:postgresql://db/gc?ssl=true", "postgresql+psycopg://db/gc?sslmode=verify-full"),
        ("jdbc:postgresql://db/gc?currentSchema=s", "postgresql+psycopg://db/gc?options=-csearch_path%3Ds"),
        ("jdbc:postgresql://db/gc?loginTimeout=3", "postgresql+psycopg://db/gc?connect_timeout=3"),
        ("postgresql://me:pw@db/gc", "postgresql+psycopg://me:pw@db/gc"),
        ("postgres://db/gc", "postgresql+psycopg://db/gc"),
        ("postgresql+psycopg2://db/gc", "postgresql+psycopg2://db/gc"),
        ("jdbc:mariadb://db:3307/gc", "mariadb+pymysql://db:3307/gc"),
        ("jdbc:mysql://db/gc", "mysql+pymysql://db/gc"),
        ("postgresql://me:p/w@db/gc", "postgresql+psycopg://me:p%2Fw@db/gc"),
        ("jdbc:postgresql://me:p@w:#@db:5433/gc?a=b", "postgresql+psycopg://me:p%40w%3A%23@db:5433/gc?a=b"),
        ("jdbc:postgresql://db:5433/gc?user=me&password=p@/#w", "postgresql+psycopg://me:p%40%2F%23w@db:5433/gc"),
        ("jdbc:sqlite:/data/gc.db", "sqlite:////data/gc.db"),
        ("sqlite:////data/gc.db", "sqlite:////data/gc.db"),
    ],
)
def test_urls_of_jdbc_and_sqlalchemy_are_understood(given_url, expected):
    assert make_url(expected) == url_of(given_url)


def test_the_path_of_an_sqlite_file_is_decoded():
    assert URL.create("sqlite", database="/data/a b .db") == url_of("jdbc:sqlite:file:/data/a b%20.db?cache=shared")


def test_a_relative_file_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path / "gc.db") == url_of("jdbc:sqlite:gc.db").database
    assert str(Path("~/gc.db").expanduser()) == url_of("sqlite:///~/gc.db").database


def test_user_password_and_properties_come_before_the_url():
    url = url_of("jdbc:postgresql://db/gc?user=a&password=b", user="me", password="pw", connectTimeout="3")
    assert ("me", "pw", {"connect_timeout": "3"}) == (url.username, url.password, dict(url.query))
    by_properties = database_url(
        "jdbc:postgresql://db/gc", user=None, password=None, properties={"user": "me", "password": "pw"}
    )
    assert ("me", "pw") == (by_properties.username, by_properties.password)


@given(password=st.text(min_size=1), user=st.text(min_size=1))
def test_no_password_is_ever_shown(password, user):
    url = url_of("jdbc:postgresql://db/gc?sslpassword=hidden", user=user, password="#!" + password)
    assert "#!" + password == url.password
    assert "hidden" not in shown(url)
    assert shown(url) == shown(url.set(password="another"))


@pytest.mark.parametrize(
    ("given_url", "message"),
    [
        ("", "is missing"),
        ("jdbc:h2:mem:x", "H2 is a Java database"),
        ("jdbc:oracle:thin:@x", "the database 'oracle'"),
        ("oracle://db/gc", "the database 'oracle'"),
        ("live-sets.db", "is not a database URL"),
        ("nonsense", "is not a database URL"),
        ("jdbc:postgresql://db:port/gc", "no host and port"),
        ("jdbc:sqlite::memory:", "keeps nothing"),
        ("sqlite://", "keeps nothing"),
        ("jdbc:", "the database in that URL"),
        ("postgresql://secret:secret@db:x/gc", "is not a database URL"),
        ("postgresql://me:secret", "is not a database URL"),
        ("postgresql://me:12/secret@db/gc", "options user and password"),
        ("jdbc:postgresql://me:12/secret@db/gc", "options user and password"),
        ("jdbc:postgresql:me:secret@db", "names no database"),
    ],
)
def test_what_is_no_url_is_refused_in_one_line(given_url, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        url_of(given_url)
    assert 1 == len(str(caught.value).splitlines())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("database", ["mysql", "mariadb", "postgresql"])
@pytest.mark.parametrize(
    "place",
    [
        "//address=(host=h)(user=u)(password=s3cret)/db",
        "//address=(host=h)(port=1)(user=u)(password=s3@cret)/db",
        "//address=(host=h)(user=u)(password=s3cret@h",
        "//(host=h,port=1,user=u,password=s3cret)/db",
        "//(host=h,port=1,user=u,password=s3/cret)/db",
        "//(host=h,port=1,user=u,password=s3:cret)/db",
        "//[(host=h,user=u,password=s3cret)]/db",
        "//h,(host=i,password=s3cret)/db",
        "//u:s3cret@(host=h)/db",
        "//h=i/db",
        "replication://(host=h,password=s3cret),(host=i)/db",
        "loadbalance://u:s3cret@h/db",
        "loadbalance://address=(host=h)(password=s3cret)/db",
    ],
)
@pytest.mark.parametrize("jdbc", ["jdbc:", ""])
def test_s28_hosts_that_are_described_by_keys_and_values_are_refused_and_not_shown(jdbc, database, place):
    with pytest.raises(ConfigurationError) as caught:
        url_of(f"{jdbc}{database}:{place}")
    assert 1 == len(str(caught.value).splitlines())
    assert [] == [part for part in ("s3", "cret", "host=", "address") if part in str(caught.value)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": "SOMETIMES"}, "unknown schema strategy 'SOMETIMES'"),
        ({"pool_max_size": 0}, "'pool_max_size' must be at least 1"),
        ({"fetch_size": "0"}, "'fetch_size' must be at least 1"),
        ({"url": "jdbc:postgresql://db/gc?prepareThreshold=5"}, "prepareThreshold"),
    ],
)
def test_wrong_options_are_said_at_once(options, message):
    with pytest.raises(ConfigurationError, match=message):
        JdbcLiveSetStore.from_options({"url": "jdbc:sqlite:x.db", **options})


def test_making_a_store_opens_nothing(tmp_path):
    JdbcLiveSetStore.from_options({"url": f"jdbc:sqlite:{tmp_path}/folder/x.db"}).close()
    JdbcLiveSetStore.from_options({"url": "jdbc:postgresql://nowhere.invalid/gc", "password": "hidden"}).close()
    assert [] == list(tmp_path.iterdir())


def test_options_show_no_secret():
    store = JdbcLiveSetStore.from_options(
        {"url": "jdbc:postgresql://db/gc", "password": "hidden", "properties": {"sslpassword": "hidden"}}
    )
    assert "hidden" not in repr(store.options)
