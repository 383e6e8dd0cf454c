from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorSpec, secret_mapping


@options
class Sample(ConnectorOptions):
    name: str = option("", help="a text")
    size: int = option(3, help="a number")
    rate: float = option(0.5, help="a number")
    fast: bool = option(False, help="a switch")
    wait: timedelta = option(timedelta(seconds=5), help="a time")
    path: str | None = option(None, help="a text or nothing")
    password: str | None = secret(help="a secret")
    properties: Mapping[str, str] = secret_mapping(help="many secrets")


def test_defaults_need_no_values() -> None:
    assert (3, False, None) == (Sample().size, Sample().fast, Sample.from_mapping({}).path)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "12", 12),
        ("rate", "1e-3", 0.001),
        ("fast", "TRUE", True),
        ("fast", "no", False),
        ("wait", "1.5", timedelta(seconds=1.5)),
        ("path", "x", "x"),
        ("path", None, None),
        ("size", 7, 7),
    ],
)
def test_texts_become_typed_values(name: str, text: str | int | None, value: object) -> None:
    assert value == getattr(Sample.from_mapping({name: text}), name)


@pytest.mark.parametrize(("name", "text"), [("size", "many"), ("fast", "perhaps"), ("rate", "x"), ("wait", "soon")])
def test_a_value_that_does_not_fit_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{name}' cannot be '{text}'"):
        Sample.from_mapping({name: text})


def test_an_unknown_option_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(ConfigurationError, match="unknown option 'siz'; known options are: fast, name"):
        Sample.from_mapping({"siz": 1})  # codespell:ignore siz


def test_secrets_are_in_no_repr() -> None:
    made = Sample.from_mapping({"password": "hunter2", "properties": {"s3.secret": "hunter3"}})
    spec = ConnectorSpec(kind="file-lister", name="x", options={"password": "hunter4"})
    assert not any(word in repr(made) + repr(spec) for word in ("hunter2", "hunter3", "hunter4"))
    assert frozenset({"password", "properties"}) == Sample.secret_names()
