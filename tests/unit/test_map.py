"""``tests/README.md`` says where what is proven, and says it of everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
CORE = ROOT / "nessie_gc_core"
PACKAGES = ("algorithms", "api", "cli", "config", "connectors", "engines", "model", "plugins", "services")
TEXT = (TESTS / "README.md").read_text(encoding="utf-8")


def rows(section: str) -> dict[str, str]:
    """The first cell of each row of a section's table, and the last."""
    text = TEXT.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {row[0].strip("`"): row[-1] for row in cells[2:]}


def files(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def found(name: str) -> Path:
    """A file by its name in the map: from this folder, or from the root."""
    return TESTS / name if (TESTS / name).exists() else ROOT / name


def proofs(rule: str) -> Iterator[str]:
    """Files with a test that begins with the number of a rule."""
    places = ("tests/**/test_*.py", "plugins/*/tests/test_*.py", "nessie_gc_core/testing/*.py")
    for path in (path for place in places for path in ROOT.glob(place)):
        if re.search(rf"def test_{rule.lower().replace('s', 's0*', 1)}_", path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix().removeprefix("tests/")


def test_every_module_has_a_row() -> None:
    modules = [path for package in PACKAGES for path in (CORE / package).rglob("*.py") if path.name != "__init__.py"]
    assert sorted(path.relative_to(CORE).as_posix() for path in modules) == sorted(rows("Modules"))


@pytest.mark.parametrize("section", ["Modules", "Rules"])
def test_every_named_file_exists_and_has_tests(section: str) -> None:
    for name, cell in rows(section).items():
        assert files(cell), name
        for file in files(cell):
            assert re.search("def test_|class Test", found(file).read_text(encoding="utf-8")), f"{name}: {file}"


def test_every_rule_has_a_row_with_all_files_that_prove_it() -> None:
    safety = (ROOT / "docs" / "explanation" / "safety.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (S\d+):", safety, re.MULTILINE) == list(rows("Rules"))
    for rule, cell in rows("Rules").items():
        assert sorted(proofs(rule)) == sorted(files(cell)), rule


def test_every_unit_test_of_a_part_of_the_core_lies_in_a_folder_of_that_part() -> None:
    folders = {path.name for path in (TESTS / "unit").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set() == folders - {path.name for path in CORE.iterdir() if path.is_dir()}


def test_every_folder_and_helper_has_a_row() -> None:
    folders = {f"{path.name}/" for path in TESTS.iterdir() if path.is_dir() and any(path.glob("**/*.py"))}
    assert folders == set(rows("Folders"))
    assert {path.name for path in TESTS.glob("*.py")} == set(rows("Helpers"))


def test_every_marker_has_a_row(pytestconfig: pytest.Config) -> None:
    ours = {line.partition(":")[0] for line in pytestconfig.getini("markers")} & {"server", "spark", "thorough"}
    assert ours == {name.partition("(")[0] for name in re.findall(r"^\| `(\w+)(?:\(\.\.\.\))?` \|", TEXT, re.MULTILINE)}
