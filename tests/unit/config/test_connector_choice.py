from __future__ import annotations

import pytest

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError


@pytest.mark.parametrize("alias", ["minio", "MINIO"])
@pytest.mark.parametrize("target", ["s3", "s3a", "S3N"])
def test_s03_an_alias_of_an_alias_is_the_same_place(alias: str, target: str) -> None:
    rules = ConnectorChoice(scheme_aliases={alias: target}).rules()
    assert rules.canonical("s3a://b/k") == rules.canonical("minio://b/k") == "s3://b/k"


def test_s03_chains_of_aliases_end_at_one_place() -> None:
    rules = ConnectorChoice(
        scheme_aliases={"a": "b", "b": "s3n"}, authority_aliases={"point": "alias", "alias": "bucket"}
    ).rules()
    assert {"s3://bucket/k"} == {rules.canonical(f"{s}://{a}/k") for s in "ab" for a in ("point", "alias", "bucket")}


@pytest.mark.parametrize(
    "choice", [{"scheme_aliases": {"a": "b", "b": "a"}}, {"authority_aliases": {"a": "b", "b": "a"}}]
)
def test_aliases_in_a_circle_are_refused(choice: dict[str, dict[str, str]]) -> None:
    with pytest.raises(ConfigurationError, match="form a cycle"):
        ConnectorChoice(**choice).rules()  # type: ignore[arg-type]  # one of two fields


def test_a_known_scheme_stays_what_it_is() -> None:
    assert "s3://b/k" == ConnectorChoice(scheme_aliases={"s3a": "gs"}).rules().canonical("s3a://b/k")
