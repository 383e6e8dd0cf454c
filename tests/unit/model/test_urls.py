from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nessie_gc_core.model.urls import comparable, split_credentials, without_secrets


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db/gc", ("postgresql://", None, "db/gc")),
        ("postgresql://me@db/gc", ("postgresql://", "me", "db/gc")),
        ("postgresql://me:p/w@db/gc", ("postgresql://", "me:p/w", "db/gc")),
        ("postgresql://me:p@w@db:1/gc", ("postgresql://", "me:p@w", "db:1/gc")),
        ("postgresql://me:p?w@db/gc", ("postgresql://", "me:p?w", "db/gc")),
        ("postgresql://me:p#:w@db/gc?a=b", ("postgresql://", "me:p#:w", "db/gc?a=b")),
        ("postgresql://db/gc?user=me@realm", ("postgresql://", None, "db/gc?user=me@realm")),
        ("postgresql://me@db/gc?user=me@realm", ("postgresql://", "me", "db/gc?user=me@realm")),
        ("postgresql://[::1]:5/gc?user=me@realm", ("postgresql://", None, "[::1]:5/gc?user=me@realm")),
        ("https://h/a@b/c", ("https://", None, "h/a@b/c")),
        ("sqlite:////data/a@b:c.db", ("sqlite://", None, "//data/a@b:c.db")),
        ("no url", ("", None, "no url")),
    ],
)
def test_credentials_are_told_apart_from_the_rest(url: str, expected: tuple[str, str | None, str]) -> None:
    assert expected == split_credentials(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:12/ab@host/gc",
        "postgresql://me:p@w?ord@host/gc",
        "postgresql://db:5432/gc?password=a@b",
        "postgresql://me:/x@host/gc",
        "https://me:8181?x@host",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match="%40") as caught:
        split_credentials(url)
    assert "host" not in str(caught.value)


@given(password=st.text(st.sampled_from("/@:#?%!a1&= "), max_size=8), path=st.sampled_from(["", "/", "/x", "/x?y=z"]))
@example(password="1/2", path="/x")
@example(password="a@b/c", path="/x?y=z")
def test_s28_no_part_of_a_password_is_left_in_the_rest(password: str, path: str) -> None:
    try:
        prefix, user_info, rest = split_credentials(f"x://me:{password}@host{path}")
    except ValueError:
        return
    assert ("x://", f"me:{password}", f"host{path}") == (prefix, user_info, rest)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://LocalHost:19120/api/v2/", "http://127.0.0.1:19120/api/v2"),
        ("http://[::1]:80/x", "http://localhost/x//"),
        ("https://u:p@Host:443/a//b?c=d#e", "https://host/a/b"),
        ("HTTPS://host/%7Eme", "https://host/~me"),
        ("postgresql://127.0.0.1:5432/gc", "postgresql://localhost/gc"),
    ],
)
def test_spellings_of_one_server_are_one(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


def test_different_servers_stay_different() -> None:
    urls = [
        "http://h/a",
        "http://h/A",
        "http://h:1/a",
        "https://h/a",
        "http://h2/a",
        "http://h/a/b",
        "http://128.0.0.1",
    ]
    assert len(urls) == len({comparable(url) for url in urls})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:////var/lib/gc.db", "sqlite:////var/lib/gc.db"),
        ("jdbc:sqlite:gc.db", "jdbc:sqlite:gc.db"),
        ("jdbc:postgresql://me:secret@db:5432/gc?password=secret", "jdbc:postgresql://db:5432/gc"),
        ("jdbc:mariadb://db/gc;password=secret", "jdbc:mariadb://db/gc"),
    ],
)
def test_s28_a_url_is_shown_without_credentials_and_parameters(url: str, expected: str) -> None:
    assert expected == without_secrets(url)


@pytest.mark.parametrize("url", ["jdbc:postgresql:me:secret@db", "postgresql://me:12/ab@secret/gc"])
def test_s28_a_url_in_which_it_is_unclear_what_is_secret_is_not_shown(url: str) -> None:
    with pytest.raises(ValueError, match="ambiguous") as caught:
        without_secrets(url)
    assert "secret" not in str(caught.value)
