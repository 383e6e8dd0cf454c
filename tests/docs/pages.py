"""The documentation's pages and their code blocks.

A comment directly above a block says how it is treated:

``<!-- not run: REASON -->``
    It is not run. Commands of ``nessie-gc`` in it are still parsed, so that no option in it is made up.
``<!-- file: PATH -->``
    It is a part of a file of this repository (which is tested itself).
``<!-- exit N -->``
    The last command ends with this exit code.

``<!-- with a lake -->`` anywhere on a page: its commands run beside a Nessie server with a small lake;
``<!-- with Nessie's database -->``: beside the database of a Nessie server with a deleted branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"^(?P<indent> *)(?:<!-- (?P<directive>[^\n]+?) -->\n+(?P=indent))?"
    r"```(?P<language>[\w-]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
NO_CODE = {"text", "mermaid"}
"""Languages of blocks that show something and are no code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    text: str
    directive: str = ""

    @property
    def is_run(self) -> bool:
        return not self.directive.startswith(("not run", "file:")) and self.language not in NO_CODE

    @property
    def exit_code(self) -> int:
        return int(self.directive.removeprefix("exit ")) if self.directive.startswith("exit ") else 0

    @property
    def file(self) -> Path | None:
        return ROOT / self.directive.removeprefix("file: ") if self.directive.startswith("file: ") else None

    def commands(self) -> Iterator[tuple[str, str]]:
        """Each command of a console block, with what it is to print (``...`` for anything)."""
        command, output = "", ""
        for line in self.text.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, output
                command, output = line[2:], ""
            elif command.endswith("\\") and not output:
                command += "\n" + line.removeprefix("> ")
            else:
                output += line + "\n"
        if command:
            yield command, output


def python_path(*folders: Path) -> str:
    """Some folders, and those that this Python has been given."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def pages() -> list[Path]:
    """All pages that have to keep what they say."""
    own = [*ROOT.glob("*.md"), *ROOT.glob("changes/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted([*own, *DOCS.rglob("*.md")])


def name_of(page: Path) -> str:
    """A page as tests name it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, match.start("indent")) + 1,
            language=match["language"],
            text=re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE),
            directive=match["directive"] or "",
        )
        for match in _FENCE.finditer(text)
    ]


def wants_lake(page: Path) -> bool:
    """Whether the page's commands need a server with a lake."""
    return "<!-- with a lake -->" in page.read_text(encoding="utf-8")


def wants_database(page: Path) -> bool:
    """Whether the page's commands need a database that a Nessie has filled."""
    return "<!-- with Nessie's database -->" in page.read_text(encoding="utf-8")


def is_run(page: Path) -> bool:
    """Whether anything on the page is run."""
    return any(block.is_run for block in blocks(page))
