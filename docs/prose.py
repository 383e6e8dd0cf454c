"""``python docs/prose.py`` reports wording that docs/prose.toml rejects, in documentation and code."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).with_suffix(".toml")
TEXTS = (
    "*.md",
    "docs/*.md",
    "docs/api/*.md",
    "docs/explanation/*.md",
    "docs/how-to/*.md",
    "docs/tutorial/*.md",
    "docs/generate.py",
    "docs/generating/*.py",
    "changes/*.md",
    "examples/**/*.md",
    "examples/**/*.py",
    "examples/*.ipynb",
    "plugins/*/README.md",
    "tests/**/README.md",
    "nessie_gc_core/**/*.py",
    "plugins/*/src/**/*.py",
)
"""Hand-written documentation and the code, from which the reference is generated."""
_MASK = "·"
"""Stands for a character of code; no pattern matches it."""
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_IN_LINE = re.compile(r"``[^`\n]+``|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Wording to avoid."""

    find: re.Pattern[str]
    better: str
    example: str
    """A text in which it is found."""
    blocks: bool = False
    """Whether it also holds for code blocks, which quote what the program prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A piece of a file, with its code masked."""

    line: int
    """The number of its first line."""
    prose: str
    whole: str
    """The same with its code blocks."""


def patterns() -> list[Pattern]:
    """All patterns of the data file."""
    entries = tomllib.loads(DATA.read_text(encoding="utf-8"))["pattern"]
    return [Pattern(**{**entry, "find": _compiled(entry["find"])}) for entry in entries]


def _compiled(find: str) -> re.Pattern[str]:
    return re.compile(find.replace(" ", r"\s+"), re.IGNORECASE)


def findings(path: Path, patterns: Iterable[Pattern]) -> Iterator[tuple[int, str, str]]:
    """Line, found text and better wording for each place in a file."""
    texts = list(_strings(path) if path.suffix == ".py" else _markdown(path))
    for pattern in patterns:
        for text in texts:
            searched = text.whole if pattern.blocks else text.prose
            for match in pattern.find.finditer(searched):
                line = text.line + searched.count("\n", 0, match.start())
                yield line, " ".join(match[0].split()), pattern.better


def _markdown(path: Path) -> Iterator[Text]:
    text = path.read_text(encoding="utf-8")
    yield Text(line=1, prose=_IN_LINE.sub(_masked, _FENCE.sub(_masked, text)), whole=text)


def _strings(path: Path) -> Iterator[Text]:
    """Docstrings and other strings of a module."""
    for node, value in _values(ast.parse(path.read_text(encoding="utf-8"))):
        yield Text(line=node.lineno, prose=_IN_LINE.sub(_masked, _FENCE.sub(_masked, value)), whole=value)


def _values(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.JoinedStr):
        yield node, "".join(str(part.value) if isinstance(part, ast.Constant) else _MASK for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _values(child)


def _masked(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", _MASK, match[0])


def files(globs: Iterable[str]) -> list[Path]:
    """The files of some globs, below the root of the repository."""
    return sorted({path for glob in globs for path in ROOT.glob(glob)})


def main() -> int:
    """Prints every finding; 1 if there is one."""
    known, count = patterns(), 0
    for path in files(TEXTS):
        for line, found, better in sorted(findings(path, known)):
            sys.stdout.write(f"{path.relative_to(ROOT)}:{line}: {found} → {better}\n")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
