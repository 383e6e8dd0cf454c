"""What a live-set store remembers of contents, as algorithms ask for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.model.live_sets import ReachedPlace
from nessie_gc_core.model.repository import ContentVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What is known about the contents of one repository besides their metadata."""

    versions_of: Callable[[Collection[str]], Iterable[ContentVersion]]
    """The live versions of some content ids."""
    locations_of: Callable[[Collection[str]], Iterable[tuple[str, str]]]
    """Of some content ids each with all its base locations ever seen, canonical where that could be said."""
    all_locations: Callable[[], Iterable[tuple[str, str]]]
    """The same of all content ids."""
    earlier_ids: Callable[[Mapping[str, str]], Iterable[tuple[str, str]]]
    """Of content ids with names, each with all ids that had the name when the catalog could last read it."""
    reached_of: Callable[[Collection[str]], Iterable[ReachedPlace]]
    """Whether some content ids were ever read, and what they reached then (S31)."""
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


class Tolerance:
    """Distinguishes metadata that an earlier run deleted from lost metadata (S7).

    It is tolerated where every repository that has the content says so: its tombstone stands there, and the metadata
    is not that of the newest live version there.
    """

    def __init__(self, remembered: Sequence[Remembered], comparable: Callable[[str], str]) -> None:
        """Takes what is known of each repository, and what makes a canonical path of a raw one."""
        self._remembered = remembered
        self._comparable = comparable
        self._newest: list[dict[str, set[str]]] = [{} for _ in remembered]
        """For each repository and content the canonical metadata locations of its newest live version."""

    def of(self, missing: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Those of some missing files, raw path and content id, that an earlier run deleted."""
        files = {(path, content_id): self._comparable(path) for path, content_id in missing}
        deleted = [set(each.tombstones(files.values())) for each in self._remembered]
        maybe = {file: path for file, path in files.items() if any(path in found for found in deleted)}
        self._learn({content_id for _, content_id in maybe})
        return {file for file, path in maybe.items() if self._is_tolerated(path, file[1], deleted)}

    def _is_tolerated(self, path: str, content_id: str, deleted: Sequence[set[str]]) -> bool:
        """Of a content of which no version is known nothing is tolerated."""
        known = [
            (newest[content_id], found)
            for newest, found in zip(self._newest, deleted, strict=True)
            if content_id in newest
        ]
        return bool(known) and all(newest and path in found and path not in newest for newest, found in known)

    def _learn(self, content_ids: set[str]) -> None:
        for newest, remembered in zip(self._newest, self._remembered, strict=True):
            newest.update(self._newest_of(remembered.versions_of(content_ids - newest.keys())))

    def _newest_of(self, versions: Iterable[ContentVersion]) -> dict[str, set[str]]:
        """By content, the canonical metadata locations of its newest version (of all, where none has a time)."""
        newest: dict[str, tuple[datetime | None, set[str]]] = {}
        for version in versions:
            time, id_ = version.commit_time, version.content_id
            latest = newest[id_][0] if id_ in newest else None
            if id_ not in newest or (time is not None and (latest is None or time > latest)):
                newest[id_] = (time, set())
            elif time != latest:
                continue
            if version.metadata_location is not None:
                newest[id_][1].add(self._comparable(version.metadata_location))
        return {id_: locations for id_, (_, locations) in newest.items()}
