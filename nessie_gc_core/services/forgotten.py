"""Forgotten tables: tables below a warehouse that have files but that nothing knows any more (S20).

A catalog without a history, and a Nessie whose branch is gone, keep no trace of a table that was dropped before the
first live set. The time at which it was dropped is unknown. But if all of its files are older than a live set that was
marked long ago, and neither that live set nor anything since knows its place, it has been gone for that long.

The same holds for a table of another catalog that this live-set store has never seen. So only someone who knows the
warehouse can allow the search. In case of doubt, nothing is found.

The metadata by which a table is found is deleted last, in its own run, so that a later run finds what could not be
deleted.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.expand import named_by, to_open
from nessie_gc_core.algorithms.forgotten import Apart, FoundTable, find_tables, plan_warehouses
from nessie_gc_core.algorithms.guard import StoreAges
from nessie_gc_core.algorithms.listing import list_units
from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.batches import Row, rows_to_versions
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.locations import store_of, with_slash
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, ContentVersion
from nessie_gc_core.model.text import one_line, time_text
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.places import Dropped, Homes, WithFolders, distinct_places
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.run import SweepRun, qualified_id
from nessie_gc_core.services.stored_versions import marked_live_sets, stored_versions

log = logging.getLogger(__name__)

_REMEMBERED = 100_000
"""Of how many raw locations the place is remembered."""


class InDoubtError(Exception):
    """Nothing can be said of any table; the text says why."""


class ForgottenTables:
    """Looks for them below the warehouses of a rule."""

    def __init__(self, run: SweepRun, rule: DroppedRule, witness: LiveSet) -> None:
        """Takes an earlier live set of a repository of the run, which was marked to its end for long enough before."""
        self._run, self._rule, self._witness = run, rule, witness
        rules = run.choice.rules()
        self._plan = plan_warehouses(rule.under, rules, run.parameters.allowed(rules))
        self._rules = self._plan.rules
        self._spellings = Spellings(self._rules)
        self._place = functools.lru_cache(_REMEMBERED)(self._compared)

    def find(self, known: Iterable[str]) -> list[Dropped]:
        """Those that are forgotten.

        Args:
            known: raw locations of which someone knows; what overlaps them is not forgotten.

        Raises:
            InDoubtError: nothing can be said.
        """
        self._check_others()
        found = find_tables(self._listed(), self._run.registry.stored_names())
        tables = {self._place(table.location): table for table in found if self._is_old(table)}
        apart = Apart(tables)
        for raw in itertools.chain(known, self._in_live_sets(), self._registered()) if tables else ():
            apart.take_out(self._place(raw))
            if not apart.left:
                break
        forgotten = self._ours({place: tables[place] for place in apart.left})
        log.info("%d of %d tables below the warehouses are unknown to every catalog", len(forgotten), len(tables))
        return [
            Dropped(location=table.location, name="", metadata_location=table.metadata_location, listed=True)
            for table in forgotten
        ]

    # ---- what is stored -------------------------------------------------------------------------------
    def _listed(self) -> Dataset:
        """All files of the warehouses whose listings can be trusted."""
        run, plan = self._run, self._plan
        with OpenConnectors(run.choice) as connectors:
            for location in (location for unit in plan.units for location in unit.locations):
                check_executors(run.engine, type(connectors.lister(location)))
        stored = list_units(run.engine, plan.units, run.choice, plan.rules)
        problems = StoredCounts(stored).problems
        for unit, problem in problems.items():
            run.report.warn(f"cannot look for tables below {unit}: {problem}")
        return stored.where("unit", sorted(problems), negate=True)

    def _is_old(self, table: FoundTable) -> bool:
        """Whether the witness could have been swept for all files of a table (S8), and is old by its store's clock."""
        ages = self._ages[store_of(table.location)]
        old = ages.now - self._witness.created > self._rule.after
        return old and table.modified <= ages.newest_deletable

    @functools.cached_property
    def _ages(self) -> Mapping[str, StoreAges]:
        """What the clock of every store says about files that a sweep of the witness would have found."""
        locations = (location for unit in self._plan.units for location in unit.locations)
        witness = self._witness
        return store_ages(locations, self._rule.age, witness.references_listed or witness.created, self._run)

    def _ours(self, tables: Mapping[str, FoundTable]) -> list[FoundTable]:
        """Those of some tables, by place, whose metadata names its own folder, and that nobody else keeps.

        A table that is not ours protects the folders around it; one that someone else keeps, also those inside it.
        """
        versions = [_version(place, table) for place, table in tables.items()]
        homes = ((place, home) for place, home in Homes(versions, self._run) if self._place_or_none(home) == place)
        named = {(place, self._rules.left_out(home)) for place, home in homes}
        kept = set(self._kept_by_others(versions))
        ours = Apart(tables)
        for place, table in tables.items():
            if (place, self._rules.left_out(table.location)) not in named or place in kept:
                ours.take_out(place, inside=place in kept)
        return [tables[place] for place in ours.left]

    def _kept_by_others(self, versions: Iterable[ContentVersion]) -> Iterator[str]:
        """The places of contents that someone else keeps, by their metadata; those of unreadable ones too."""
        with OpenConnectors(self._run.choice) as connectors:

            def ask(version: ContentVersion) -> Iterator[tuple[ContentVersion, str]]:
                try:
                    with connectors.reader(version.content_type) as reader:
                        reason = reader.kept_by_others(to_open(version, self._rules))
                except Exception as error:  # noqa: BLE001 - whatever a reader raises, nothing is known of this table
                    reason = one_line(error)
                if reason is not None:
                    yield version, reason

            at_once = self._run.choice.reads_at_once
            with closing(read_ahead(versions, ask, at_once=lambda version: at_once(named_by(version)))) as found:
                for version, reason in found:
                    self._run.report.warn(f"{version.metadata_location} is in no catalog, and stays: {reason}")
                    yield version.content_id

    # ---- what is known --------------------------------------------------------------------------------
    def _check_others(self) -> None:
        """Refuses to conclude anything if the store has another repository whose contents are not known yet."""
        looked = {live_set.repository for live_set in self._asked() if not live_set.is_imported}
        for repository in self._run.store.repositories():
            if repository not in looked:
                raise InDoubtError(
                    f"{repository} has records in the same store, but has not been marked since "
                    f"{time_text(self._witness.created)}; mark it, or move its records"
                )

    def _in_live_sets(self) -> Iterator[str]:
        """Raw places that the live sets since the witness have, whatever their repository."""
        run, asked = self._run, list(self._asked())
        numbers = {
            repository: number for number, repository in enumerate(dict.fromkeys(each.repository for each in asked))
        }
        found, _ = stored_versions(run, {each.id: numbers[each.repository] for each in asked}, of_the_past=True)
        versions = found.flat_map(WithFolders())
        for places in distinct_places(versions):
            yield from (place for place in places if place is not None)
        for live_set in asked:
            yield from (location for _, location in run.store.base_locations(live_set.id))
        gone = versions.where("content_id", self._live(numbers), negate=True)
        one_of_each = gone.distinct(["content_id", "content_type", "folder", "location"]).summary()
        yield from readable_homes([*itertools.chain(*map(rows_to_versions, one_of_each.to_batches()))], run)

    def _live(self, numbers: Mapping[str, int]) -> list[str]:
        """The ids of live contents, qualified by the numbers of their repositories."""
        return [
            qualified_id(content_id, numbers[member.live_set.repository])
            for member in self._run.members
            if member.live_set.repository in numbers
            for content_id in self._run.store.content_ids(member.live_set.id)
        ]

    def _asked(self) -> Iterator[LiveSet]:
        return (each for each in marked_live_sets(self._run) if each.created >= self._witness.created)

    def _registered(self) -> Iterator[str]:
        """Locations of contents that were seen since the witness; of other repositories ever."""
        mine = {member.live_set.repository for member in self._run.members}
        for repository in self._run.store.repositories():
            for seen in self._run.store.seen_contents(repository):
                if repository not in mine or seen.last_seen >= self._witness.created:
                    yield seen.location

    def _place_or_none(self, raw: str) -> str | None:
        try:
            return self._place(raw)
        except InDoubtError:
            return None

    def _compared(self, raw: str) -> str:
        """The canonical prefix under which a raw location is compared.

        Raises:
            InDoubtError: there is none, or another one for every client.
        """
        try:
            canonical = self._rules.canonical_prefix(raw)
            if self._rules.climbed(raw) is None or canonical.startswith("file:"):
                return self._spellings.place(canonical)
        except UnknownLocationError as error:
            raise InDoubtError(str(error)) from error
        raise InDoubtError(f"{raw!r} contains '..', which stores and clients interpret in different ways")


