"""Which tables are meant, by patterns of their dotted names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from nessie_gc_core.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePatterns:
    """Tables that some patterns take in and others leave out; without patterns that take in, all are meant.

    A pattern is a regular expression of the whole dotted name, as for references (S12): ``sales[.].*`` means every
    table in ``sales``, and none in ``sales_2025``.
    """

    include: tuple[re.Pattern[str], ...] = ()
    """Patterns of the tables that are meant."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """Patterns of the tables that are not, whatever ``include`` says."""

    @classmethod
    def parse(cls, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Self:
        """Takes the values of the options ``include`` and ``exclude``.

        Raises:
            ConfigurationError: one of them is no regular expression.
        """
        return cls(include=compiled("include", include), exclude=compiled("exclude", exclude))

    def matches(self, name: str) -> bool:
        """Whether the table of this dotted name is meant."""
        return (not self.include or any_matches(self.include, name)) and not any_matches(self.exclude, name)


def compiled(option: str, patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """The patterns of an option.

    Raises:
        ConfigurationError: one of them is no regular expression.
    """
    try:
        return tuple(re.compile(pattern) for pattern in patterns)
    except re.error as error:
        raise ConfigurationError(
            f"option {option!r}: {error.pattern!r} is not a valid regular expression: {error}"
        ) from error


def any_matches(patterns: Sequence[re.Pattern[str]], name: str) -> bool:
    """Whether one of some patterns matches a whole name."""
    return any(pattern.fullmatch(name) for pattern in patterns)
