"""All cases."""

from __future__ import annotations

from collections.abc import Iterator

from versus.cases import Case
from versus.expire_files import by_java_api, files
from versus.expire_rules import refs, rules
from versus.orphan_cases import orphans


def all_cases() -> Iterator[Case]:
    """In the order of the table."""
    yield from rules()
    yield from refs()
    yield from files()
    yield from by_java_api()
    yield from orphans()
