"""How all HTML pages are rendered: text from data is escaped, and shown as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nessie_gc_core.model.next_steps import command_line
from nessie_gc_core.model.text import shown, size_text

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(*packages: str) -> Environment:
    """The templates of some packages, the first one first, with the filters ``count`` and ``size``, and ``command``.

    Raises:
        ImportError: Jinja is not installed.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,  # markup is of a class of its own
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["size"] = size_text
    environment.globals["command"] = command_line
    return environment