def readable_homes(versions: list[ContentVersion], run: SweepRun) -> Iterator[str]:
    """The raw base locations of some versions; those whose metadata is gone have none.

    Raises:
        InDoubtError: one of them cannot be read.
    """
    types = sorted({version.content_type for version in versions})
    unread = [type_ for type_ in types if run.registry.reader_of(type_) is None]  # what cannot be held among them
    if UNKNOWN_CONTENT in types:
        key = min(each.content_key for each in versions if each.content_type == UNKNOWN_CONTENT)
        raise InDoubtError(f"the catalog of {key} could not read it, and its files are or were there")
    if unread:
        raise InDoubtError(f"no plugin reads contents of type {', '.join(unread)}, which are or were there")
    try:
        homes = Homes(versions, run)
    except ConfigurationError as error:  # the engine cannot use one of their readers
        raise InDoubtError(str(error)) from error
    unreadable = homes.unreadable
    if unreadable is not None:
        raise InDoubtError(f"{unreadable} cannot be read, and shows where a table is or was")
    yield from (location for _, location in homes)


def held_back(dropped: Iterable[Dropped], index: UnitIndex, left: Mapping[str, int]) -> list[Row]:
    """The metadata files (:data:`FILE_KEYS`) by which dropped tables are found: they go when all else is gone.

    Else a run that ends early, or cannot delete everything, would leave files that nothing shows any more (S15).

    Args:
        dropped: what is gone.
        index: the sweep units.
        left: how many files each unit has that nothing needs, those that stay in this run among them.
    """
    units: dict[str, set[str]] = {}
    for each in dropped:
        if each.metadata_location is not None:
            found = index.find(with_slash(each.location))
            units.setdefault(each.metadata_location, set()).update(() if found is None or found[1] else (found[0],))
    held = {path: key for path in units if (key := _key_or_none(index, path)) is not None}
    others = Counter(left)
    others.subtract(Counter(unit for unit, _ in {*held.values()}))
    return sorted({key for path, key in held.items() if any(others[unit] > 0 for unit in units[path])})


def _key_or_none(index: UnitIndex, path: str) -> tuple[str, str] | None:
    try:
        return index.find(path)
    except UnknownLocationError:
        return None


def _version(place: str, table: FoundTable) -> ContentVersion:
    return ContentVersion(
        content_id=place,
        content_type=table.content_type,
        metadata_location=table.metadata_location,
        snapshot_id=None,
        content_key="",
        commit_id="",
    )
