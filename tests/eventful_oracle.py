"""The oracle of eventful lakes: what must still be there after each step, and what must be gone in the end.

It knows nothing of how the collector works. It asks every state that was ever written what it needs, as it was made,
and remembers which states the collections could read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState
from nessie_gc_memory.objects import StoredObject
from oracle import live_names, live_versions

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.quarantine import bucket_of, bucket_of_tags
from nessie_gc_core.model.repository import ContentVersion

DAY = timedelta(days=1)
NAMING_NO_PLACE = (b"{}", b'{"format-version": 4, "relative": "data/x"}')
"""Metadata that is text, and says nothing of where files are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was there at a moment."""

    modified: Mapping[str, datetime]
    """Stored paths, and when they were written."""
    held: frozenset[str]
    """Former paths of files that can be restored, and are not at their paths."""
    tagged: frozenset[str]

    @property
    def paths(self) -> frozenset[str]:
        """What is stored at its path."""
        return frozenset(self.modified)

    @property
    def everything(self) -> frozenset[str]:
        """What is stored, or can be restored."""
        return self.paths | self.held


@dataclass(slots=True, kw_only=True)
class Side:
    """A repository, and what its collections have seen."""

    repository: RepositoryConnector
    read: dict[str, set[str]] = field(default_factory=dict)
    """Ids of contents of which a state was read to its end, with the homes and all the paths of these states."""


@dataclass(slots=True, kw_only=True)
class Model:
    """All that is known of a lake; ``wrong`` says what should not have happened."""

    lake: MemoryLake
    states: Mapping[str, TableState]
    """Every state by its metadata file."""
    elsewhere: Collection[str]
    """Files that are spelled as if they were in places that nobody knows: found by their names only (S30)."""
    store: MemoryLiveSetStore
    sides: Sequence[Side]
    policy: str
    marks: set[str] = field(default_factory=set)
    """Files by which other formats show themselves."""
    damaged: dict[str, StoredObject] = field(default_factory=dict)
    """What was in files that somebody damaged or took away."""
    gone: set[str] = field(default_factory=set)
    """What collections deleted for good."""
    wrong: list[str] = field(default_factory=list)

    # ---- what there is --------------------------------------------------------------------------------
    def stored(self) -> Stored:
        """What is there now."""
        modified = {
            path: found.modified for path, found in self.lake.objects.below("memory://") if "/held/" not in path
        }
        held, tagged = set[str](), set[str]()
        for file in self.store.held_files():
            path = file.location + file.path
            if bucket_of_tags(file.place) is not None:
                tagged.add(path)
            elif bucket_of(file.place) is not None:
                held.update({path} if any(not each.marker for each in self.lake.objects.versions(path)) else ())
            elif self.lake.has(file.place + file.held_path):
                held.add(path)
        return Stored(modified=modified, held=frozenset(held - modified.keys()), tagged=frozenset(tagged))

    def live(self, side: Side) -> list[ContentVersion]:
        """Every live version of a repository."""
        return list(live_versions(side.repository, self._policies).values())

    @property
    def _policies(self) -> ReferencePolicies:
        return ReferencePolicies.parse(self.policy, reference_time=self.lake.time)

    def state(self, version: ContentVersion) -> TableState:
        """What a version was made of."""
        return self.states[version.metadata_location or ""]

    def structure(self, version: ContentVersion | None = None) -> set[str]:
        """The metadata files, manifest lists and manifests that a live version needs, or that all of them do."""
        if version is None:
            return {path for side in self.sides for each in self.live(side) for path in self.structure(each)}
        return self._structure_of(self.state(version))

    def structure_of_guests(self) -> set[str]:
        """The same of live versions that have files outside their own homes."""
        live = [version for side in self.sides for version in self.live(side)]
        guests = [v for v in live if any(not _is_below(p, _homes(self.state(v))) for p in self.state(v).needed)]
        return {path for version in guests for path in self.structure(version)}

    def is_readable(self, version: ContentVersion, paths: Collection[str]) -> bool:
        """Whether all that leads to a version's data files is there and as it was written."""
        return all(path in paths and path not in self.damaged for path in self.structure(version))

    # ---- what was read --------------------------------------------------------------------------------
    def readable_now(self, sides: Iterable[int]) -> dict[int, dict[str, set[str]]]:
        """The contents that can be read to their end, with the homes and the paths of their states."""
        paths, found = self.lake.paths(), dict[int, dict[str, set[str]]]()
        for number in sides:
            mine = found.setdefault(number, {})
            for version in self.live(self.sides[number]):
                if self.is_readable(version, paths):
                    known = mine.setdefault(version.content_id, set())
                    known.update(_homes(self.state(version)), self.state(version).needed)
        return found

    def add_read(self, found: Mapping[int, Mapping[str, set[str]]]) -> None:
        """Remembers what a collection read."""
        for number, contents in found.items():
            for content_id, known in contents.items():
                self.sides[number].read.setdefault(content_id, set()).update(known)

    def was_read(self, number: int) -> None:
        """A repository was collected, and nothing was deleted."""
        self.add_read(self.readable_now([number]))

    def never_read(self, sides: Iterable[int]) -> dict[str, set[str]]:
        """Contents that cannot be read and never could, with all their names (S31)."""
        readable = self.readable_now(sides)
        found = set[str]()
        for number in sides:
            known = {**self.sides[number].read, **readable[number]}
            for version in self.live(self.sides[number]):
                unknown = version.content_id not in known or self._is_silent(version)
                if unknown and not self.is_readable(version, self.lake.paths()):
                    found.add(version.content_id)
        names: dict[str, set[str]] = {}
        for number in sides:
            for content_id, mine in live_names(self.sides[number].repository, self._policies).items():
                names.setdefault(content_id, set()).update(mine if content_id in found else ())
        return {content_id: names[content_id] for content_id in found}

    def _unreadable(self, number: int, paths: Collection[str]) -> Iterator[ContentVersion]:
        """Live versions that cannot be read; not those whose metadata a collection deleted (S7)."""
        for version in self.live(self.sides[number]):
            if not self.is_readable(version, paths) and version.metadata_location not in self.gone:
                yield version

    def _is_silent(self, version: ContentVersion) -> bool:
        found = self.lake.objects.get(version.metadata_location or "")
        return found is not None and found.data in NAMING_NO_PLACE

    # ---- what must stay -------------------------------------------------------------------------------
    def _protected(
        self, paths: Collection[str], aside: Collection[str] = (), sides: Sequence[int] = (0, 1)
    ) -> set[str]:
        """What live states are known to need: paths, and homes of which all must stay, with a slash at their end.

        A file that is found by its name only is needed by whom the run can read.
        """
        found = set[str]()
        for number, side in enumerate(self.sides):
            set_aside = self._set_aside(side, aside)
            unreadable = {version.identity for version in self._unreadable(number, paths)}
            for version in self.live(side):
                state, known = self.state(version), side.read.get(version.content_id, set())
                homes = {home for home in (*known, *self._shown_homes(state, paths)) if home.endswith("/")}
                if self.is_readable(version, paths):
                    found.update(state.needed if number in sides else state.needed.difference(self.elsewhere))
                elif version.identity in unreadable:
                    found |= homes
                    if version.content_id not in set_aside:
                        reached = known.difference(self.elsewhere)
                        found.update(path for path in state.needed if path in reached or _is_below(path, homes))
        return found

    def _shown_homes(self, state: TableState, paths: Collection[str]) -> Iterator[str]:
        """The homes of a state that its metadata file shows, by what is in it, or else by where it is."""
        path = state.metadata_location
        yield from _homes(state) if path in paths and path not in self.damaged else [f"{state.location}/"]

    def _set_aside(self, side: Side, patterns: Collection[str]) -> set[str]:
        return {
            content_id
            for content_id, names in live_names(side.repository, self._policies).items()
            if all(any(re.fullmatch(pattern, name) for pattern in patterns) for name in names)
        }

    def _foreign(self) -> set[str]:
        """The homes in which another format has files."""
        homes = {home for state in self.states.values() for home in _homes(state)}
        return {home for home in homes if any(mark.startswith(home) for mark in self.marks)}

    def check_collection(self, before: Stored, sides: Sequence[int], aside: Collection[str]) -> None:
        """After a collection of some repositories: nothing went that was needed, foreign or young."""
        after = self.stored()
        available = before.paths | after.paths
        went = before.paths - after.paths
        protected = self._protected(available, aside, sides)
        young = self.lake.time - DAY
        foreign = self._foreign()
        for path in sorted(went):
            if path in protected or _is_below(path, protected):
                self.wrong.append(f"{path} is live and gone")
            if before.modified[path] > young:
                self.wrong.append(f"{path} is young and gone")
            if _is_below(path, foreign):
                self.wrong.append(f"{path} is beside another format, and gone")
        self._check_held(before, after, protected)
        never = self._never_read_then(sides, available) - {
            each for n in sides for each in self._set_aside(self.sides[n], aside)
        }
        if never and went:
            self.wrong.append(f"{sorted(never)} were never read, and something is gone: {sorted(went)}")
        self._remember_gone(before, after)

    def _never_read_then(self, sides: Iterable[int], available: Collection[str]) -> set[str]:
        """Contents that could not be read, and never could, before anything was deleted."""
        found = set[str]()
        for number in sides:
            known = set(self.sides[number].read)
            known |= {v.content_id for v in self.live(self.sides[number]) if self.is_readable(v, available)}
            found |= {
                version.content_id
                for version in self._unreadable(number, available)
                if version.content_id not in known or self._is_silent(version)
            }
        return found

    def _check_held(self, before: Stored, after: Stored, protected: set[str]) -> None:
        for path in sorted(before.held - after.everything):
            if path in protected or _is_below(path, protected):
                self.wrong.append(f"{path} was in quarantine, is live and gone for good")

    def _remember_gone(self, before: Stored, after: Stored) -> None:
        self.gone |= before.everything - after.everything
        self.gone -= after.everything

    def check_nothing_went(self, before: Stored) -> None:
        """After a collection that refused to begin."""
        if went := before.everything - self.stored().everything:
            self.wrong.append(f"it was refused, and {sorted(went)} are gone")

    def check_purge(self, before: Stored) -> None:
        """After a purge: nothing went that is needed."""
        after = self.stored()
        protected = self._protected(before.paths | after.paths)
        self._check_held(before, after, protected)
        for path in sorted(before.paths - after.paths):
            if path in before.tagged and (path in protected or _is_below(path, protected)):
                self.wrong.append(f"{path} was tagged, is live and purged")
        self._remember_gone(before, after)

    def check_restored(self, before: Stored) -> None:
        """After everything was restored: what live states need is there, but for what went for good."""
        after = self.stored()
        self._remember_gone(before, after)
        if not before.everything <= after.everything:
            self.wrong.append(f"restored, and gone: {sorted(before.everything - after.everything)}")
        for side in self.sides:
            for version in self.live(side):
                missing = self.state(version).needed - after.paths - self.gone - self.damaged.keys()
                if missing:
                    self.wrong.append(f"{version.content_key} does not have {sorted(missing)} after the restoration")

    # ---- what must go ---------------------------------------------------------------------------------
    def check_no_garbage(self, before: Stored) -> None:
        """After the last collection: only what something keeps is left of the garbage."""
        after = self.stored()
        live = [version for side in self.sides for version in self.live(side)]
        needed = {path for version in live for path in self.state(version).needed}
        roots = _outermost(home for version in live for home in _homes(self.state(version)))
        frozen = self._frozen(live, before, roots, needed)
        structure = self.structure() & after.paths
        for path in sorted(before.paths & after.paths - needed - before.tagged):
            root = next((each for each in roots if path.startswith(each)), None)
            if root is None or root in frozen or before.modified[path] > self.lake.time - DAY:
                continue
            if any(each.startswith(root) for each in structure):
                self.wrong.append(f"{path} is garbage that nothing keeps, and stays")

    def _frozen(
        self, live: Collection[ContentVersion], before: Stored, roots: Collection[str], needed: Collection[str]
    ) -> set[str]:
        """The roots that a content which cannot be read ever touched, and those where other things are in doubt."""
        broken = {v.content_id for v in live if not self.is_readable(v, before.paths)}
        doubted = [*self.marks, *(path for path in needed if path in before.held)]
        own = {
            place
            for state in self.states.values()
            if state.content_id in broken
            for place in (*_homes(state), *self._structure_of(state), *state.needed)
        }
        return _roots(doubted, roots) | self._reached(_roots(own, roots), roots)

    def _reached(self, own: set[str], roots: Collection[str]) -> set[str]:
        """Some roots and those that are reached from them: by place, for a table reaches what one beside it does."""
        found, pending = set(own), list(own)
        edges = [
            (_roots(self._structure_of(state), roots), _roots(state.needed, roots)) for state in self.states.values()
        ]
        seen = set[str]()
        while pending:
            place = pending.pop()
            seen.add(place)
            for leading, named in edges:
                if place in leading:
                    found |= named
                    pending.extend(leading - seen)
        return found

    @staticmethod
    def _structure_of(state: TableState) -> set[str]:
        return set(state.needed) - {path for files in state.files.values() for path in files}


def _roots(places: Iterable[str], roots: Collection[str]) -> set[str]:
    """The roots that are around some places, or inside them."""
    found = set(places)
    return {root for root in roots if any(each.startswith(root) or root.startswith(each) for each in found)}


def _homes(state: TableState) -> Iterator[str]:
    """The base locations of a state, with a slash at their end."""
    yield from (home.rstrip("/") + "/" for home in (state.location, *state.historic_locations))


def _is_below(path: str, places: Iterable[str]) -> bool:
    """Whether a path is below one of those places that end in a slash."""
    return any(place.endswith("/") and path.startswith(place) for place in places)


def _outermost(places: Iterable[str]) -> list[str]:
    found = set(places)
    return sorted(each for each in found if not any(each != other and each.startswith(other) for other in found))
