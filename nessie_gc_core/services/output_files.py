"""The files that a run writes on request: what is wrong with their names is said before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError

SUFFIXES = (".jsonl", ".parquet")
"""Endings of files with rows."""


PIPE = "-"
"""Stands for standard output."""
PIPED = {"outcomes_to": "outcomes.jsonl", "write_live_set_id_to": "live-set-id", "output": "page.html"}
"""Parameters of files that a command may write to standard output, and what each is called until then."""


def check_output(name: str, path: str, suffixes: Sequence[str] = SUFFIXES, *, new: bool = False) -> None:
    """Refuses a file that cannot be written.

    Args:
        name: the parameter that names it.
        path: the file.
        suffixes: the endings that tell its format.
        new: whether it must not exist yet.

    Raises:
        ConfigurationError: its name has another ending, it is a folder or exists, or its folder does not exist.
    """
    file = Path(path)
    if not path.endswith(tuple(suffixes)):
        raise ConfigurationError(f"`{name}` {path!r} must end in {' or '.join(suffixes)}")
    if file.is_dir():
        raise ConfigurationError(f"`{name}` {path!r} is a folder; name a file in it")
    if new and file.exists():
        raise ConfigurationError(f"`{name}` {path!r} already exists; name another file, or remove it")
    if not file.parent.is_dir():
        raise ConfigurationError(f"`{name}` {path!r}: the folder {str(file.parent)!r} does not exist; create it first")
