"""Which tables of a catalog are collected; all others stay live, and nothing is deleted where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_iceberg_catalog.content_types import GC_DISABLED, LEFT_OUT, managed_by
from nessie_gc_iceberg_catalog.managers import NOBODY_IN_PARTICULAR, Managers


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Patterns of whole names (S12), and who manages tables."""

    include: tuple[re.Pattern[str], ...] = ()
    """Collect these only; empty: all."""
    exclude: tuple[re.Pattern[str], ...] = ()
    """Do not collect these."""
    managed: tuple[re.Pattern[str], ...] = ()
    """Collect these although somebody else manages them."""
    managers: Managers = field(default_factory=Managers)

    def leaves_out(self, name: str) -> bool:
        """Whether the patterns leave a table or view out."""
        return bool(self.include and not _matches(self.include, name)) or _matches(self.exclude, name)

    def frozen_as(self, name: str, location: str, properties: Mapping[str, object]) -> str | None:
        """The content type that freezes the locations of a table; ``None``: it is collected."""
        if self.leaves_out(name):
            return LEFT_OUT
        manager = self.managers.of_table(location, properties)
        if manager is None or (_matches(self.managed, name) and not self.managers.whole):
            return None
        if self.managers.whole or manager == NOBODY_IN_PARTICULAR:
            return GC_DISABLED
        return managed_by(manager)


def compiled(option: str, patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """The patterns of an option.

    Raises:
        ConfigurationError: one of them is no regular expression.
    """
    try:
        return tuple(re.compile(pattern) for pattern in patterns)
    except re.error as error:
        raise ConfigurationError(f"option {option!r}: {error.pattern!r} is no regular expression: {error}") from error


def _matches(patterns: Sequence[re.Pattern[str]], name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in patterns)
