"""What is nested too deeply is refused in one place, and nothing that comes from outside is parsed in another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nessie_gc_core
from nessie_gc_core.model.parsing import MOST_LEVELS, TooDeepError, parsed_json, parsed_toml

ROOT = Path(nessie_gc_core.__file__).parents[1]
PARSES = re.compile(r"\bjson\.loads?\(|\btomllib\.load|\.json\(\)[\[.]|model_validate_json\(")
OURS = {
    "model/parsing.py",
    "algorithms/history.py",  # the other way round of a text that the same run made
    "algorithms/lost.py",
    "connectors/repository.py",  # an example in a docstring
    "engines/local/processes.py",  # what one process of a run tells another
    "engines/spark/workers.py",
    "nessie_gc_airflow/child.py",  # it may import what is public, and no more
    "nessie_gc_airflow/in_process.py",
    "versions/v6.py",  # a migration stays as it was released
}
"""Where a text is parsed that a run wrote for itself."""


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_what_a_table_may_have_is_parsed() -> None:
    assert len(nested(MOST_LEVELS)) == len(str(parsed_json(nested(MOST_LEVELS))))
    assert {"a": {"b": [1]}} == parsed_toml("a.b = [1]")


@pytest.mark.parametrize(
    "text",
    [nested(MOST_LEVELS + 1), nested(100_000), "[" * 100_000, '{"a":' * 100_000, '{"a":' * 300 + "1" + "}" * 300],
    ids=len,
)
def test_json_that_is_nested_too_deeply_is_refused_as_text_and_as_bytes(text: str) -> None:
    for each in (text, text.encode()):
        with pytest.raises(TooDeepError, match="its values are nested too deeply"):
            parsed_json(each)


@pytest.mark.parametrize(
    "text", ["x = " + nested(5_000), "x" + ".x" * 5_000 + " = 1", "[x" + ".x" * 300 + "]"], ids=len
)
def test_toml_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(TooDeepError, match="its values are nested too deeply"):
        parsed_toml(text)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[1,]", b"1" * 10_000])
def test_what_is_no_json_is_a_value_error_and_nothing_else(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parsed_json(text)
    assert not isinstance(caught.value, TooDeepError)


def test_nothing_else_parses_what_comes_from_outside() -> None:
    sources = [*ROOT.glob("nessie_gc_core/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    parsing = {
        path.as_posix()
        for path in sources
        if not {"testing", "demo", "templates"} & set(path.parts) and PARSES.search(path.read_text(encoding="utf-8"))
    }
    assert {path for path in parsing if not path.endswith(tuple(OURS))} == set()
