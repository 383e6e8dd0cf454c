"""Options of connectors, from text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import secret_mapping


@options
class StoreOptions(ConnectorOptions):
    size: int = option(1, help="a number")
    properties: Mapping[str, str] = secret_mapping(help="pairs")


_words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(st.dictionaries(_words, _words))
def test_pairs_come_back_from_their_text(pairs: dict[str, str]) -> None:
    text = ",".join(f"{key}={value}" for key, value in pairs.items())
    assert pairs == StoreOptions.from_mapping({"properties": text}).properties


def test_a_comma_that_no_key_follows_belongs_to_the_value() -> None:
    found = StoreOptions.from_mapping({"properties": "hosts=a,b,port=1,key=x=y"})
    assert {"hosts": "a,b", "port": "1", "key": "x=y"} == found.properties


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(ConfigurationError, match="option 'size' cannot be 'ten'"):
        StoreOptions.from_mapping({"size": "ten"})


def test_a_wrong_value_of_a_secret_option_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as raised:
        StoreOptions.from_mapping({"properties": "hunter2"})
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_secrets_are_not_in_the_repr() -> None:
    assert "hunter2" not in repr(StoreOptions.from_mapping({"properties": "password=hunter2"}))
