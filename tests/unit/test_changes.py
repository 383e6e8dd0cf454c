"""The notes of ``changes/``, which a release gathers into the changelog."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "changes" / "README.md").read_text()
KINDS = [
    kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
]
NOTES = sorted(path for path in (ROOT / "changes").glob("*.md") if path.name != "README.md")


def test_the_kinds_are_those_that_the_page_about_notes_explains() -> None:
    assert sorted(KINDS) == re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)


@pytest.mark.parametrize("note", NOTES, ids=lambda path: path.name)
def test_a_note_has_a_subject_a_kind_and_a_text(note: Path) -> None:
    assert re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md", note.name)
    assert note.read_text().strip() != ""


def test_the_changelog_has_the_place_where_releases_begin() -> None:
    start = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["start_string"]
    assert 1 == (ROOT / "CHANGELOG.md").read_text().count(start)
