"""Which tables are meant, by patterns of their dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property

from nessie_gc_core.errors import ConfigurationError


@dataclass(frozen=True)
class TablePatterns:
    """Tables that some patterns take in and others leave out; without patterns that take in, all are meant.

    A pattern is that of a shell: ``*`` stands for any text, dots too, ``?`` for one character, ``[ab]`` for one of
    some. It matches the whole dotted name of a table or of a namespace above it, case and all (S12): ``sales`` and
    ``sales.*`` both mean every table in ``sales``, and none in ``sales_2025``.
    """

    include: Sequence[str] = ()
    """Patterns of the tables that are meant."""
    exclude: Sequence[str] = ()
    """Patterns of the tables that are not, whatever ``include`` says."""

    def __post_init__(self) -> None:
        for pattern in (*self.include, *self.exclude):
            if not pattern.strip():
                raise ConfigurationError("a pattern of tables must not be empty; '*' means all")

    def matches(self, name: str) -> bool:
        """Whether the table of this dotted name is meant."""
        names = tuple(_with_namespaces(name))
        if any(pattern.match(each) for pattern in self._excluded for each in names):
            return False
        return not self.include or any(pattern.match(each) for pattern in self._included for each in names)

    @cached_property
    def _included(self) -> Sequence[re.Pattern[str]]:
        return _compiled(self.include)

    @cached_property
    def _excluded(self) -> Sequence[re.Pattern[str]]:
        return _compiled(self.exclude)


def _compiled(patterns: Iterable[str]) -> list[re.Pattern[str]]:
    return [re.compile(translate(pattern)) for pattern in patterns]


def _with_namespaces(name: str) -> Iterable[str]:
    """A name, and those of the namespaces that it lies in."""
    yield name
    yield from (name[: dot.start()] for dot in re.finditer(r"\.", name))
