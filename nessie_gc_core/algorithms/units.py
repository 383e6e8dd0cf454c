"""Sweep units: the prefixes that are swept, and what keeps a prefix from being swept (S1, S2, S6, S13, S23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules, depth, outermost, scheme_of, with_slash

REMEMBERED_FOLDERS = 50_000
"""For how many folders an index remembers in which unit they lie."""
DEFAULT_DEPTH = 2
"""Least number of path elements below a bucket, where no allow-list is configured."""
DEFAULT_FILE_DEPTH = 3
"""The same below the root of a local file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedLocations:
    """What the configuration allows to be swept (S13)."""

    prefixes: tuple[str, ...] = ()
    """Canonical warehouses; empty: any location that is deep enough."""
    min_depth: int | None = None
    """Least path depth; ``None``: the defaults."""
    stores: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What the warehouses named that their canonical form leaves out (an Azure account); not there: any."""

    @classmethod
    def of(cls, raw_prefixes: Iterable[str], rules: LocationRules, *, min_depth: int | None = None) -> AllowedLocations:
        """An allow-list of raw warehouses.

        Raises:
            UnknownLocationError: one of them is relative, or its scheme is not known.
        """
        stores: dict[str, set[str]] = {}
        for raw in raw_prefixes:
            stores.setdefault(rules.canonical_prefix(raw), set()).add(rules.left_out(raw))
        named = {prefix: frozenset(found) for prefix, found in stores.items() if "" not in found}
        return cls(prefixes=tuple(stores), min_depth=min_depth, stores=named)

    def refusal(self, canonical: str, store: str = "") -> str | None:
        """Why a location may not be swept; ``None``: it may. ``store`` is what its canonical form leaves out."""
        around = [prefix for prefix in self.prefixes if canonical.startswith(prefix)]
        if self.prefixes and not any(not store or store in self.stores.get(prefix, {store}) for prefix in around):
            return "is outside the allowed locations"
        least = self.min_depth
        if least is None:
            least = 0 if self.prefixes else DEFAULT_FILE_DEPTH if canonical.startswith("file:") else DEFAULT_DEPTH
        if depth(canonical) < least:
            return f"is less than {least} levels deep; allow it with --allow if it is to be swept"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepUnit:
    """Locations that overlap, merged into the outermost."""

    root: str
    """Canonical, with a slash at its end."""
    locations: tuple[str, ...]
    """Raw locations to list: the root in one spelling, or several where they may be different stores."""


@dataclass(slots=True)
class SweepPlan:
    """The units to sweep, and everything that stays out with the reason why."""

    units: list[SweepUnit] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    """Location or unit root to the reason why nothing can be said about it (S6)."""
    unread: dict[str, str] = field(default_factory=dict)
    """Location or unit root to the content there that no installed plugin reads (S23)."""
    refused: dict[str, str] = field(default_factory=dict)
    """Location to the reason why the configuration keeps it from being swept (S13)."""

    def freeze(self, prefixes: Iterable[str], reason: str, *, unread: bool = False) -> None:
        """Takes out every unit that overlaps one of the canonical prefixes."""
        frozen = self.unread if unread else self.unknown
        for prefix in set(prefixes):
            for unit in [u for u in self.units if u.root.startswith(prefix) or prefix.startswith(u.root)]:
                self.units.remove(unit)
                frozen[unit.root] = reason

    def freeze_all(self, reason: str) -> None:
        """Takes out every unit."""
        self.freeze(self.roots, reason)

    def why(self, root: str) -> str:
        """Why a unit was taken out."""
        return self.unknown.get(root) or self.unread[root]

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical roots of the units that are left."""
        return tuple(unit.root for unit in self.units)


def plan_units(locations: Iterable[str], rules: LocationRules, allowed: AllowedLocations) -> SweepPlan:
    """Merges raw base locations into sweep units."""
    plan = SweepPlan()
    raw_by_canonical: dict[str, list[str]] = {}
    for raw in locations:
        try:
            canonical = rules.canonical_prefix(raw)
        except UnknownLocationError as error:
            plan.unknown[raw] = str(error)
            continue
        refusal = allowed.refusal(canonical, rules.left_out(raw))
        if refusal is not None:
            plan.refused[raw] = refusal
            continue
        raw_by_canonical.setdefault(canonical, []).append(with_slash(rules.to_open(raw)))
    for root in outermost(raw_by_canonical):
        inside = [(c, raw) for c, raws in raw_by_canonical.items() if c.startswith(root) for raw in raws]
        plan.units.append(SweepUnit(root=root, locations=_spellings(inside, rules)))
    return plan


def _spellings(inside: Sequence[tuple[str, str]], rules: LocationRules) -> tuple[str, ...]:
    """For every store the outermost raw locations, in one spelling each: files would else count twice."""
    aliases = rules.authority_aliases
    by_authority: dict[str, dict[str, str]] = {}
    for canonical, raw in sorted(inside, key=lambda pair: (pair[0], _authority(pair[1]) in aliases, pair[1])):
        authority = _authority(raw)
        by_authority.setdefault(aliases.get(authority, authority), {}).setdefault(canonical, raw)
    return tuple(
        by_canonical[canonical]
        for _, by_canonical in sorted(by_authority.items())
        for canonical in outermost(by_canonical)
    )


def _authority(raw: str) -> str:
    """The authority as it is written; local files have none, whatever host they name."""
    return "" if scheme_of(raw) == "file" else raw.partition("://")[2].partition("/")[0]


class UnitIndex:
    """Finds the sweep unit of a path; files of one folder are looked up once. Travels to executors."""

    def __init__(self, roots: Iterable[str], rules: LocationRules) -> None:
        self.rules = rules
        self._roots = frozenset(roots)
        self._lengths = sorted({len(root) for root in self._roots})
        self._folders: dict[str, tuple[str, str] | None] = {}

    def find(self, raw: str) -> tuple[str, str] | None:
        """Unit and key of a raw path; ``None`` where it lies in no unit.

        Raises:
            UnknownLocationError: the path cannot be made canonical, so it may lie anywhere (S3).
        """
        folder, _, name = raw.rpartition("/")
        if "://" not in folder or name in ("", ".", ".."):
            return self._look_up(self.rules.canonical(raw))
        if folder not in self._folders:
            if len(self._folders) >= REMEMBERED_FOLDERS:
                self._folders.clear()
            self._folders[folder] = self._look_up(self.rules.canonical(folder + "/"))
        found = self._folders[folder]
        return None if found is None else (found[0], found[1] + name)

    def _look_up(self, canonical: str) -> tuple[str, str] | None:
        for length in self._lengths:
            if length > len(canonical):
                break
            root = canonical[:length]
            if root in self._roots:
                return root, canonical[length:]
        return None
