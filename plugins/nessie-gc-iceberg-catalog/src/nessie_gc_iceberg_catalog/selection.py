"""Which tables of a catalog are collected; all others stay live, and nothing is deleted where they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie_gc_core.model.table_patterns import TablePatterns, any_matches
from nessie_gc_iceberg_catalog.content_types import GC_DISABLED, LEFT_OUT, managed_by
from nessie_gc_iceberg_catalog.managers import NOBODY_IN_PARTICULAR, Managers


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Patterns of whole names (S12), and who manages tables."""

    patterns: TablePatterns = field(default_factory=TablePatterns)
    """Collect these only."""
    managed: tuple[re.Pattern[str], ...] = ()
    """Collect these although someone else manages them."""
    managers: Managers = field(default_factory=Managers)

    def leaves_out(self, name: str) -> bool:
        """Whether the patterns leave a table or view out."""
        return not self.patterns.matches(name)

    def manager(self, name: str, location: str, properties: Mapping[str, object]) -> str | None:
        """Who manages a table, unless it is to be collected all the same; ``None``: nobody that is known."""
        if any_matches(self.managed, name) and not self.managers.whole:
            return None
        return self.managers.of_table(location, properties)

    def frozen_as(self, name: str, location: str, properties: Mapping[str, object]) -> str | None:
        """The content type that freezes the locations of a table; ``None``: it is collected."""
        if self.leaves_out(name):
            return LEFT_OUT
        manager = self.manager(name, location, properties)
        if manager is None:
            return None
        if self.managers.whole or manager == NOBODY_IN_PARTICULAR:
            return GC_DISABLED
        return managed_by(manager)
