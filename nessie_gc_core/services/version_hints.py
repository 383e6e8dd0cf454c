"""Version hints: files that name the newest metadata of a table to readers without a catalog (S32).

Such a file stays. Where it names a state that the catalog does not have, something writes the table without the
catalog, and its location is frozen. Only hints that a listing shows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.algorithms.unit_index import UnitKey
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import SupportsVersionHints
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import PluginError, UnknownLocationError, UnreadableFileError
from nessie_gc_core.model.batches import to_batches, to_rows, to_tuples
from nessie_gc_core.model.marks import VERSION_HINT
from nessie_gc_core.model.relations import FILE_KEYS, UNKNOWN_TIME
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.services.needed import Needed
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Scope

_MOST_BYTES = 4096
"""A longer file is not a version hint, which is a number or the name of a file."""
_DIGITS = len(str(UNKNOWN_TIME))
_FOLDER = pa.field("folder", pa.string())
_NEWEST = pa.field("newest", pa.string())
_IN_FOLDERS = pa.schema([*FILE_KEYS, _FOLDER, _NEWEST])
_KEYS = list(FILE_KEYS.names)
J = TypeVar("J")


class _Hint(NamedTuple):
    """A version hint that was listed."""

    unit: str
    key: str
    location: str
    path: str
    size: int

    @property
    def raw(self) -> str:
        return self.location + self.path

    @property
    def folder(self) -> UnitKey:
        return self.unit, self.key.rpartition("/")[0] + "/"


def with_hints(needed: Needed, stored: Dataset, marks: Mapping[str, Collection[str]], run: SweepRun) -> Dataset:
    """What is needed, by unit and key: what is reachable, and version hints, which no metadata names.

    Removes the units with a hint that names a state that the live metadata beside it does not know, or that cannot be
    read.

    Args:
        needed: what is reachable, and the units.
        stored: what was listed (:data:`STORED_FILES`).
        marks: by unit, what was found there (:func:`mark_of`).
        run: the run.
    """
    reachable, scope = needed.expansion.reachable(), needed.scope
    if not any(VERSION_HINT in found for found in marks.values()):
        return reachable
    stored = stored.present("path")
    listed = stored.where("mark", [VERSION_HINT])
    hints = [
        hint for batch in listed.where("unit", sorted(scope.plan.roots)).batches() for hint in to_tuples(batch, _Hint)
    ]
    with OpenConnectors(run.choice) as connectors:
        _Hints(stored, reachable, scope, run, _Reading(connectors, run.choice, scope)).check(hints)
    return reachable.select(FILE_KEYS).union(listed.select(FILE_KEYS))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Asks the reader that knows version hints."""

    connectors: OpenConnectors
    choice: ConnectorChoice
    scope: Scope

    def each(
        self, jobs: Iterable[J], ask: Callable[[SupportsVersionHints, J], object], path: Callable[[J], str]
    ) -> Iterator[tuple[J, object]]:
        """What is found out about each job, or the error."""

        def work(job: J) -> Iterator[tuple[J, object]]:
            try:
                with self.connectors.reader(self._content_type()) as reader:
                    yield job, ask(cast("SupportsVersionHints", reader), job)
            except Exception as error:  # noqa: BLE001 - whatever a reader raises, nothing is known of this hint
                yield job, error

        found = read_ahead(jobs, work, at_once=lambda job: self.choice.reads_at_once(path(job)))
        with closing(found):
            yield from found

    def _content_type(self) -> str:
        """A type whose reader can read them.

        Raises:
            PluginError: there is none.
        """
        for reader in self.scope.readers:
            if issubclass(reader, SupportsVersionHints):
                return min(reader.content_types)
        raise PluginError("no installed plugin reads such files")

    def to_open(self, raw: str) -> str:
        """A raw path as connectors can open it."""
        return self.scope.plan.rules.to_open(raw)


