"""The page on one broken table has the rows that are tested, and explains each of their words."""

from __future__ import annotations

from collections.abc import Sequence

from docs.pages import DOCS
from ways_to_break import Effect, rows

PAGE = DOCS / "explanation" / "one-broken-table.md"


def cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def table_below(heading: str) -> Sequence[tuple[str, ...]]:
    """The rows of the first table below a heading, with its head."""
    lines = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()
    return [cells(line) for line in lines if line.startswith("|") and not line.startswith("|---")]


def test_the_page_has_exactly_the_ways_that_are_tested_with_what_happens() -> None:
    assert rows() == table_below("What happens")


def test_the_page_explains_each_word_that_it_uses() -> None:
    assert sorted(each.value for each in Effect) == sorted(row[0] for row in table_below("What the words mean")[1:])
