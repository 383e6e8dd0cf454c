"""Tagged files, which every listing shows: a sweep leaves those in quarantine alone, and looks for needed ones (S9)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from nessie_gc_core.algorithms.guard import spared_rows
from nessie_gc_core.algorithms.namesakes import namesakes
from nessie_gc_core.algorithms.restorable import restore_file
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.connectors import LiveSetStore, SupportsQuarantine
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import DeleteMode, Verdict
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.quarantine.rows import RECORDS, record_of, record_row, with_more_time
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Scope

ALREADY = "it is in quarantine already, with a tag"
_DEAD = Verdict.UNREFERENCED.value
_KEYS = list(FILE_KEYS.names)
_STATE = [*_KEYS, "modified"]
"""A file that was written again at the path of a tagged one is another file."""
_TAGGED = pa.schema([*FILE_KEYS, *RECORDS])
_HELD = (HeldState.HELD, HeldState.RESTORING, HeldState.PURGING)
"""States of a file that has its tag; one whose tagging was interrupted may have it."""


def seen_at(live_set: LiveSet) -> datetime:
    """As of when a live set says what is needed; the record of a tagged file has it, and thereby names the live set."""
    return live_set.references_listed or live_set.created


def vouches(live_set: LiveSet) -> bool:
    """Whether what a live set does not need can be purged: it was marked as a whole, by the policies that it has."""
    return not live_set.is_of_expiry and not live_set.is_imported


def has_tagged(store: LiveSetStore) -> bool:
    """Whether any file is in quarantine with a tag."""
    if not isinstance(store, SupportsQuarantine):
        return False
    return any(bucket_of_tags(each.place) is not None for each in store.quarantines())


def leave_tagged(verdicts: Dataset, index: UnitIndex, run: SweepRun, *, counted: bool) -> Dataset:
    """The verdicts (:data:`VERDICTS`), but files that are in quarantine with a tag stay: they are not taken twice.

    Args:
        verdicts: what was judged.
        index: the sweep units.
        run: the run.
        counted: whether what an earlier attempt of this sweep tagged is counted without its rows.
    """
    if not has_tagged(run.store):
        return verdicts
    held = _held(index, run)
    dead = verdicts.where("verdict", [_DEAD])
    again = spared_rows(dead.semi_join(held, _STATE), ALREADY)
    if counted:
        again = again.anti_join(held.where("live_set_id", [str(run.live_set.id)]), _STATE)
    rest = verdicts.where("verdict", [_DEAD], negate=True)
    return dead.anti_join(held, _STATE).union(again).union(rest).checkpoint()


def look_for_tagged(reachable: Dataset, scope: Scope, run: SweepRun, lost: Dataset | None = None) -> None:
    """Looks at what is in quarantine with a tag: needed files, which are read as before, get more time.

    So do those whose tagging was interrupted: they may have the tag. The records of all others say then as of when
    nothing needs them, whether their files are still there or not. A run that deletes nothing only warns.

    Args:
        reachable: what is needed (:data:`REACHABLE_FILES`).
        scope: the sweep units; of what is in one of them, all is known that needs it.
        run: the run, whose report takes a warning.
        lost: the names of needed files that were found nowhere (:data:`LOST_NAMES`): a tagged one may be one (S30).
    """
    if not has_tagged(run.store):
        return
    maybe = _held(scope.index, run, (*_HELD, HeldState.MOVING)).where("unit", sorted(scope.plan.roots))
    reachable = reachable.select(FILE_KEYS)
    if lost is not None:
        reachable = reachable.union(namesakes(maybe, lost).select(FILE_KEYS))
    needed = maybe.semi_join(reachable, _KEYS).checkpoint()
    files = needed.distinct(_KEYS).count()
    if files:
        (first,) = needed.head(1).to_pylist()
        path = first["location"] + first["path"]
        run.report.warn(
            f"{plural(files, 'file')} in quarantine with a tag {'is' if files == 1 else 'are'} needed again, such as "
            f"{path}: {restore_file(path)} takes its tag off"
        )
    if run.parameters.mode is not DeleteMode.DRY_RUN:
        now, seen = run.clock(), _seen_by_repository(run)
        until = now + run.parameters.quarantine_for
        change(needed, run, lambda file: with_more_time(file, now=now, until=until))
        held = maybe.where("state", list(_HELD)).where("repository", sorted(seen))
        unneeded = held.anti_join(reachable, _KEYS)
        change(unneeded, run, lambda file: replace(file, held=max(file.held, seen[file.repository])))


def _seen_by_repository(run: SweepRun) -> Mapping[str, datetime]:
    """As of when each live set that vouches says what is needed: a record names that of its own repository."""
    read = (member.live_set for member in run.members if member.unread is None)
    return {each.repository: seen_at(each) for each in read if vouches(each)}


def change(held: Dataset, run: SweepRun, changed: Callable[[HeldFile], HeldFile]) -> None:
    """Puts the records that change; a driver that was paused does not put back what is somebody else's by now."""
    for batch in held.batches():
        records = map(record_of, batch.select(RECORDS.names).to_pylist())
        new = [after for file in records if (after := changed(file)) != file]
        run.lease.check()
        held_in(run.store).put_held_files(new)


def _held(index: UnitIndex, run: SweepRun, states: Collection[HeldState] = _HELD) -> Dataset:
    """The tagged files at their places in sweep units (:data:`_TAGGED`)."""
    return run.engine.dataset(to_batches(_rows(index, held_in(run.store), states), _TAGGED), _TAGGED).checkpoint()


def _rows(index: UnitIndex, store: SupportsQuarantine, states: Collection[HeldState]) -> Iterator[Row]:
    for file in store.held_files(states=states):
        found = place_of(file, index) if bucket_of_tags(file.place) is not None else None
        if found is not None:
            yield (*found, *record_row(file))


def place_of(file: HeldFile, index: UnitIndex) -> tuple[str, str] | None:
    """The unit and key of a file in quarantine, if it is in a unit."""
    with suppress(UnknownLocationError):
        return index.find(file.location + file.path)
    return None
