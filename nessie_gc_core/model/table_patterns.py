"""Selects tables by patterns of their dotted names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from nessie_gc_core.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePatterns:
    """Tables that some patterns take in and others leave out; without patterns that take in, all are selected.

    A pattern is a regular expression of the whole dotted name, as for references (S12): ``sales[.].*`` means every
    table in ``sales``, and none in ``sales_2025``.
    """

    include: tuple[re.Pattern[str], ...] = ()
    """Patterns of the selected tables."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """Patterns of the tables that are not, whatever ``include`` says."""

    @classmethod
    def parse(cls, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Self:
        """Takes the values of the options ``include`` and ``exclude``.

        Raises:
            ConfigurationError: one of them is not a regular expression.
        """
        return cls(include=compiled("include", include), exclude=compiled("exclude", exclude))

    @property
    def takes_all(self) -> bool:
        """Whether there is no pattern, so that all tables are selected."""
        return not self.include and not self.exclude

    def matches(self, name: str) -> bool:
        """Whether the table of this dotted name is selected."""
        return self.matches_any([name])

    def matches_any(self, names: Collection[str]) -> bool:
        """Whether a table with all these dotted names is selected; one without a name is, if there is no pattern."""
        if any(any_matches(self.exclude, name) for name in names):
            return False
        return any(any_matches(self.include, name) for name in names) if self.include else bool(names) or self.takes_all

    def unmatched(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """The patterns that match none of some names, each after the option that has it."""
        given = [("include", pattern) for pattern in self.include] + [("exclude", each) for each in self.exclude]
        for name in names:
            given = [(option, pattern) for option, pattern in given if not pattern.fullmatch(name)]
        return [(option, pattern.pattern) for option, pattern in given]


def compiled(option: str, patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """The patterns of an option.

    Raises:
        ConfigurationError: one of them is not a regular expression.
    """
    try:
        return tuple(re.compile(pattern) for pattern in patterns)
    except re.error as error:
        raise ConfigurationError(
            f"option {option!r}: {error.pattern!r} is not a valid regular expression: {error}"
        ) from error


def whole_name(name: str) -> str:
    """A pattern that matches this name and no other; its dots in brackets, which no shell or file changes."""
    return re.escape(name).replace("\\.", "[.]").replace("\\-", "-")


def any_matches(patterns: Sequence[re.Pattern[str]], name: str) -> bool:
    """Whether one of some patterns matches a whole name."""
    return any(pattern.fullmatch(name) for pattern in patterns)
