"""The index: which sweep unit a raw path is in, under every spelling that may mean it (S3, S24)."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from nessie_gc_core.algorithms.disk import FILE, decoded, is_link, link_names, links_of
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules, with_slash

REMEMBERED_FOLDERS = 50_000
"""For how many folders an index remembers their units."""

ASKED_ALONE = 16
"""Of how many files in a folder of this disk it is asked one by one whether they are links."""

NO_NAMES = frozenset({"", ".", ".."})
"""The last elements of a path that do not name a file in a folder."""

UnitKey = tuple[str, str]
"""A sweep unit's root, and the canonical key below it."""


class Places(NamedTuple):
    """Where a raw path may be."""

    written: UnitKey | None = None
    """Its place as it is written; a listing of that unit shows it under this key, if it exists."""
    others: tuple[UnitKey, ...] = ()
    """Other possible places: behind links, or where a store or client that cleans paths put it."""

    @property
    def all(self) -> tuple[UnitKey, ...]:
        """All of them."""
        return self.others if self.written is None else (self.written, *self.others)

    def named(self, name: str) -> Places:
        """The same for a file with this name in the folder."""
        written = self.written and (self.written[0], self.written[1] + name)
        return Places(written, self.others and tuple((unit, key + name) for unit, key in self.others))


@dataclass(slots=True)
class _Folder:
    """What is remembered about a folder: its possible places, and its paths if it is on this disk."""

    places: Places
    paths: tuple[str, ...]
    """As it is written, and decoded where that differs; none: it is not on this disk."""
    uris: bool
    """Whether paths in it may be URIs."""
    links: frozenset[str] | None = None
    """The names of the links in it, once it was asked for many files."""
    asked: int = 0

    def is_plain(self, name: str) -> bool:
        """Whether a name in it adds nothing to its places: it is not a link, and nothing in it may be encoded."""
        if not self.paths:
            return True
        if self.links is None:
            self.asked += 1
            if self.asked == ASKED_ALONE:
                found = list(map(link_names, self.paths))
                self.links = None if None in found else frozenset().union(*(names or () for names in found))
        has_link = any(self.linked(name)) if self.links is None else name in self.links
        return not has_link and not ("%" in name and self.uris)

    def linked(self, name: str) -> Iterator[str]:
        """The paths of a name in it that are links on this disk."""
        forms = {name, unquote(name)} if self.uris else {name}
        for path in (f"{folder}{form}" for folder in self.paths for form in forms):
            if is_link(path):
                yield path


def _is_odd(name: str) -> bool:
    """Whether the last element of a path does not name a file in the folder before it."""
    return name in NO_NAMES or "\\" in name


class ByFolder(NamedTuple):
    """Units and keys of many paths; ``None`` where a path is in no unit, or has to be looked up by itself."""

    units: list[str | None]
    keys: list[str | None]
    single: list[int]
    """The positions of the paths to look up by themselves: their folder does not tell all about them."""


