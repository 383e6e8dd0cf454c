"""Parts of reports as they come out of a database: whatever is not what it should be counts as missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def inside(value: object, *names: str) -> object:
    """What is inside of objects; ``None`` if it is not."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def listed(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list, if it is one."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def number(value: object) -> int:
    """A whole number from 0 on; 0 if it is none."""
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


def text(value: object) -> str:
    """A text; empty if it is none."""
    return value if isinstance(value, str) else ""
