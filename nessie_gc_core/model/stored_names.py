"""How the files of a content are named where they are stored, so that a listing can find it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NEVER = "(?!)"
"""A regular expression that nothing matches."""


@dataclass(frozen=True, slots=True)
class StoredNames:
    """Names below the base location of contents of one type.

    What looks like a content is read before anything is concluded: its metadata has to name its base location itself.
    """

    metadata: str
    """Regular expression for the paths of its metadata files."""
    of_others: str = NEVER
    """Regular expression for the paths of files by which somebody else shows that the folder is theirs, too."""
    _whole: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuses what is no regular expression.

        Raises:
            re.error: it says why.
        """
        re.compile(f"(?:{self.of_others})")
        object.__setattr__(self, "_whole", re.compile(f"(?P<base_location>(?:.*/)?)(?:{self.metadata})"))

    def base_location(self, path: str) -> str | None:
        """What comes before the name of a metadata file; ``None`` where the path is none."""
        found = self._whole.fullmatch(path)
        return None if found is None else found["base_location"]
