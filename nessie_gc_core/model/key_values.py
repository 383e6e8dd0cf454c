"""Reads ``key=value`` pairs, separated by commas, like the options of the Java tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from nessie_gc_core.errors import ConfigurationError

KEY = r"[A-Za-z][A-Za-z0-9_.\-]*"
"""What a key looks like; a comma parts two pairs only where another key and ``=`` come after it."""


def parse_key_values(text: str, *, key: str = KEY) -> dict[str, str]:
    """Reads ``k=v`` or ``k=v,k=v``; a value may hold commas and ``=``.

    Raises:
        ConfigurationError: a part has no ``=``. The text itself is not shown: it may be a secret.
    """
    pairs: dict[str, str] = {}
    for number, part in enumerate(re.split(rf",(?=\s*{key}=)", text), start=1):
        name, equals, value = part.strip().partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"entry {number} is not of the form KEY=VALUE (its text is not shown)")
        pairs[name.strip()] = value
    return pairs


def merge(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """All pairs in one; a later one wins."""
    return {key: value for part in parts for key, value in part.items()}
