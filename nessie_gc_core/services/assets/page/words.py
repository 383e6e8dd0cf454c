"""What groups of assets are called on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Naming:
    """How the groups of one grouping are called."""

    unnamed: str
    """What is empty is called so."""
    noun: str
    """What each group is."""

    def of(self, name: str) -> str:
        """What a group is called."""
        return name or self.unnamed

    def other(self, groups: int) -> str:
        """What the sum of the groups that are not named is called."""
        return f"{groups:,} other {self.noun}{'' if groups == 1 else 's'}"


TABLE = Naming("(no known table)", "table")
TYPE = Naming("(no type)", "type")
REASON = Naming("(not looked for)", "reason")
AGE = Naming("(not known)", "group")
TIMES = Naming("", "number")
