"""The index: in which sweep unit a raw path lies, under every spelling that may mean it (S3, S24)."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from nessie_gc_core.algorithms.disk import FILE, FolderId, SameFolders, folder_id, is_link, real_place
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.model.locations import LocationRules

REMEMBERED_FOLDERS = 50_000
"""For how many folders an index remembers in which units they lie."""

_NO_NAMES = frozenset({"", ".", ".."})

UnitKey = tuple[str, str]
"""A sweep unit's root, and the canonical key below it."""


class Places(NamedTuple):
    """Where a raw path may lie."""

    written: UnitKey | None = None
    """Where it lies as it is written; a listing of that unit shows it under this key, if it is there."""
    others: tuple[UnitKey, ...] = ()
    """Where it may lie as well: behind links, or where a store or client that cleans paths put it."""

    @property
    def all(self) -> tuple[UnitKey, ...]:
        """All of them."""
        return self.others if self.written is None else (self.written, *self.others)

    def named(self, name: str) -> Places:
        """The same for a file with this name in the folder."""
        written = self.written and (self.written[0], self.written[1] + name)
        return Places(written, self.others and tuple((unit, key + name) for unit, key in self.others))


@dataclass(frozen=True, slots=True)
class _Folder:
    """What is remembered of a folder: where it may lie, and its path where it lies on this disk."""

    places: Places
    path: str | None


class UnitIndex:
    """Finds the sweep units of a path; files of one folder are looked up once. Travels to executors.

    Example: in a unit ``s3://lake/wh/t/`` the path ``s3a://lake//wh/t/data/./a`` has the key ``data/a``. On a local
    disk a path lies where it is written, and where its links and mounts lead to.
    """

    def __init__(
        self, roots: Iterable[str], rules: LocationRules, *, listed: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        """Takes the units' roots, and where one is not listed as a whole the exact prefixes that are."""
        self.rules = rules
        self._listed = dict(listed or {})
        self._roots = sorted(roots)
        self._known = frozenset(self._roots)
        self._lengths = sorted({len(root) for root in self._roots})
        self._has_local_roots = any(root.startswith(FILE) for root in self._roots)
        self._folder_ids = tuple(_folder_ids(self._roots))
        self._forget()

    @classmethod
    def of(cls, plan: SweepPlan) -> UnitIndex:
        """The index of a plan."""
        exact = {unit.root: tuple(map(plan.rules.exact_prefix, unit.locations)) for unit in plan.units}
        return cls(plan.roots, plan.rules, listed={root: found for root, found in exact.items() if root not in found})

    def _forget(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._same = SameFolders(self._folder_ids)

    def __getstate__(self) -> dict[str, object]:
        """Without what it remembers of the disk here, which may be another one there."""
        kept = ("rules", "_listed", "_roots", "_known", "_lengths", "_has_local_roots", "_folder_ids")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._forget()

    def find(self, raw: str) -> UnitKey | None:
        """One unit and key of a raw path, as it is written where that lies in a unit; ``None`` where nothing does.

        Raises:
            UnknownLocationError: the path cannot be made canonical, or resolved, so it may lie anywhere (S3).
        """
        return next(iter(self.places(raw).all), None)

    def places(self, raw: str) -> Places:
        """Every unit and key that a raw path may mean.

        Raises:
            UnknownLocationError: the path cannot be made canonical, or resolved, so it may lie anywhere (S3).
        """
        folder, _, name = raw.rpartition("/")
        remembered = self._folders.get(folder)
        if remembered is None or name in _NO_NAMES or "\\" in name:
            has_folder = "://" in folder or folder.startswith(("/", "file:/"))
            if not has_folder or name in _NO_NAMES or "\\" in name:
                return self._look_up_all(raw)
            if len(self._folders) >= REMEMBERED_FOLDERS:
                self._forget()
            remembered = _Folder(self._look_up_all(folder + "/"), self._on_this_disk(folder + "/"))
            self._folders[folder] = remembered
        found = remembered.places.named(name)
        if remembered.path is not None and is_link(remembered.path + name):  # reading it needs what it leads to, too
            target = self._look_up_all(real_place(FILE + remembered.path[1:] + name))
            found = Places(found.written, found.others + target.all)
        return found

    def around(self, raw: str) -> Iterator[str]:
        """The roots of the units in which a raw path or location lies, and of those that lie in it.

        Raises:
            UnknownLocationError: as for :meth:`places`.
        """
        yield from (unit for unit, _ in self.places(raw).all)
        prefix = self.rules.canonical_prefix(raw)
        for position in range(bisect.bisect_left(self._roots, prefix), len(self._roots)):
            if not self._roots[position].startswith(prefix):
                return
            yield self._roots[position]

    def _look_up_all(self, raw: str) -> Places:
        canonical = self.rules.canonical(raw)
        forms: list[str] = []
        if canonical.startswith(FILE) and self._has_local_roots:
            forms.extend(self._on_disk(canonical))
        elif (climbed := self.rules.climbed(raw)) is not None:
            forms.append(climbed)
        others = dict.fromkeys(found for form in forms if (found := self._look_up(form)) is not None)
        written = self._look_up(canonical)
        if written is not None:
            others.pop(written, None)
            if not self.rules.exact(raw).startswith(self._listed.get(written[0], (written[0],))):
                return Places(None, (written, *others))
        return Places(written, tuple(others))

    def _on_this_disk(self, folder: str) -> str | None:
        canonical = self.rules.canonical(folder)
        return canonical[len(FILE) - 1 :] if canonical.startswith(FILE) and self._has_local_roots else None

    def _on_disk(self, canonical: str) -> Iterator[str]:
        """What a local path is without links, and by the first path of each mount."""
        real = real_place(canonical)
        yield real
        folder, slash, name = real.rpartition("/")
        yield FILE + self._same.first("/" + folder.removeprefix(FILE)).lstrip("/") + slash + name

    def _look_up(self, canonical: str) -> UnitKey | None:
        for length in self._lengths:
            if length > len(canonical):
                break
            root = canonical[:length]
            if root in self._known:
                return root, canonical[length:]
        return None


def _folder_ids(roots: Iterable[str]) -> Iterator[tuple[FolderId, str]]:
    """Device and inode of the local units' folders, and of all above them."""
    seen: set[str] = set()
    for root in roots:
        if not root.startswith(FILE):
            continue
        path = "/" + root.removeprefix(FILE).rstrip("/")
        while path and path not in seen:
            seen.add(path)
            found = folder_id(path)
            if found is not None:
                yield found, path
            path = path.rpartition("/")[0]
