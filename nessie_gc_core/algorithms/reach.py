"""Reach: in which places outside its own locations a content has files (S31).

No file is counted twice for that: a file that names others says only that from its place others are reached, and which
of these may name more. What a content reaches follows from where its own files are. Where several contents are at one
place, each of them counts for what all of them reach from there.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, to_batches, to_texts, to_tuples
from nessie_gc_core.model.locations import LocationRules, folders_of, outermost, with_slash
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM, REACHED, VERSION_FILES

MAX_PLACES = 100
"""Of more places than this that one content reaches, those above them are meant instead."""
MAX_DEPTH = 4
"""How many folders below a bucket, or below the root of a disk, stand for a file that is at no known location."""
_REMEMBERED_FOLDERS = 50_000
_DIRECT = pa.schema(
    [VERSION_FILES.field("content_id"), pa.field("place", pa.string()), pa.field("leads_on", pa.bool_())]
)


class Places:
    """Says in which place a file is: the innermost known location around it, else a folder of bounded depth."""

    def __init__(self, known: Iterable[str], rules: LocationRules, expandable: Collection[str]) -> None:
        """Takes canonical base locations and shared places of contents, and the kinds of files that name others."""
        self.rules = rules
        self.expandable = frozenset(expandable)
        self._known = frozenset(known)
        self._remembered: dict[str, tuple[str, ...]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without what it remembers."""
        return {"rules": self.rules, "expandable": self.expandable, "_known": self._known, "_remembered": {}}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def of(self, raw: str) -> tuple[str, ...]:
        """The place of a raw path, canonical; several where clients take it differently, none if it is not known."""
        return self.of_folder(raw.rpartition("/")[0])

    def of_folder(self, raw: str) -> tuple[str, ...]:
        """The same of all files in a raw folder, without the slash at its end."""
        found = self._remembered.get(raw)
        if found is None:
            if len(self._remembered) >= _REMEMBERED_FOLDERS:
                self._remembered.clear()
            found = self._remembered[raw] = tuple(dict.fromkeys(self._find(raw + "/")))
        return found

    def _find(self, raw: str) -> Iterator[str]:
        try:
            yield self._innermost(self.rules.place_prefix(raw))
            climbed = self.rules.climbed(raw)
        except UnknownLocationError:  # whoever names it cannot be read completely
            return
        if climbed is not None:
            yield self._innermost(with_slash(climbed))

    def _innermost(self, folder: str) -> str:
        known = [above for above in folders_of(folder) if above in self._known]
        return known[-1] if known else _above(folder, MAX_DEPTH)


def _above(folder: str, depth: int) -> str:
    """A canonical folder cut to so many elements below its bucket, and before the first that is of a partition."""
    start, _, rest = folder.partition("://")
    authority, _, key = rest.partition("/")
    elements = key.rstrip("/").split("/") if key.strip("/") else []
    kept = elements[:depth]
    kept = kept[: next((at for at, element in enumerate(kept) if "=" in element), len(kept))]
    return f"{start}://{authority}/" + "".join(f"{element}/" for element in kept)


def bounded(places: Iterable[str]) -> list[str]:
    """Canonical places without those inside others; of too many, the folders above them (:data:`MAX_PLACES`)."""
    found = outermost(places)
    longest = max((place.count("/") for place in found), default=0)
    for depth in range(longest, -1, -1):
        if len(found) <= MAX_PLACES:
            break
        found = outermost(_above(place, depth) for place in found)
    return found


@dataclass(slots=True)
class Reached:
    """Which places are reached from a place."""

    places: set[str] = field(default_factory=set)
    leading_on: set[str] = field(default_factory=set)
    """Those of them in which files are reached that name others."""

    def add(self, place: str, *, leads_on: bool) -> None:
        """Adds one, and keeps the number of all bounded."""
        self.places.add(place)
        if leads_on:
            self.leading_on.add(place)
        if len(self.places) > 2 * MAX_PLACES:
            self.places = set(bounded(self.places))
        if len(self.leading_on) > 2 * MAX_PLACES:
            self.leading_on = set(bounded(self.leading_on))


