"""Wording that the project's texts avoid."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from docs.pages import DOCS

sys.path.insert(0, str(DOCS))
import prose

sys.path.remove(str(DOCS))

PATTERNS = prose.patterns()
CODE = "```"


def found(path: Path, text: str) -> list[tuple[int, str]]:
    path.write_text(text, encoding="utf-8")
    return [(line, words) for line, words, _ in prose.findings(path, PATTERNS)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.example)
def test_a_pattern_finds_its_example_and_not_what_replaces_it(pattern: prose.Pattern) -> None:
    assert pattern.find.search(pattern.example)
    assert not pattern.find.search(pattern.better)


def test_a_finding_names_its_line_even_if_it_spans_two(tmp_path: Path) -> None:
    assert [(2, "for ever")] == found(tmp_path / "page.md", "# Title\nIt stays for\never.\n")


@pytest.mark.parametrize("text", ["`for ever`", "``for ever``", f"{CODE}text\nfor ever\n{CODE}", "[a](for ever)"])
def test_code_and_targets_of_links_are_not_searched(text: str, tmp_path: Path) -> None:
    assert [] == found(tmp_path / "page.md", text)


def test_text_between_two_pieces_of_code_is_searched(tmp_path: Path) -> None:
    assert [(1, "for ever")] == found(tmp_path / "page.md", "``a`` stays for ever in ``b``.")


def test_docstrings_and_messages_of_a_module_are_searched(tmp_path: Path) -> None:
    lines = ('"""One line."""', "for a in ():", '    """It stays for', '    ever."""', '    print(f"{a} is no number")')
    assert [(3, "for ever"), (5, "is no number")] == sorted(found(tmp_path / "module.py", "\n".join(lines)))


def test_one_thing_has_no_plural(tmp_path: Path) -> None:
    assert [(1, "1 references")] == found(tmp_path / "page.md", "It has 1 references, 11 files and 2.1 tables.")


def test_the_documentation_and_the_code_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == prose.main(), capsys.readouterr().out
