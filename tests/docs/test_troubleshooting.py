"""The messages that the page about problems quotes, against the code."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.pages import DOCS, ROOT, Block, blocks

from nessie_gc_core.config.flags import with_flags

PAGE = DOCS / "how-to" / "troubleshooting.md"
SOURCES = [*(ROOT / "nessie_gc_core").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
ANYTHING = "\N{HORIZONTAL ELLIPSIS}"
"""Stands for what a message says of the case at hand."""
SECTIONS = re.split(r"(?m)^### (.+)$", PAGE.read_text(encoding="utf-8"))[1:]
ENTRIES = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))
OURS = [block for block in blocks(PAGE) if not block.directive.startswith("said by")]


def messages(path: Path) -> Iterator[str]:
    """The texts in a file of the code, as the command line shows them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else ANYTHING for part in node.values]
            yield with_flags("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield with_flags(node.value)


@functools.cache
def all_messages() -> str:
    return "\n".join(text for path in SOURCES for text in messages(path))


@pytest.mark.parametrize("block", OURS, ids=lambda block: block.text.strip()[:60])
def test_a_quoted_message_is_in_the_code(block: Block) -> None:
    fragments = [part.strip() for part in block.text.strip().split("...")]
    said = ".*".join(re.escape(part) for part in fragments if part)
    assert len("".join(fragments)) >= 12, "too little to tell one message from another"
    assert re.search(said, all_messages()), f"{PAGE.name}, line {block.line}: no message of the code says this"


@pytest.mark.parametrize("symptom", ENTRIES)
def test_every_symptom_has_a_cause_and_a_cure(symptom: str) -> None:
    words = re.findall(r"\*\*(\w+)\.\*\*", ENTRIES[symptom].partition("\n## ")[0])
    assert ["Cause", "Cure"] == words


def test_there_are_many_entries_and_most_quote_a_message() -> None:
    assert len(ENTRIES) >= 40
    assert len(OURS) >= 30


def test_options_that_cures_name_exist() -> None:
    from nessie_gc_core.cli.main import cli

    known = {option for command in cli.commands.values() for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", PAGE.read_text(encoding="utf-8")))
    assert set() == named - known
