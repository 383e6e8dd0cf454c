"""Writes a new plugin: a distribution that works and passes its tests, to be filled with the author's own code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template

from nessie_gc_core.errors import ConfigurationError, NessieGcError

KINDS_OF_PLUGINS = ("repository", "lister", "deleter", "store", "content-to-files", "deduplicator", "service")
"""What a new plugin can be."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PREFIX = "nessie-gc-"


def write_plugin(name: str, kind: str, folder: Path, *, version: str) -> Sequence[Path]:
    """Writes a plugin into a new folder ``nessie-gc-NAME``, and gives its files.

    Args:
        name: the name of the connector or service; ``nessie-gc-`` in front of it is left out.
        kind: one of :data:`KINDS_OF_PLUGINS`.
        folder: where the new folder is made.
        version: that of the core, which the plugin needs.

    Raises:
        ConfigurationError: the name or the kind makes no sense.
        NessieGcError: the folder exists already, or cannot be written.
    """
    name = name.removeprefix(_PREFIX)
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(f"{name[:60]!r} is not a name for a plugin; use small letters, digits and hyphens")
    if kind not in KINDS_OF_PLUGINS:
        raise ConfigurationError(f"there is no kind of plugin {kind!r}; the kinds are {', '.join(KINDS_OF_PLUGINS)}")
    words = {**_words(name, kind), "version": version}
    target, module = folder / words["distribution"], words["module"]
    templates = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"src/{module}/__init__.py": f"{kind}.py",
        f"tests/test_{module.removeprefix('nessie_gc_')}.py": f"test_{kind}.py",
    }
    texts = {target / path: _filled(template, words) for path, template in templates.items()}
    texts[target / "src" / module / "py.typed"] = ""
    try:
        target.mkdir(parents=True)
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise NessieGcError(f"{target} already exists; choose another name or folder, or remove it") from error
    except OSError as error:
        raise NessieGcError(f"cannot write {target}: {error.strerror or error}") from error
    return sorted(texts)


def _words(name: str, kind: str) -> dict[str, str]:
    return {
        "name": name,
        "kind": kind,
        "distribution": _PREFIX + name,
        "module": (_PREFIX + name).replace("-", "_"),
        "class_name": "".join(part.capitalize() for part in name.split("-")),
        "content_type": name.replace("-", "_").upper() + "_TABLE",
    }


def _filled(template: str, words: dict[str, str]) -> str:
    text = resources.files(__package__).joinpath("templates", f"{template}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(words)
