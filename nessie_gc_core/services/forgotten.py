"""Forgotten tables: what lies below a warehouse, is a table by its files, and is known to nobody (S20).

A catalog without a history, and a Nessie whose branch is gone, keep no trace of a table that was dropped before the
first live set. Since when nobody needs it cannot be known; but where all of its files are older than a live set that
was marked long ago, and neither that live set nor anything since knows its place, it has been gone for that long.

The same holds for a table of a catalog that this live-set store has never seen, of which nothing here can know. So only
somebody who knows the warehouse can say that it is searched. Where anything is in doubt, nothing is found.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping

from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.expand import to_open
from nessie_gc_core.algorithms.forgotten import Apart, FoundTable, find_tables, plan_warehouses
from nessie_gc_core.algorithms.guard import StoreAges
from nessie_gc_core.algorithms.listing import list_units
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import NessieGcError, UnknownLocationError
from nessie_gc_core.model.live_sets import LiveSet, SeenContent
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.places import Dropped, Homes, marked_live_sets, said_places
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.run import SweepRun

log = logging.getLogger(__name__)

_FOUND = "found-in-storage:"
"""Begins the content ids under which the register remembers what was found, before its raw location."""
_REMEMBERED = 100_000
"""Of how many raw locations the place is remembered."""


class InDoubtError(Exception):
    """Nothing can be said of any table; the text says why."""


class ForgottenTables:
    """Looks for them below the warehouses of a rule."""

    def __init__(self, run: SweepRun, rule: DroppedRule, witness: LiveSet) -> None:
        """Takes an earlier live set of the same repository, which was marked to its end for long enough before."""
        self._run, self._rule, self._witness = run, rule, witness
        rules = run.choice.rules()
        self._plan = plan_warehouses(rule.under, rules, run.parameters.allowed(rules))
        self._rules = self._plan.rules
        self._spellings = Spellings(self._rules)
        self._place = functools.lru_cache(_REMEMBERED)(self._compared)

    def find(self, known: Iterable[str]) -> list[Dropped]:
        """Those that are forgotten; the register remembers them until all of their files are gone.

        Args:
            known: raw locations of which somebody knows; what overlaps them is not forgotten.

        Raises:
            InDoubtError: nothing can be said.
        """
        tables: dict[str, list[FoundTable]] = {}
        for table in find_tables(self._listed(), self._run.registry.stored_names(), dict(self._found_before())):
            if self._is_old(table):
                tables.setdefault(self._place(table.location), []).append(table)
        apart = Apart(tables)
        for raw in itertools.chain(known, self._in_live_sets(), self._registered()) if tables else ():
            apart.take_out(self._place(raw))
            if not apart.left:
                break
        forgotten = self._ours([table for place in apart.left for table in tables[place]])
        log.info("%d tables below the warehouses are known to nobody, of %d", len(forgotten), len(tables))
        if not self._run.parameters.dry_run:
            self._remember(forgotten)
        return [Dropped(location=table.location, name="", listed=True) for table in forgotten]

    # ---- what is stored -------------------------------------------------------------------------------
    def _listed(self) -> Dataset:
        """All files of the warehouses of which the listing can be trusted."""
        run, plan = self._run, self._plan
        with OpenConnectors(run.choice) as connectors:
            for location in (location for unit in plan.units for location in unit.locations):
                check_executors(run.engine, type(connectors.lister(location)))
        stored = list_units(run.engine, plan.units, run.choice, plan.rules)
        problems = StoredCounts(stored).problems
        for unit, problem in problems.items():
            run.report.warn(f"no tables are looked for below {unit}: {problem}")
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

    def _ours(self, tables: list[FoundTable]) -> list[FoundTable]:
        """Those whose metadata names the folder that it lies in, and does not leave it to somebody else.

        What was found before has passed this, and may have no metadata any more.
        """
        versions = {_version(table): table for table in tables if table.metadata_location is not None}
        named: dict[str, set[tuple[str, str]]] = {}
        for location, home in Homes(list(versions), self._run):
            named.setdefault(location, set()).add((self._place(home), self._rules.left_out(home)))
        ours = [
            table
            for version, table in versions.items()
            if (self._place(table.location), self._rules.left_out(table.location)) in named.get(table.location, ())
            and not self._is_kept_by_others(version)
        ]
        return [*ours, *(table for table in tables if table.metadata_location is None)]

    def _is_kept_by_others(self, version: ContentVersion) -> bool:
        opened = to_open(version, self._rules)
        try:
            with OpenConnectors(self._run.choice) as connectors, connectors.reader(version.content_type) as reader:
                reason = reader.kept_by_others(opened)
        except (NessieGcError, OSError) as error:
            reason = str(error)
        if reason is not None:
            self._run.report.warn(f"{version.content_id} is in no catalog, and stays: {reason}")
        return reason is not None

    # ---- what was found before ------------------------------------------------------------------------
    def _remember(self, tables: Iterable[FoundTable]) -> None:
        """Remembers them: their metadata may go first, and a run may end before the others are gone."""
        now = self._run.clock()
        contents = [
            SeenContent(
                content_id=_FOUND + table.location,
                content_type=table.content_type,
                location=self._place(table.location),
                first_seen=now,
                last_seen=now,
            )
            for table in tables
        ]
        self._run.store.register_contents(self._run.live_set.repository, contents)

    def _found_before(self) -> Iterator[tuple[tuple[str, str], FoundTable]]:
        """The folders that earlier runs found, as far as they lie in a warehouse of the rule."""
        for seen in self._run.store.seen_contents(self._run.live_set.repository):
            if not seen.content_id.startswith(_FOUND):
                continue
            location = seen.content_id.removeprefix(_FOUND)
            place = self._place(location)
            unit = next((unit.root for unit in self._plan.units if place.startswith(unit.root)), None)
            if unit is not None:
                found = FoundTable(content_type=seen.content_type, location=location, modified=seen.first_seen)
                yield (unit, place[len(unit) :]), found

    # ---- what is known --------------------------------------------------------------------------------
    def _in_live_sets(self) -> Iterator[str]:
        """Raw places that live sets have: those of the repository since the witness, and of all others the last."""
        run = self._run
        live = frozenset(run.store.content_ids(run.live_set.id))
        gone: dict[tuple[str, str], ContentVersion] = {}
        for live_set in self._asked():
            mine = live_set.repository == run.live_set.repository
            for version in run.store.content_versions(live_set.id):
                yield from said_places(version)
                if not mine or version.content_id not in live:
                    gone[live_set.repository, version.content_id] = version
            yield from (location for _, location in run.store.base_locations(live_set.id))
        yield from readable_homes(list(gone.values()), run)

    def _asked(self) -> Iterator[LiveSet]:
        """The oldest first, so that what a newer one says of a content counts."""
        marked = sorted(marked_live_sets(self._run), key=lambda each: each.created)
        newest = {live_set.repository: live_set.id for live_set in marked}
        for live_set in marked:
            if live_set.created >= self._witness.created or live_set.id == newest[live_set.repository]:
                yield live_set

    def _registered(self) -> Iterator[str]:
        """Locations of contents that were seen since the witness; of other repositories ever."""
        mine = self._run.live_set.repository
        for repository in sorted({mine, *self._run.store.repositories()}):
            for seen in self._run.store.seen_contents(repository):
                is_known = repository != mine or seen.last_seen >= self._witness.created
                if is_known and not seen.content_id.startswith(_FOUND):
                    yield seen.location

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
        raise InDoubtError(f"{raw!r} has '..' in it: stores and clients take that in different ways")


def readable_homes(versions: list[ContentVersion], run: SweepRun) -> Iterator[str]:
    """The raw base locations of some versions; those whose metadata is gone have none.

    Raises:
        InDoubtError: one of them cannot be read.
    """
    homes = Homes(versions, run)
    unreadable = homes.unreadable
    if unreadable is not None:
        raise InDoubtError(f"{unreadable} cannot be read, which says where a table is, or was")
    yield from (location for _, location in homes)


def _version(table: FoundTable) -> ContentVersion:
    return ContentVersion(
        content_id=table.location,
        content_type=table.content_type,
        metadata_location=table.metadata_location,
        snapshot_id=None,
        content_key="",
        commit_id="",
    )
