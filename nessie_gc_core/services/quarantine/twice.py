"""Records of one hidden or tagged version: of several the one that was written last counts (S15)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from nessie_gc_core.algorithms.hide import HiddenPath
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.quarantine import HeldFile, bucket_of, bucket_of_tags


class _Named(NamedTuple):
    """What a record without ids says of the version that it means."""

    path: str
    modified: str


class _Record(NamedTuple):
    """Which of several records counts: the greatest."""

    has_ids: bool
    held: datetime
    live_set_id: UUID


def recorded_again(store: SupportsQuarantine, rules: LocationRules) -> Callable[[HeldFile], bool]:
    """Whether a record without ids is of a version that another one has as well.

    A run that was killed before it knew the ids leaves such a record. If another sweep hides the file later, or the run
    was killed while it wrote the record with the ids, both are of one version; only one may restore or purge it.
    """
    hides = any(bucket_of(each.place) is not None for each in store.quarantines())
    without = {name: _record(file) for file in store.held_files() if (name := _name(file, rules))} if hides else {}
    counts = dict[_Named, _Record]()
    for file in store.held_files() if without else ():
        name = _named(file, rules) if bucket_of(file.place) is not None else None
        if name in without:
            counts[name] = max(counts.get(name, _record(file)), _record(file))

    def is_again(file: HeldFile) -> bool:
        name = _name(file, rules) if counts else None
        if name is None or name not in counts or counts[name] == _record(file):
            return False
        return counts[name].has_ids or bucket_of_tags(file.place) is None  # each tag may be the one that the file has

    return is_again


def _name(file: HeldFile, rules: LocationRules) -> _Named | None:
    """The name of a record without ids; none for others."""
    if bucket_of(file.place) is None or HiddenPath.parse(file.held_path).version:
        return None
    return _named(file, rules)


def _named(file: HeldFile, rules: LocationRules) -> _Named:
    whole = file.location + file.path
    with suppress(UnknownLocationError):  # it is compared as it is written then
        whole = rules.exact(whole)
    return _Named(whole, HiddenPath.parse(file.held_path).modified)


def _record(file: HeldFile) -> _Record:
    return _Record(bool(HiddenPath.parse(file.held_path).version), file.held, file.live_set_id)
