"""What the site adds to the pages: tables of contents, the API from docstrings, a first page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from pygments.lexers.shell import BashLexer

from generating import site_api

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+\.(?:md|rst))[^)]*\)")
_FIRST = {"Tutorial": "docs/README.md", "How-to": "docs/README.md", "Explanation": "docs/README.md"}
"""Captions of the site's menu that are sections of an overview page."""
_SECTIONS = {
    "Reference": ("docs/reference/README.md", "docs/api/README.md", "docs/glossary.md"),
    "Plugins": ("plugins/*/README.md", "examples/*/README.md"),
    "Project": ("docs/README.md", "[!R]*.md", "changes/README.md", "tests/README.md", "tests/versus/README.md"),
}
"""Captions of the site's menu that no page has as a section, with patterns of their pages."""
_OVERVIEWS = ("docs/reference/README.md", "docs/api/README.md")
"""Pages whose own links are the entries below them."""


def connect(app: Any) -> None:
    """Connects everything to Sphinx."""
    app.connect("source-read", _add_contents)
    site_api.connect(app)
    app.add_lexer("crontab", BashLexer)
    app.connect("build-finished", _name_the_first_page)


# ---- tables of contents -------------------------------------------------------------------------------
def _add_contents(_app: Any, page: str, source: list[str]) -> None:
    """Appends hidden tables of contents to the pages that have some."""
    if page == "README":
        source[0] += "".join(_toctree(page, caption, entries) for caption, entries in menu())
    elif f"{page}.md" in _OVERVIEWS:
        source[0] += _toctree(page, "", links(f"{page}.md"))
    elif page.startswith("docs/api/"):
        source[0] += site_api.directives(page.rpartition("/")[2])


def menu() -> Iterator[tuple[str, list[str]]]:
    """The captions of the site's menu, and the pages below each, as paths from the root."""
    for caption, overview in _FIRST.items():
        yield caption, links(overview, section=caption)
    for caption, patterns in _SECTIONS.items():
        pages = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        yield caption, [path.relative_to(ROOT).as_posix() for path in pages]


def links(page: str, *, section: str = "") -> list[str]:
    """The pages that a page links to, or one section of it, as paths from the root, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    items = [line for line in text.splitlines() if line.startswith(("- [", "| ["))]
    found = [match[1] for line in items if (match := _LINK.search(line))]
    return [normpath((PurePosixPath(page).parent / target).as_posix()) for target in found]


def _toctree(page: str, caption: str, entries: list[str]) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    names = [f"/{entry.rpartition('.')[0]}" for entry in entries]
    return "\n\n" + "\n".join(["```{toctree}", *options, "", *names, "```"]) + "\n"


# ---- files --------------------------------------------------------------------------------------------
def _name_the_first_page(app: Any, error: Exception | None) -> None:
    """A server shows ``index.html`` for the site itself."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))
