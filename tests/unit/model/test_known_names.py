"""Misspelt names are told from those that other code may read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.model.known_names import DoubtfulName, KnownNames, doubtful_names

KNOWN = KnownNames(
    names=frozenset({"s3.endpoint", "s3.access-key-id", "s3.acl", "uri", "file-io"}),
    beginnings=("header.", "adls.sas-token."),
    classes={"file-io": "ours."},
)


def doubts(*names: str, known: KnownNames = KNOWN, file_io: str = "ours.Reader") -> list[DoubtfulName]:
    return list(doubtful_names({**dict.fromkeys(names, "a-secret"), "file-io": file_io}, [known]))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("s3.endpont", "s3.endpoint"),  # left out
        ("s3.endpooint", "s3.endpoint"),  # added
        ("s3.endpaint", "s3.endpoint"),  # replaced
        ("s3.endopint", "s3.endpoint"),  # changed places
        ("s3.endpoin", "s3.endpoint"),
        ("s3.endpoints", "s3.endpoint"),
        ("s.endpoint", "s3.endpoint"),
        ("S3.Endpoint", "s3.endpoint"),
        ("s3_endpoint", "s3.endpoint"),
        ("s3-endpoint", "s3.endpoint"),
        ("s3.access_key.id", "s3.access-key-id"),
        ("s3.endpoint ", "s3.endpoint"),
        ("url", "uri"),
        ("URI", "uri"),
        ("adls.sas-tokn.account", "adls.sas-token.account"),
        ("adls.sas_token.account.dfs.example.com", "adls.sas-token.account.dfs.example.com"),
    ],
)
def test_a_name_that_is_near_a_known_one_is_named_with_it(name: str, near: str) -> None:
    assert [near] == [doubt.near for doubt in doubts(name)]


@pytest.mark.parametrize("name", ["s3.endpont", "S3.Endpoint", "s3_endpoint", "url", "adls.sas-tokn.account"])
def test_under_a_known_prefix_or_none_it_is_an_error(name: str) -> None:
    (doubt,) = doubts(name)
    assert (True, f"unknown property {name!r}; did you mean {doubt.near!r}?") == (doubt.is_error, str(doubt))


def test_under_another_prefix_it_is_a_warning() -> None:
    (doubt,) = doubts("s4.endpoint")
    assert (False, "s3.endpoint") == (doubt.is_error, doubt.near)


@pytest.mark.parametrize("name", ["s3.sse.type", "s3.", "s3.endpoint.two", "adls.account", "header"])
def test_another_name_is_a_warning_under_a_known_prefix_alone(name: str) -> None:
    expected = [] if "." not in name else [False]
    assert expected == [doubt.is_error for doubt in doubts(name)]
    assert all("has no effect unless a class of your own reads it" in str(doubt) for doubt in doubts(name))


@pytest.mark.parametrize("name", ["s3.endpoint", "uri", "header.X-Any", "adls.sas-token.account", "foo.bar", "urn:x"])
def test_known_names_and_other_prefixes_are_silent(name: str) -> None:
    assert [] == doubts(name)


def test_with_a_class_of_the_users_own_nothing_is_an_error() -> None:
    assert [True] == [doubt.is_error for doubt in doubts("s3.endpont", file_io="ours.Reader")]
    assert [False] == [doubt.is_error for doubt in doubts("s3.endpont", file_io="theirs.Reader")]


def test_more_names_are_only_asked_for_where_one_is_not_known() -> None:
    asked = []

    def more() -> Iterator[str]:
        asked.append(1)
        yield "s3.role-arn"

    known = KnownNames(names=frozenset({"s3.endpoint", "file-io"}), more=more)
    assert ([], []) == (doubts("s3.endpoint", known=known), asked)
    assert ([], [1]) == (doubts("s3.role-arn", known=known), asked)
    assert ["s3.role-arn"] == [doubt.near for doubt in doubts("s3.role-arm", known=known)]


def test_nothing_is_doubtful_where_nobody_says_what_is_known() -> None:
    assert [] == list(doubtful_names({"s3.endpont": "x"}, []))


def test_what_several_declare_counts_together() -> None:
    other = KnownNames(names=frozenset({"s3.endpont"}))
    assert [] == list(doubtful_names({"s3.endpont": "x"}, [KNOWN, other]))


@given(st.text(max_size=20), st.sampled_from(sorted(KNOWN.names)), st.integers(0, 30), st.characters())
def test_no_name_fails_and_one_edit_is_always_near(text: str, name: str, at: int, character: str) -> None:
    assert all("a-secret" not in str(doubt) for doubt in doubts(text, f"s3.{text}"))
    edited = name[:at] + name[at + 1 :]
    assert edited in KNOWN.names or [edited] == [doubt.name for doubt in doubts(edited)] or len(edited) < 2
