"""The API pages of the site: which names each page shows, and how docstrings become reStructuredText."""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from generating.contracts import KIT
from generating.python import CLASSES
from nessie_gc_core import api

_FIXTURE = re.compile(r"^ {4}``\w+``: ")
_ROW = re.compile(r"^\|.*\|$")


def connect(app: Any) -> None:
    """Connects the docstrings to Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _without_fields)
    app.connect("doctree-read", _leave_builtins)
    app.connect("missing-reference", _leave_unlinked)


# ---- pages --------------------------------------------------------------------------------------------
def directives(page: str) -> str:
    """What documents the names of a page of ``docs/api``, as a block of reStructuredText."""
    text = "\n".join(_PAGES[page]())
    return f"\n\n```{{eval-rst}}\n{text}\n```\n"


def _module(name: str, *, members: str = "") -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        yield f".. automodule:: {name}"
        yield f"   :members: {members}".rstrip()

    return lines


def _returned() -> Iterator[str]:
    exported = {getattr(api, name) for name in api.__all__}
    for class_ in CLASSES:
        if class_ not in exported and class_.__module__.partition(".")[0] == "nessie_gc_core":
            module = class_.__module__
            if module.startswith("nessie_gc_core.model.asset_runs") or not module.startswith("nessie_gc_core.model"):
                yield f".. autoclass:: {module}.{class_.__name__}"


def _kit() -> Iterator[str]:
    yield ".. autoclass:: nessie_gc_core.testing.NotPossible"
    for suite in KIT:
        yield f".. autoclass:: {suite.__module__}.{suite.__name__}"
        yield "   :no-members:"
        yield "   :no-show-inheritance:"


_PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "collector": _module("nessie_gc_core.api"),
    "connectors": _module("nessie_gc_core.connectors"),
    "errors": _module("nessie_gc_core.errors"),
    "hooks": _module("nessie_gc_core.hookspecs"),
    "kit": _kit,
    "model": _module("nessie_gc_core.model"),
    "options": _module("nessie_gc_core", members="ConnectorOptions, option, options, secret"),
    "returned": _returned,
}
"""Pages of ``docs/api``, and what documents their names."""


# ---- names --------------------------------------------------------------------------------------------
def _leave_builtins(_app: Any, document: Any) -> None:
    """The type ``bytes`` leads to no field of that name."""
    from sphinx.addnodes import pending_xref, pending_xref_condition

    for node in list(document.findall(pending_xref)):
        if node.get("refdomain") == "py" and hasattr(builtins, node["reftarget"]):
            inner = node.children[-1]
            node.replace_self(inner.children if isinstance(inner, pending_xref_condition) else node.children)


def _leave_unlinked(_app: Any, _environment: Any, node: Any, shown: Any) -> Any:
    """Names of other projects have no link, since the build asks no other site; nor have ours that are not public.

    One of our own names that does not exist gets the warning that fails the build.
    """
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or (target.startswith("nessie_gc") and not exists(target)):
        return None
    return shown if "." in target or target.isidentifier() else None


def exists(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


# ---- docstrings ---------------------------------------------------------------------------------------
def _process(app: Any, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """A docstring in Google's style as reStructuredText.

    Texts below an attribute are sentences: what stands before a colon in them is not a type, as the extension napoleon
    takes it to be.
    """
    from sphinx.ext.napoleon import Config, GoogleDocstring

    text = list(_without_tables(_with_lists_of_fixtures(lines)))
    if what in ("class", "method", "function", "exception", "property"):
        config = Config(napoleon_numpy_docstring=False, napoleon_use_rtype=False)
        found = GoogleDocstring(text, config, app, "object")  # type: ignore[arg-type]  # it means a Config of its own
        text = str(found).splitlines()
    lines[:] = [*text, ""]


def _without_fields(_app: Any, what: str, _name: str, value: object, *_: object) -> tuple[str, None] | None:
    """Data classes have no signature: their fields follow, each with its type and text."""
    return ("", None) if what == "class" and dataclasses.is_dataclass(value) else None


def _with_lists_of_fixtures(lines: list[str]) -> Iterator[str]:
    """Makes the fixtures of a class of the kit a list; a heading of theirs becomes a paragraph."""
    has_fixtures = any(_FIXTURE.match(line) for line in lines)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not has_fixtures:
            yield line
        elif _FIXTURE.match(line):
            yield f"- {line.strip()}"
        elif line.startswith("    "):
            yield f"  {line.strip()}"
        elif line.endswith(":") and _FIXTURE.match(following):
            yield from (f"**{line.removesuffix(':')}**" if len(line) < 40 else line, "")
        else:
            yield line


def _without_tables(lines: Iterator[str]) -> Iterator[str]:
    """Leaves out the tables in Markdown, which the reference has."""
    return (line for line in lines if not _ROW.match(line))
