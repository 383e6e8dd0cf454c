"""From docstrings and values to Markdown."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Sequence
from types import ModuleType


def markdown(docstring: str | None) -> str:
    """A docstring as Markdown: roles and doubled backticks become code, notes for developers go."""
    text = inspect.cleandoc(docstring or "")
    text = re.sub(r":\w+:`~?\.?([^`]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    text = text.replace("``", "`")
    text = re.sub(r",? ?\((?:decisions?|design) [\d, ]+\)|, (?:decision|design) \d+(?=\))", "", text)
    text = re.sub(r"(?m)^(Args|Raises|Returns):\n", lambda match: f"**{match[1]}**\n\n", text)
    text = re.sub(r"(?m)^ {4}(\S[^:\n]*): ", r"- `\1`: ", text)
    return _examples(text)


def _examples(text: str) -> str:
    """Literal blocks (``Example::``) become fenced ones."""
    parts = re.split(r"(?m)^(.*)::\n\n((?: {4}.*\n?|\n)+)", text)
    if len(parts) == 1:
        return text
    reason = "not run: tests/unit/connectors registers each of these plugins, and uses it"
    before, title, code, after = parts[0], parts[1], parts[2], "".join(parts[3:])
    return f"{before}{title}:\n\n<!-- {reason} -->\n```python\n{_spaced(inspect.cleandoc(code))}\n```\n{after}"


def _spaced(code: str) -> str:
    """Code with two empty lines before what stands at its left edge, as formatters want it."""
    return re.sub(r"\n\n(?=\S)", "\n\n\n", code)


def first_line(docstring: str | None) -> str:
    """The summary of a docstring."""
    return markdown((docstring or "").strip().partition("\n\n")[0]).replace("\n", " ")


def cell(value: object) -> str:
    """A text as a table cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(str(value).split()))


def code(value: object) -> str:
    """A text as code, for a table cell."""
    return f"`{cell(value)}`" if str(value) else ""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; its cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell(value) for value in line) + " |" for line in lines)


def attribute_docs(source: object) -> dict[str, str]:
    """Names to the texts that stand below them in a class or module."""
    assert isinstance(source, (type, ModuleType))
    tree = ast.parse(inspect.getsource(source))
    body = tree.body[0].body if isinstance(source, type) and isinstance(tree.body[0], ast.ClassDef) else tree.body
    found: dict[str, str] = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        name = _assigned(node)
        if name is None or not isinstance(following, ast.Expr) or not isinstance(following.value, ast.Constant):
            continue
        found[name] = markdown(str(following.value.value))
    return found


def _assigned(node: ast.stmt) -> str | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None
