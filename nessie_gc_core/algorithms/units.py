"""Sweep units: the prefixes that are swept, and what keeps a prefix from being swept (S1, S2, S6, S13, S23, S24)."""

from __future__ import annotations

import bisect
import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nessie_gc_core.algorithms.disk import FILE
from nessie_gc_core.algorithms.restorable import Restorable
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules, depth, folders_of, outermost, scheme_of, with_slash

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepUnit:
    """Locations that overlap, merged into the outermost."""

    root: str
    """Canonical, with a slash at its end."""
    locations: tuple[str, ...]
    """Raw locations to list: the root in one spelling, or several where they may be different places."""


@dataclass(slots=True)
class SweepPlan:
    """The units to sweep, and everything that stays out with the reason why."""

    units: list[SweepUnit] = field(default_factory=list)
    """Sorted by their roots, none of which is inside another."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Location or unit root to the reason why nothing can be said about it (S6)."""
    unread: dict[str, str] = field(default_factory=dict)
    """Location or unit root to what no installed plugin reads there (S23), or what is of another format (S32)."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Raw paths of files that could not be read, with the reasons; only those that the report names."""
    refused: dict[str, str] = field(default_factory=dict)
    """Raw location to the reason why the configuration keeps it from being swept (S13)."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Unit root to the reason why the patterns of the run leave it out, or set contents there aside."""
    shared: list[str] = field(default_factory=list)
    """Canonical places in the units to which contents write beside their base locations, and others may as well."""
    rules: LocationRules = field(default_factory=LocationRules)
    """The rules of the run, and the links that lead to locations."""
    doubted: set[str] = field(default_factory=set)
    """Canonical prefixes in which more may be needed than is known, in a unit or not; an empty one: anywhere."""
    restorable: Restorable = field(default_factory=Restorable)
    """The needed files that are in quarantine."""

    def freeze(self, prefixes: Iterable[str], reason: str, *, unread: bool = False) -> None:
        """Removes every unit that overlaps one of the canonical prefixes, under any spelling that may mean it."""
        frozen = self.unread if unread else self.unknown
        for form in self._all_forms(prefixes):
            self.doubted.add(form)
            self.doubted.update(self._take_out(form, frozen, reason))

    def leave_alone(self, prefixes: Iterable[str], reason: str) -> None:
        """The same where it is known what is needed, but not what is garbage."""
        for form in self._all_forms(prefixes):
            self._take_out(form, self.unknown, reason)

    def _take_out(self, form: str, reasons: dict[str, str], reason: str) -> list[str]:
        """Removes the units that overlap a prefix; returns their roots."""
        start, end = self._overlapping(form)
        roots = [unit.root for unit in self.units[start:end]]
        reasons.update(dict.fromkeys(roots, reason))
        del self.units[start:end]
        return roots

    def _all_forms(self, prefixes: Iterable[str]) -> set[str]:
        spellings = Spellings(self.rules)
        return {form for prefix in set(prefixes) for form in self._forms(prefix, spellings)}

    def _overlapping(self, form: str) -> tuple[int, int]:
        """Which units are in a canonical prefix, or hold it: roots are sorted, and none is inside another."""
        start = bisect.bisect_left(self.units, form, key=_root)
        if start and form.startswith(self.units[start - 1].root):
            return start - 1, start
        end = start
        while end < len(self.units) and self.units[end].root.startswith(form):
            end += 1
        return start, end

    def _forms(self, prefix: str, spellings: Spellings) -> Iterator[str]:
        """All spellings of a canonical prefix; the whole disk for a local one that cannot be resolved."""
        yield prefix
        climbed = self.rules.climbed(prefix) if not prefix.startswith(FILE) else None
        for form in (prefix, *([] if climbed is None else [climbed])):
            try:
                yield from spellings.of(form)
            except UnknownLocationError as error:
                log.warning("%s", error)
                yield FILE

    def freeze_shared(self, reason: str, *, unread: bool = False) -> None:
        """Removes every unit that others may write to: contents that are not known may have files there."""
        self.freeze(self.shared, f"others may have files there: {reason}", unread=unread)

    def refuse(self, prefix: str, reason: str) -> list[str]:
        """Removes every unit that overlaps a canonical prefix, which is not an error; returns their roots."""
        start, end = self._overlapping(prefix)
        removed = self.units[start:end]
        for unit in removed:
            self.refused.update(dict.fromkeys(unit.locations, reason))
        del self.units[start:end]
        return [unit.root for unit in removed]

    def leave_out(self, left: Mapping[str, str], meant: Iterable[str]) -> None:
        """Removes every unit that overlaps a left-out place, and those that overlap no selected one.

        Args:
            left: canonical prefixes, each with the reason.
            meant: canonical prefixes.
        """
        self.set_aside(left)
        before = self.roots
        self.keep(meant)
        kept = frozenset(self.roots)
        self.left_out.update((root, "no selected table is here") for root in before if root not in kept)

    def set_aside(self, left: Mapping[str, str]) -> None:
        """Removes every unit that overlaps one of some canonical prefixes, each with the reason, as left out."""
        for prefix, reason in left.items():
            for form in self._all_forms([prefix]):
                self._take_out(form, self.left_out, reason)

    def freeze_all(self, reason: str) -> None:
        """Removes every unit."""
        self.doubted.add("")
        self.unknown.update(dict.fromkeys(self.roots, reason))
        self.units.clear()

    def keep(self, prefixes: Iterable[str]) -> None:
        """Removes every unit that overlaps none of the canonical prefixes, without reporting it."""
        kept: dict[str, SweepUnit] = {}
        for prefix in set(prefixes):
            start, end = self._overlapping(prefix)
            kept.update((unit.root, unit) for unit in self.units[start:end])
        self.units = [kept[root] for root in sorted(kept)]

    def root_of(self, prefix: str) -> str | None:
        """The unit that holds a canonical prefix; ``None`` if none does."""
        start, end = self._overlapping(prefix)
        return next((unit.root for unit in self.units[start:end] if prefix.startswith(unit.root)), None)

    def overlaps(self, prefix: str) -> bool:
        """Whether a canonical prefix is in a unit, or holds one."""
        start, end = self._overlapping(prefix)
        return start < end

    def why(self, root: str) -> str:
        """Why a unit was removed."""
        return self.unknown.get(root) or self.unread.get(root) or self.left_out[root]

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical roots of the units that are left."""
        return tuple(unit.root for unit in self.units)


def _root(unit: SweepUnit) -> str:
    return unit.root


def allowed_locations(
    raw_prefixes: Iterable[str], rules: LocationRules, *, min_depth: int | None = None
) -> AllowedLocations:
    """An allow-list of raw warehouses.

    Raises:
        UnknownLocationError: one of them is relative, or its scheme is not known.
    """
    stores: dict[str, set[str]] = {}
    spellings = Spellings(rules)
    for raw in raw_prefixes:
        exact = rules.exact_prefix(raw)
        place = spellings.place(exact) if exact.startswith(FILE) else exact
        stores.setdefault(place, set()).add(rules.left_out(raw))
    named = {prefix: frozenset(found) for prefix, found in stores.items() if "" not in found}
    return AllowedLocations(prefixes=tuple(stores), min_depth=min_depth, stores=named)


def plan_units(
    locations: Iterable[str],
    rules: LocationRules,
    allowed: AllowedLocations,
    *,
    dropped: Iterable[str] = (),
    shared: Iterable[str] = (),
) -> SweepPlan:
    """Merges raw locations into sweep units.

    Args:
        locations: base locations of live contents.
        rules: how they are compared.
        allowed: which of them may be swept.
        dropped: base locations of contents that are gone.
        shared: other places that live contents write to, and others may as well.
    """
    plan, spellings, live = SweepPlan(rules=rules), Spellings(rules), set(locations)
    places: dict[str, list[_Place]] = {}
    homes, swept = set[str](), set[tuple[str, str]]()
    for raw in sorted({*live, *dropped}):
        try:
            place = _place_of(raw, rules, spellings)
        except UnknownLocationError as error:
            plan.unknown[raw] = str(error)
            continue
        homes.update((place.canonical,) if raw in live else ())
        refusal = allowed.refusal(place.exact, rules.left_out(raw))
        if refusal is not None:
            plan.refused[raw] = refusal
            continue
        swept.add((place.exact, rules.left_out(raw)))
        places.setdefault(place.canonical, []).append(place)
    shared_places = _SharedPlaces(allowed, sorted(homes), swept)
    for raw in sorted(set(shared) - live):
        try:
            place = _place_of(raw, rules, spellings)
        except UnknownLocationError as error:
            plan.refused[raw] = str(error)
            continue
        if shared_places.are_swept(place.exact, rules.left_out(raw)):
            continue
        refusal = shared_places.refusal(place, rules.left_out(raw))
        if refusal is not None:
            plan.refused[raw] = refusal
            continue
        plan.shared.append(place.canonical)
        places.setdefault(place.canonical, []).append(place)
    _merge(places, plan, spellings)
    return plan


def _merge(places: Mapping[str, Sequence[_Place]], plan: SweepPlan, spellings: Spellings) -> None:
    """Makes units of places, and aliases of the links that lead to them."""
    rules = plan.rules
    linked = [place for found in places.values() for place in found if place.written != place.canonical]
    links = dict(_link(place.written, place.canonical, spellings) for place in linked)
    plan.rules = replace(rules, path_aliases={**links, **rules.path_aliases})
    for root, inside in _by_root(places):
        plan.units.append(SweepUnit(root=root, locations=_spellings(inside, rules)))


@dataclass(frozen=True, slots=True)
class _SharedPlaces:
    """Which places that contents write to beside their base locations may be swept (S13)."""

    allowed: AllowedLocations
    homes: Sequence[str]
    """Canonical base locations of live contents, sorted."""
    swept: Collection[tuple[str, str]]
    """Exact forms of base locations that are swept, each with what these leave out."""

    def are_swept(self, exact: str, store: str) -> bool:
        """Whether a base location that is swept holds a place."""
        return any((folder, store) in self.swept for folder in folders_of(exact))

    def refusal(self, place: _Place, store: str) -> str | None:
        """Why it may not; ``None``: it may."""
        name_it = "name it in `allow` if no other catalog has files there"
        if not self.allowed.prefixes:
            return f"tables write there outside their locations, and others may do so too; {name_it}"
        refusal = self.allowed.refusal(place.exact, store)
        if refusal is not None:
            return refusal if "`allow`" in refusal else f"{refusal}; {name_it}"
        if depth(place.exact) < 1:
            return "is a whole bucket; give the tables that write there a folder of their own"
        first = bisect.bisect_left(self.homes, place.canonical)
        if first < len(self.homes) and self.homes[first].startswith(place.canonical):
            return "contains table locations, which are swept separately; move its other files to a separate folder"
        return None


def _by_root(places: Mapping[str, Sequence[_Place]]) -> Iterator[tuple[str, list[_Place]]]:
    """The outermost canonical locations, in order, each with all places in it (S1)."""
    roots = outermost(places)
    in_order = deque(sorted(places))
    for root in roots:
        inside: list[_Place] = []
        while in_order and in_order[0].startswith(root):
            inside.extend(places[in_order.popleft()])
        yield root, inside


@dataclass(frozen=True, slots=True)
class _Place:
    """A raw base location, and what it is."""

    raw: str
    """As it is listed: with a slash at its end, and a local one without links."""
    written: str
    """Canonical."""
    canonical: str
    """Canonical, where no alias, link or mount leads further."""
    exact: str
    """What an object store itself tells apart; on a local disk the same as ``canonical``."""


def _place_of(raw: str, rules: LocationRules, spellings: Spellings) -> _Place:
    written = rules.canonical_prefix(raw)
    to_list = with_slash(rules.to_open(raw))
    if written.startswith(FILE):
        real, place = spellings.on_disk(written), spellings.place(written)
        return _Place(to_list if real == written else real, written, place, place)
    if rules.climbed(raw) is not None:
        raise UnknownLocationError(f"{raw!r} contains '..', which stores and clients interpret in different ways")
    place = spellings.place(written)
    return _Place(to_list, written, place, rules.exact_prefix(raw) if place == written else place)


def _link(written: str, place: str, spellings: Spellings) -> tuple[str, str]:
    """The highest folder above a location that is another one already: one alias for all locations below a link."""
    while True:
        above, _, name = written.rstrip("/").rpartition("/")
        place_above, _, place_name = place.rstrip("/").rpartition("/")
        above, place_above = with_slash(above), with_slash(place_above)
        is_root = above.endswith("://") or place_above.endswith("://")
        if is_root or name != place_name or above == place_above or spellings.place(above) != place_above:
            return written, place
        written, place = above, place_above


def _spellings(inside: Sequence[_Place], rules: LocationRules) -> tuple[str, ...]:
    """For every store the outermost raw locations, in one spelling each: files would else count twice."""
    aliases = rules.authority_aliases
    by_authority: dict[str, dict[str, str]] = {}
    for place in sorted(inside, key=lambda place: (place.exact, _authority(place.raw) in aliases, place.raw)):
        authority = _authority(place.raw)
        by_authority.setdefault(aliases.get(authority, authority), {}).setdefault(place.exact, place.raw)
    return tuple(by_exact[exact] for _, by_exact in sorted(by_authority.items()) for exact in outermost(by_exact))


def _authority(raw: str) -> str:
    """The authority as it is written; local files have none, whatever host they name."""
    return "" if scheme_of(raw) == "file" else raw.partition("://")[2].partition("/")[0]
