"""What a live-set store remembers of contents, as algorithms ask for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nessie_gc_core.model.repository import ContentVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What is known of contents besides their metadata."""

    versions_of: Callable[[Collection[str]], Iterable[ContentVersion]]
    """The live versions of some content ids."""
    locations_of: Callable[[Collection[str]], Iterable[tuple[str, str]]]
    """Of some content ids each with all its base locations ever seen, canonical where that could be said."""
    tombstones: Callable[[Iterable[str]], Collection[str]]
    """Which of some canonical paths an earlier run deleted."""

    def with_versions(self, versions: Sequence[ContentVersion]) -> Remembered:
        """The same, knowing more live versions."""
        by_content: dict[str, list[ContentVersion]] = {}
        for version in versions:
            by_content.setdefault(version.content_id, []).append(version)
        before = self.versions_of

        def versions_of(content_ids: Collection[str]) -> Iterator[ContentVersion]:
            yield from before(content_ids)
            for content_id in content_ids:
                yield from by_content.get(content_id, ())

        return replace(self, versions_of=versions_of)
