"""What a live-set store remembers of contents, as algorithms ask for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from nessie_gc_core.model.repository import ContentVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What is known of contents besides their metadata."""

    versions_of: Callable[[str], Iterable[ContentVersion]]
    """The live versions of a content id."""
    locations_of: Callable[[str], Iterable[str]]
    """All base locations at which a content id was ever seen, canonical where that could be said."""
    tombstones: Callable[[Iterable[str]], Collection[str]]
    """Which of some canonical paths an earlier run deleted."""

    def with_versions(self, versions: Sequence[ContentVersion]) -> Remembered:
        """The same, knowing more live versions."""
        by_content: dict[str, list[ContentVersion]] = {}
        for version in versions:
            by_content.setdefault(version.content_id, []).append(version)
        before = self.versions_of
        return replace(self, versions_of=lambda id_: itertools.chain(before(id_), by_content.get(id_, ())))