@dataclass(slots=True)
class _Hints:
    """The hints of one sweep, and what they name."""

    stored: Dataset
    reachable: Dataset
    scope: Scope
    run: SweepRun
    reading: _Reading
    named: dict[_Hint, Sequence[str]] = field(default_factory=dict)
    """What each may name, raw."""

    def check(self, hints: Iterable[_Hint]) -> None:
        """Freezes the units of those that disagree with the catalog."""
        for hint, said in self.reading.each(hints, self._read, lambda hint: hint.raw):
            if isinstance(said, Exception):
                self._freeze(hint, f"cannot read {hint.raw}: {one_line(said)}; correct it, or remove it if unused")
            else:
                self.named[hint] = cast("Sequence[str]", said)
        disagreeing = self._not_live()
        newest = self._newest_live({hint.folder for hint, _ in disagreeing})
        for hint, raw in disagreeing:
            if hint.folder not in newest:
                self._freeze(
                    hint,
                    f"{hint.raw} names {raw}, and no live table has its metadata there: a table that is read without "
                    "a catalog; if nobody needs it, remove that file",
                    unread=True,
                )
        left = ((hint, raw, newest[hint.folder]) for hint, raw in disagreeing if hint.folder in newest)
        for (hint, raw, live), said in self.reading.each(left, self._is_apart, lambda job: job[1]):
            if isinstance(said, Exception):
                self._freeze(hint, f"{hint.raw} names {raw}, which cannot be compared with {live}: {one_line(said)}")
            elif said:
                self._freeze(
                    hint,
                    f"{hint.raw} names {raw}, a state that the catalog does not have (it has {live}): something writes "
                    "the table without the catalog; register that state, or remove the hint if nobody needs it",
                )

    def _read(self, reader: SupportsVersionHints, hint: _Hint) -> Sequence[str]:
        if hint.size > _MOST_BYTES:
            raise UnreadableFileError(hint.raw, f"it has {plural(hint.size, 'byte')}, too many for a version hint")
        return reader.hinted(self.reading.to_open(hint.raw))

    def _is_apart(self, reader: SupportsVersionHints, job: tuple[_Hint, str, str]) -> bool:
        _, raw, live = job
        return reader.is_apart(self.reading.to_open(raw), self.reading.to_open(live))

    def _not_live(self) -> list[tuple[_Hint, str]]:
        """The metadata files that hints name and that are stored, but that no live content needs."""
        places: dict[UnitKey, str] = {}
        by_hint: dict[_Hint, list[UnitKey]] = {}
        for hint, named in self.named.items():
            for raw in named:
                found = self._place(raw)
                if found is None:
                    self._freeze(hint, f"{hint.raw} names {raw}, which is in no location that is swept")
                    continue
                places[found] = raw
                by_hint.setdefault(hint, []).append(found)
        keys = self.run.engine.dataset(to_batches(sorted(places), FILE_KEYS), FILE_KEYS)
        there = keys.semi_join(self.stored, _KEYS).anti_join(self.reachable, _KEYS)
        dead = {key for batch in there.batches() for key in to_rows(batch, *_KEYS)}
        return [(hint, places[key]) for hint, keys in by_hint.items() for key in keys if key in dead]

    def _place(self, raw: str) -> UnitKey | None:
        try:
            return self.scope.index.find(raw)
        except UnknownLocationError:
            return None

    def _newest_live(self, folders: Collection[UnitKey]) -> Mapping[UnitKey, str]:
        """By folder, the live metadata file that was modified last, by the listing."""
        if not folders:
            return {}
        names = [reader.name for reader in self.scope.readers]
        there = self.stored.flat_map(_MetadataIn(folders, self.run.choice, names))
        live = there.semi_join(self.reachable, _KEYS)
        schema = pa.schema([FILE_KEYS.field("unit"), _FOLDER, _NEWEST])
        found = live.aggregate(["unit", "folder"], {"newest": ("max", "newest")}, schema).summary().to_pylist()
        return {(row["unit"], row["folder"]): row["newest"][_DIGITS:] for row in found}

    def _freeze(self, hint: _Hint, reason: str, *, unread: bool = False) -> None:
        self.scope.plan.freeze([hint.unit], reason, unread=unread)


class _MetadataIn:
    """Stored files to the metadata files in some folders, each with a text that sorts by time."""

    schema = _IN_FOLDERS

    def __init__(self, folders: Collection[UnitKey], choice: ConnectorChoice, readers: Sequence[str]) -> None:
        self._folders = frozenset(folders)
        self._choice = choice
        self._readers = tuple(readers)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OpenConnectors(self._choice) as connectors:
            readers = [connectors.reader_named(name) for name in self._readers]
            rows = (row for batch in batches for row in to_rows(batch, "unit", "key", "location", "path", "modified"))
            found = (
                (unit, key, folder, str(modified).zfill(_DIGITS) + str(location) + str(path))
                for unit, key, location, path, modified in rows
                if (unit, folder := str(key).rpartition("/")[0] + "/") in self._folders
                and any(reader.may_be_root(str(key)) for reader in readers)
            )
            yield from to_batches(found, self.schema)
