"""How the kit fails, and how it skips."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nessie_gc_core.testing as kit
from nessie_gc_core import connectors
from nessie_gc_core.connectors import FileLister, SupportsStoreClock
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.demands import demands, not_defined, possible, skip_without


class TapeLister(FileLister):
    name = "tape"
    schemes = frozenset({"tape"})

    def list_files(self, location):
        return iter(())


def failure(body) -> str:
    with pytest.raises(AssertionError) as caught:
        demands("S6: nothing is empty. Raise an error.")(body)()
    return str(caught.value)


def test_a_failed_assertion_begins_with_the_demand_and_keeps_what_it_says() -> None:
    def body():
        raise AssertionError("1 is not 2")

    assert "S6: nothing is empty. Raise an error.\n1 is not 2" == failure(body)


def test_an_error_that_does_not_come_begins_with_the_demand() -> None:
    def body():
        with pytest.raises(OSError):  # noqa: PT011 - none is raised
            pass

    assert "S6: nothing is empty. Raise an error.\nDID NOT RAISE OSError" == failure(body)


def test_an_error_of_the_connector_begins_with_the_demand_and_names_its_kind() -> None:
    def body():
        raise OSError("no disk")

    assert "S6: nothing is empty. Raise an error.\nOSError: no disk" == failure(body)


def test_a_failure_points_to_the_line_that_failed() -> None:
    def body():
        raise OSError("no disk")

    with pytest.raises(AssertionError) as caught:
        demands("x")(body)()
    assert "body" == caught.traceback[-1].name


def test_a_skip_is_no_failure() -> None:
    def body():
        pytest.skip("not here")

    with pytest.raises(pytest.skip.Exception, match="not here"):
        demands("x")(body)()


def test_a_situation_that_cannot_be_is_skipped_by_its_name_and_reason() -> None:
    expected = r"TapeLister \('tape'\): put_link is not possible: a tape has no links"
    with pytest.raises(pytest.skip.Exception, match=expected):
        possible(NotPossible("a tape has no links"), "put_link", TapeLister)


def test_a_situation_that_is_given_is_used() -> None:
    assert "given" == possible("given", "put_link", TapeLister.from_options({}))


@pytest.mark.parametrize("reason", ["", " \n"])
def test_a_situation_cannot_be_left_out_without_a_reason(reason: str) -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        NotPossible(reason)


def test_an_ability_that_is_not_there_is_skipped_by_its_name() -> None:
    expected = r"TapeLister \('tape'\) does not have the ability SupportsStoreClock"
    with pytest.raises(pytest.skip.Exception, match=expected):
        skip_without(TapeLister.from_options({}), SupportsStoreClock)


def test_a_fixture_that_is_not_defined_says_what_can_be_done() -> None:
    expected = "the subclass must define the fixture put_link, or let it return NotPossible('why') if the situation"
    assert str(not_defined("put_link", situation=True)).startswith(expected)
    assert "the subclass must define the fixture location" == str(not_defined("location"))


def test_every_ability_has_a_test_that_is_skipped_without_it() -> None:
    abilities = {name for name in connectors.__all__ if name.startswith("Supports")}
    text = "".join(path.read_text(encoding="utf-8") for path in _modules())
    assert abilities == set(re.findall(r"skip_without\(\w+, (\w+)\)", text))


def test_no_test_of_the_kit_ends_early_without_a_word() -> None:
    early = [
        test.name
        for path in _modules()
        for test in _tests(ast.parse(path.read_text(encoding="utf-8")))
        for node in ast.walk(test)
        if isinstance(node, ast.Return) and node.value is None
    ]
    # Where the verb fits the status, doing it is the test.
    assert ["test_a_verb_that_does_not_fit_the_status_raises_and_changes_nothing"] == early


def _modules() -> list[Path]:
    return sorted(Path(inspect.getfile(kit)).parent.glob("*.py"))


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node
