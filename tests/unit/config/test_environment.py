from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.config.environment import connector_options, variable_of
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.key_values import merge, parse_key_values

keys = st.from_regex(r"[A-Za-z][A-Za-z0-9_.\-]{0,10}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs", "Z", "C"], exclude_characters=","), max_size=10)


@given(st.dictionaries(keys, values, min_size=1))
def test_pairs_with_commas_between_are_read_back(pairs: dict[str, str]) -> None:
    assert pairs == parse_key_values(",".join(f"{key}={value}" for key, value in pairs.items()))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1,2,3", {"a": "1,2,3"}),
        ("a=x=y==", {"a": "x=y=="}),
        ("a=1, b=2", {"a": "1", "b": "2"}),
        ("a=-Dx=1,-Dy=2", {"a": "-Dx=1,-Dy=2"}),
        ("a=", {"a": ""}),
        ("s3.endpoint=http://x:1/?a&b", {"s3.endpoint": "http://x:1/?a&b"}),
    ],
)
def test_a_comma_parts_only_where_another_key_follows(text: str, pairs: dict[str, str]) -> None:
    assert pairs == parse_key_values(text)


@pytest.mark.parametrize("text", ["", "hunter2", "=hunter2", "a"])
def test_text_without_a_pair_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not of the form KEY=VALUE") as caught:
        parse_key_values(text)
    assert "hunter2" not in str(caught.value)


def test_the_later_of_two_equal_keys_wins() -> None:
    assert {"a": "2", "b": "1"} == merge([{"a": "1", "b": "1"}, {"a": "2"}])


def test_variables_are_the_long_names_in_capitals() -> None:
    assert "NESSIE_GC_DEFAULT_CUTOFF" == variable_of("--default-cutoff")


def test_a_connectors_options_have_variables_of_their_own() -> None:
    environment = {"NESSIE_GC_STORE_URL": "x", "NESSIE_GC_STORE_NOT_ONE": "y", "URL": "z"}
    assert {"url": "x"} == connector_options("store", {"url": None, "user": None}, environment)
