from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from enum import Enum

import pytest
from docs.pages import DOCS

from nessie_gc_core import api, model
from nessie_gc_core.config.settings import SETTINGS
from nessie_gc_core.plugins import installed

sys.path.insert(0, str(DOCS))
from generating import models, python, services
from generating.text import members

sys.path.remove(str(DOCS))

CLASSES = [value for name in model.__all__ if isinstance(value := getattr(model, name), type)]


def _rows(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the tables below a heading, by their first cell."""
    text = (DOCS / "reference" / page).read_text(encoding="utf-8")
    level = heading.split(" ", maxsplit=1)[0]
    assert f"\n{heading}\n" in text, f"no heading {heading!r}"
    below = re.split(rf"(?m)^#{{1,{len(level)}}} ", text.partition(f"\n{heading}\n")[2])[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in below.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row for row in cells}


def _headings(page: str) -> list[str]:
    return (DOCS / "reference" / page).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("class_", CLASSES, ids=lambda class_: class_.__name__)
def test_every_public_field_of_the_model_has_a_text(class_: type) -> None:
    rows = _rows("models.md", f"### {class_.__name__}")
    if issubclass(class_, Enum):
        own = [member.name for member in class_]
    else:
        assert dataclasses.is_dataclass(class_)
        own = [field.name for field in dataclasses.fields(class_)]
    assert own == list(rows)
    assert [] == [name for name, _, _, text in models.rows_of(class_) if not text], "add a text below the field"


@pytest.mark.parametrize("class_", CLASSES, ids=lambda class_: class_.__name__)
def test_every_public_field_of_the_model_has_a_unit(class_: type) -> None:
    units = {r"\bdatetime\b": r"UTC", r"\btimedelta\b": r"duration|younger|older|age"}
    sizes = re.compile(r"(size|length|bytes)$")
    assert inspect.getdoc(class_)
    for name, type_, _, text in models.rows_of(class_):
        for wanted, unit in units.items():
            assert not re.search(wanted, type_) or re.search(unit, text), f"{class_.__name__}.{name}: which unit?"
        assert not sizes.search(name) or "bytes" in text, f"{class_.__name__}.{name}: which unit?"


def test_all_that_the_model_exports_is_on_its_page() -> None:
    headings = _headings("models.md")
    assert [] == [name for name in model.__all__ if f"### {name}" not in headings]


@pytest.mark.parametrize("class_", python.CLASSES, ids=lambda class_: class_.__name__)
def test_every_public_member_of_the_python_api_has_a_heading_and_a_text(class_: type) -> None:
    headings = _headings("python.md")
    assert f"## {class_.__name__}" in headings
    for name, member in members(class_):
        assert f"#### {class_.__name__}.{name}" in headings
        assert inspect.getdoc(member), f"{class_.__name__}.{name} has no docstring"
    assert [] == [name for name, _, text in python.fields_of(class_) if not text]


def test_all_that_the_api_exports_is_on_its_page() -> None:
    headings = _headings("python.md")
    assert [] == [name for name in api.__all__ if f"## {name}" not in headings]


def test_every_setting_of_the_collector_is_on_its_page() -> None:
    text = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    settings = [field.name for group in SETTINGS for field in dataclasses.fields(group)]
    assert [] == [name for name in settings if f"`{name}`" not in text]


@pytest.mark.parametrize("name", sorted(services.own_services()))
def test_every_service_has_a_heading_and_each_of_its_parameters_an_entry(name: str) -> None:
    service = installed().services.named(name)
    rows = _rows("services.md", f"## {name}")
    assert {field.name for field in dataclasses.fields(service.Parameters)} == set(rows)
    assert [] == [parameter for parameter, row in rows.items() if len(row) != 5 or not row[-1]]


@pytest.mark.parametrize("name", sorted(services.own_services()))
def test_every_parameter_that_is_a_number_has_a_unit(name: str) -> None:
    service = installed().services.named(name)
    numbers = [f for f in dataclasses.fields(service.Parameters) if str(f.type).split(" ")[0] in ("int", "float")]
    lacking = [field.name for field in numbers if not services.unit_of(field.name, str(field.type))]
    assert [] == lacking, "add it to UNITS in docs/generating/services.py"