class ReachedFrom:
    """Gathers which places are reached from the places of the files that name others."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._found: dict[str, Reached] = {}

    def add(self, parent: str, paths: Iterable[str | None], kinds: Iterable[str | None]) -> None:
        """Adds what a file names: raw paths."""
        homes = self._places.of(parent)
        folders = {(str(path).rpartition("/")[0], kind) for path, kind in zip(paths, kinds, strict=True)}
        for folder, kind in folders:
            for place in self._places.of_folder(folder):
                for home in homes:
                    if place != home:
                        leads_on = kind in self._places.expandable
                        self._found.setdefault(home, Reached()).add(place, leads_on=leads_on)

    def rows(self, content_type: str, more: int = 0) -> Iterator[Row]:
        """Rows of kind :data:`REACHED` (:data:`EXPANDED_FILES`), with so many further columns, all null."""
        for home, reached in self._found.items():
            for place in reached.places | reached.leading_on:
                leads_on = int(place in reached.leading_on)
                yield (place, REACHED, content_type, leads_on, None, home, None, None, *[None] * more)


class KnownReached:
    """Files with the files that they name (:data:`CACHED_FILES`), to rows of kind :data:`REACHED`."""

    schema = EXPANDED_FILES

    def __init__(self, places: Places) -> None:
        self._places = places

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gathers what each task sees."""
        found, type_ = ReachedFrom(self._places), ""
        for batch in batches:
            by_parent: dict[str, list[tuple[str, str]]] = {}
            for parent, path, kind, content_type in to_texts(batch, "parent", "path", "kind", "content_type"):
                by_parent.setdefault(parent, []).append((path, kind))
                type_ = content_type
            for parent, named in by_parent.items():
                found.add(parent, *zip(*named, strict=True))
        yield from to_batches(found.rows(type_), self.schema)


class _Direct:
    """Files that versions name (:data:`VERSION_FILES`), to the places outside the location of their content."""

    schema = _DIRECT

    def __init__(self, places: Places) -> None:
        self._places = places

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from to_batches((row for batch in batches for row in self._rows(batch)), self.schema)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        locations: dict[str | None, str | None] = {None: None}
        for row in to_tuples(batch, _VersionFile):
            if row.location is not None and row.location not in locations:
                locations[row.location] = self._places.rules.place_prefix_or_none(row.location)
            own = locations[row.location]
            for place in self._places.of(row.path):
                if own is None or not place.startswith(own):
                    yield (row.content_id, place, row.kind in self._places.expandable)


class _VersionFile(NamedTuple):
    """What is read of a file that a version names (:data:`VERSION_FILES`)."""

    content_id: str
    path: str
    kind: str
    location: str | None


class _DirectPlace(NamedTuple):
    """A row of :data:`_DIRECT`."""

    content_id: str
    place: str
    leads_on: bool


class _FromPlace(NamedTuple):
    """A row of kind :data:`REACHED`."""

    path: str
    key: str
    length: int


def reached_places(
    version_files: Dataset, reached: Dataset, homes: Iterable[tuple[str, str]], places: Places
) -> Iterator[tuple[str, list[str]]]:
    """The contents that have files outside their own locations, each with the places (canonical, bounded).

    Args:
        version_files: what the versions name at first hand (:data:`VERSION_FILES`).
        reached: the rows of kind :data:`REACHED` of their expansion.
        homes: ids of all contents with their raw base locations.
        places: what says where a file is.
    """
    direct: dict[str, Reached] = {}
    readable = version_files.where("kind", [PROBLEM], negate=True).where("shared", [False])
    for batch in readable.flat_map(_Direct(places)).distinct(list(_DIRECT.names)).batches():
        for row in to_tuples(batch, _DirectPlace):
            direct.setdefault(row.content_id, Reached()).add(row.place, leads_on=row.leads_on)
    edges: dict[str, Reached] = {}
    for batch in reached.distinct(["path", "key", "length"]).batches():
        for edge in to_tuples(batch, _FromPlace):
            edges.setdefault(edge.key, Reached()).add(edge.path, leads_on=bool(edge.length))
    if not direct and not edges:
        return
    own: dict[str, set[str]] = {}
    for content_id, location in homes:
        place = places.rules.place_prefix_or_none(location)
        if place is not None and (place in edges or content_id in direct):
            own.setdefault(content_id, set()).add(place)
    known = sorted(edges)
    for content_id in own.keys() | direct.keys():
        mine, first = own.get(content_id, set()), direct.get(content_id, Reached())
        found = first.places | _followed(edges, known, mine | first.leading_on)
        outside = [place for place in found if not place.startswith(tuple(mine))]
        if outside:
            yield content_id, bounded(outside)


def _followed(edges: Mapping[str, Reached], known: Sequence[str], begin: Iterable[str]) -> set[str]:
    """All places that are reached from some places."""
    found, seen, pending = set[str](), set[str](), list(begin)
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        for home in [place] if place in edges else _inside(known, place):
            found |= edges[home].places
            pending.extend(edges[home].leading_on)
    return found


def _inside(known: Sequence[str], place: str) -> Iterator[str]:
    """The places inside another one, which stands for them where there were too many."""
    for at in range(bisect.bisect_left(known, place), len(known)):
        if not known[at].startswith(place):
            return
        yield known[at]
