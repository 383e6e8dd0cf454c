"""From docstrings and values to Markdown."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType

OF_A_PLUGIN = "tests/unit/connectors registers each of these plugins, and uses it"


def markdown(docstring: str | None, *, not_run: str = OF_A_PLUGIN) -> str:
    """A docstring as Markdown: roles and doubled backticks become code, notes for developers are removed.

    ``not_run`` says why its examples are not run.
    """
    text = inspect.cleandoc(docstring or "")
    text = re.sub(r":\w+:`~?\.?([^`]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    text = text.replace("``", "`")
    text = re.sub(r",? ?\((?:decisions?|design) [\d, ]+\)|, (?:decision|design) \d+(?=\))", "", text)
    text = re.sub(r"(?m)^(Args|Raises|Returns):\n", lambda match: f"**{match[1]}**\n\n", text)
    text = re.sub(r"(?m)^ {4}(\S[^:\n]*): ", r"- `\1`: ", text)
    return _examples(text, f"not run: {not_run}")


def _examples(text: str, reason: str) -> str:
    """Literal blocks (``Example::``) become fenced ones."""
    parts = re.split(r"(?m)^(.*)::\n\n((?: {4}.*\n?|\n)+)", text)
    if len(parts) == 1:
        return text
    before, title, code, after = parts[0], parts[1], parts[2], "".join(parts[3:])
    return f"{before}{title}:\n\n<!-- {reason} -->\n```python\n{_spaced(textwrap.dedent(code).strip())}\n```\n{after}"


def _spaced(code: str) -> str:
    """Code with two empty lines before each line at its left edge, as formatters want it."""
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
    """Names to the texts below them in a class or module."""
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


def signature(name: str, function: Callable[..., object]) -> str:
    """How a function is called, as code."""
    found = inspect.signature(function)
    parameters = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    returns = "" if found.return_annotation in (found.empty, "None") else f" -> {found.return_annotation}"
    return f"`{name}({', '.join(_parameters(parameters))}){returns}`"


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    has_star = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        yield f"{stars}{parameter.name}: {parameter.annotation}{default}"


def _shown(default: object) -> str:
    return str(default.__name__) if inspect.isfunction(default) else repr(default)


def members(class_: type) -> Iterator[tuple[str, property | Callable[..., object]]]:
    """The public properties and methods that a class itself has, in their order."""
    for name, member in vars(class_).items():
        found = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if not name.startswith("_") and (isinstance(found, property) or inspect.isfunction(found)):
            yield name, found


def member_parts(class_: type, *, level: int, of: type | None = None) -> Iterator[str]:
    """A heading, the signature and the docstring of each public property and method of a class."""
    for name, member in members(class_):
        if isinstance(member, property):
            assert member.fget is not None
            said = f"`{name} -> {inspect.signature(member.fget).return_annotation}` (a property)"
        else:
            said = signature(name, member)
        yield f"{'#' * level} {(of or class_).__name__}.{name}\n\n{said}\n\n{markdown(member.__doc__)}\n"