class UnitIndex:
    """Finds the sweep units of a path; files of one folder are looked up once. Travels to executors.

    Example: in a unit ``s3://lake/wh/t/`` the path ``s3a://lake//wh/t/data/./a`` has the key ``data/a``. On a local
    disk a path is both where it is written and where its links and mounts lead.
    """

    def __init__(
        self,
        roots: Iterable[str],
        rules: LocationRules,
        *,
        listed: Mapping[str, tuple[str, ...]] | None = None,
        uris: bool = True,
    ) -> None:
        """Takes the sweep units.

        Args:
            roots: their roots.
            rules: how paths are compared.
            listed: where a unit is not listed as a whole, the exact prefixes that are.
            uris: whether local paths may be URIs, as in metadata; else they are as they are stored.
        """
        self.rules = rules
        self._uris = uris
        self._listed = dict(listed or {})
        self._roots = sorted(roots)
        self._known = frozenset(self._roots)
        self._lengths = sorted({len(root) for root in self._roots})
        aliases = (*rules.path_aliases, *rules.path_aliases.values())
        self._asks_disk = any(place.startswith(FILE) for place in (*self._roots, *aliases))
        self._forget()

    @classmethod
    def of(cls, plan: SweepPlan, *, uris: bool = True) -> UnitIndex:
        """The index of a plan."""
        exact = {unit.root: tuple(map(plan.rules.exact_prefix, unit.locations)) for unit in plan.units}
        listed = {root: found for root, found in exact.items() if root not in found}
        return cls(plan.roots, plan.rules, listed=listed, uris=uris)

    def look_again(self) -> None:
        """Forgets what the local disk looked like: links and mounts may have been made since."""
        self._forget()

    def _forget(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._spellings = Spellings(self.rules, uris=self._uris)

    def __getstate__(self) -> dict[str, object]:
        """Without what it remembers about the local disk, which may be a different one there."""
        kept = ("rules", "_uris", "_listed", "_roots", "_known", "_lengths", "_asks_disk")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._forget()

    def find(self, raw: str) -> UnitKey | None:
        """One unit and key of a raw path: as it is written, if that is in a unit; ``None`` if no spelling is.

        A path that is in a unit as it is written is not resolved, even if it is a link.

        Raises:
            UnknownLocationError: the path cannot be made canonical, or resolved where that is needed (S3).
        """
        folder = self._folder(raw)
        places = self._places_of_odd(raw) if folder is None else folder.places.named(raw.rpartition("/")[2])
        return next(iter(self.places(raw).all), None) if places.written is None else places.written

    def places(self, raw: str) -> Places:
        """Every unit and key that a raw path may mean.

        Raises:
            UnknownLocationError: the path cannot be made canonical, or resolved, so it may be anywhere (S3).
        """
        name = raw.rpartition("/")[2]
        folder = self._folder(raw)
        if folder is None:
            return self._places_of_odd(raw)
        found = folder.places.named(name)
        if folder.is_plain(name):
            return found
        if "%" in name:
            found = self._look_up_all(raw)
        behind = (place for path in folder.linked(name) for place in self._behind_links(path))
        return Places(found.written, found.others + tuple(behind))

    def by_folder(self, paths: Iterable[str]) -> ByFolder:
        """Units and keys of many raw paths by their folders; for those without an answer, ask :meth:`places`."""
        found = ByFolder([], [], [])
        for at, raw in enumerate(paths):
            unit, key = None, None
            folder, _, name = raw.rpartition("/")
            remembered = self._folders.get(folder) or self._first_of(raw)
            if remembered is None or remembered.places.others or _is_odd(name) or not remembered.is_plain(name):
                found.single.append(at)
            elif remembered.places.written is not None:
                unit, prefix = remembered.places.written
                key = prefix + name
            found.units.append(unit)
            found.keys.append(key)
        return found

    def _first_of(self, raw: str) -> _Folder | None:
        """The folder of a path; ``None`` if it has to be looked up by itself, for whatever reason."""
        try:
            return self._folder(raw)
        except UnknownLocationError:
            return None

    def _folder(self, raw: str) -> _Folder | None:
        """The folder of a path; ``None`` if the path does not end in a plain name."""
        folder, _, name = raw.rpartition("/")
        if _is_odd(name):
            return None
        remembered = self._folders.get(folder)
        if remembered is None:
            if not ("://" in folder or folder.startswith(("/", "file:/"))):
                return None
            if len(self._folders) >= REMEMBERED_FOLDERS:
                self._forget()
            places, paths = self._look_up_all(folder + "/"), tuple(self._on_this_disk(folder + "/"))
            remembered = _Folder(places, paths, self._uris)
            self._folders[folder] = remembered
        return remembered

    def around(self, raw: str) -> Iterator[str]:
        """The roots of the units around a raw path or location, and of those inside it.

        Raises:
            UnknownLocationError: as for :meth:`places`.
        """
        yield from (unit for unit, _ in self.places(raw).all)
        for form in self._forms(raw):
            prefix = with_slash(form)
            for position in range(bisect.bisect_left(self._roots, prefix), len(self._roots)):
                if not self._roots[position].startswith(prefix):
                    break
                yield self._roots[position]

    def _places_of_odd(self, raw: str) -> Places:
        """Of a path that does not end in a plain name; file systems drop a slash at the end of a file's."""
        found = self._look_up_all(raw)
        without = raw.rstrip("/")
        if without == raw or without.endswith(":"):
            return found
        return Places(found.written, found.others + self.places(without).all)

    def _look_up_all(self, raw: str) -> Places:
        found = [(form, key) for form in self._forms(raw) if (key := self._look_up(form)) is not None]
        keys = tuple(dict.fromkeys(key for _, key in found))
        written = next((key for form, key in found if self._is_listed(form, key[0], raw)), None)
        return Places(written, tuple(key for key in keys if key != written))

    def _is_listed(self, form: str, unit: str, raw: str) -> bool:
        """Whether a listing of the unit shows the path under this form: a store may keep another spelling apart."""
        return form.startswith(FILE) or self.rules.exact(raw).startswith(self._listed.get(unit, (unit,)))

    def _forms(self, raw: str) -> Iterator[str]:
        """Every canonical path that a raw one may mean."""
        canonical = self.rules.canonical(raw)
        climbed = None if canonical.startswith(FILE) else self.rules.climbed(raw)
        for form in (canonical, *(() if climbed is None else (climbed,))):
            if self._asks_disk or self.rules.path_aliases:
                yield from self._spellings.of(form)
            else:
                yield form

    def _on_this_disk(self, folder: str) -> Iterator[str]:
        canonical = self.rules.canonical(folder)
        if canonical.startswith(FILE) and self._asks_disk:
            also = decoded(canonical) if self._uris else ()
            yield from (form[len(FILE) - 1 :] for form in (canonical, *also))

    def _behind_links(self, path: str) -> Iterator[UnitKey]:
        """The places of the files that a link to a file leads to, link by link: reading it needs them all."""
        for target in links_of(path):
            yield from self._look_up_all(FILE + target[1:]).all

    def _look_up(self, canonical: str) -> UnitKey | None:
        for length in self._lengths:
            if length > len(canonical):
                break
            root = canonical[:length]
            if root in self._known:
                return root, canonical[length:]
        return None
